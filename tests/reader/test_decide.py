"""What the default agent must not do with a fact: make an answer of a sentence that is not about the question."""

from contextlib import ExitStack
from functools import partial
from itertools import count

import pytest

import dragoman

TOLD = "Hi, I'm Nora and I travel with my son Leo, who is five. I am allergic to shellfish."
SOUP = "Can I eat the fish soup at the Copper Kettle?"
_USERS = count()

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def harbour(tmp_path_factory, weights_home):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DRAGOMAN_HOME", str(weights_home))
        with dragoman.load("harbour", state=tmp_path_factory.mktemp("harbour")) as assistant:
            yield assistant


@pytest.fixture
def nora(harbour):
    """Asks as a user who has said two things."""
    ask = partial(harbour.ask, user=f"nora-{next(_USERS)}")
    ask(TOLD)
    assert ask(SOUP).text.startswith("No: you told me that you are allergic to shellfish.")
    return ask


@pytest.mark.parametrize(
    "question",
    ["Can I eat pizza there?", "Can I bring my drone?", "Do they have vegan burgers?", "Who is the mayor?"],
)
def test_a_fact_makes_no_answer_where_the_documents_say_nothing(nora, question):
    reply = nora(question).text
    assert not reply.startswith(("Yes", "No.")) and "you told me" not in reply


def test_what_is_known_lists_each_fact_once_as_memory_holds_it(nora):
    nora("Actually Leo is six.")
    lines = nora("What do you know about me?").text.splitlines()
    assert [line for line in lines if "Leo is" in line] == ["- your son Leo is six"]


POTTERY = """# Kiln Lane Pottery

## Members
Membership costs 12 pounds a month, 8 for students and pensioners.

## Glazes

| Glaze | Food safe | Price per 500 ml |
|---|---|---|
| Celadon | yes | 9 |
| Tenmoku | yes | 11 |
| Copper red | no | 14 |
"""


@pytest.fixture
def make_agent(tmp_path, weights_home):
    with ExitStack() as opened:

        def make(document):
            folder = tmp_path / "agent"
            (folder / "documents").mkdir(parents=True)
            (folder / "documents" / "house.md").write_text(document, encoding="utf-8")
            source = '[[sources]]\nname = "MEMORY"\nabout = "user"\nprivate = true\n'
            documents = '[[sources]]\nname = "DOCUMENTS"\npath = "documents"\n'
            (folder / "agent.toml").write_text(f'name = "Robin"\n{source}{documents}', encoding="utf-8")
            return opened.enter_context(dragoman.load(folder, state=tmp_path / "state"))

        yield make


@pytest.fixture
def pottery(make_agent):
    return make_agent(POTTERY)


def test_a_price_says_first_what_the_user_pays(pottery):
    pottery.ask("Hi, I'm Nora, 68, retired.")
    assert "For you it is 8 pounds" in pottery.ask("What would a membership cost me?").text


def test_a_cell_that_says_yes_or_no_answers_for_its_row(pottery):
    assert pottery.ask("Is copper red food safe?").text.startswith("No.")
    assert pottery.ask("Is tenmoku food safe?").text.startswith("Yes.")


def test_which_of_them_chooses_among_the_rows_of_the_last_reply(pottery):
    assert "Tenmoku" in pottery.ask("Which glazes are food safe?", dialogue="d").text
    assert pottery.ask("Which of them is the cheapest?", dialogue="d").text.startswith("Celadon: 9")


def test_what_the_user_told_is_said_and_what_they_did_not_tell_is_not_quoted_from_documents(harbour):
    ask = partial(harbour.ask, user="baker")
    ask("I work as a baker. We have moved, I live on Copper Row now.", dialogue="before")
    assert "baker" in ask("What is my job now?").text
    assert "Copper Row" in ask("What's my address?").text
    assert ask("How old is my son?").text == "You haven't told me how old your son is."
    assert ask("When is my birthday?").text == "You haven't told me when your birthday is."
    assert ask("What's my favourite colour?").text == "I don't know that: you have not told me yet."


LAKE = """# Hollow Oak Lake

## Entry
| Who | Day | Season |
|---|---|---|
| Adults | 6 euros | 90 euros |
| Students with a card | 4 euros | 60 euros |
Residents of Oakham pay half for the season ticket.
After 17:00 a day ticket costs one euro less.
"""


@pytest.fixture
def lake(make_agent):
    return make_agent(LAKE)


def test_a_price_comes_with_the_reduction_that_a_fact_brings_about(lake):
    lake.ask("I'm Tess, I'm 34 and I live in Oakham with my son Milo.")
    season = lake.ask("How much is a season ticket for me?").text
    assert "90 euros. Residents of Oakham pay half" in season and "17:00" not in season
    day = lake.ask("We come at 6 pm. What does a day ticket cost me then?").text
    assert "6 euros. After 17:00 a day ticket costs one euro less." in day and "Oakham pay" not in day


def test_a_reduction_for_others_is_not_added(lake):
    lake.ask("I live in Bern. I am a student.")
    assert "Oakham" not in lake.ask("How much is a season ticket for me?").text
