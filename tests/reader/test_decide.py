"""What the default agent must not do with a fact: make an answer of a sentence that is not about the question."""

import pytest

import dragoman

TOLD = "Hi, I'm Nora and I travel with my son Leo, who is five. I am allergic to shellfish."
SOUP = "Can I eat the fish soup at the Copper Kettle?"

pytestmark = pytest.mark.integration


@pytest.fixture
def nora(tmp_path, weights_home):
    with dragoman.load("harbour", state=tmp_path / "state") as assistant:
        assistant.ask(TOLD)
        assert assistant.ask(SOUP).text.startswith("No.")
        yield assistant


@pytest.mark.parametrize(
    "question",
    ["Can I eat pizza there?", "Can I bring my drone?", "Do they have vegan burgers?", "Who is the mayor?"],
)
def test_a_fact_makes_no_answer_where_the_documents_say_nothing(nora, question):
    reply = nora.ask(question).text
    assert not reply.startswith(("Yes", "No.")) and "you told me" not in reply


def test_what_is_known_lists_each_fact_once_as_memory_holds_it(nora):
    nora.ask("Actually Leo is six.")
    lines = nora.ask("What do you know about me?").text.splitlines()
    assert [line for line in lines if "Leo is" in line] == ["- your son Leo is six"]
