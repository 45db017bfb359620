"""Written conversations: reading them, judging replies, holding them."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from dragoman.agent.check import (
    Conversation,
    Expectation,
    check,
    fresh_assistants,
    judge,
    read_conversations,
    require_sources,
    shared_texts,
)
from dragoman.core.errors import InputError, UnknownNameError
from dragoman.core.trace import Reply, Trace
from dragoman.core.values import Evidence, Passage, Plan, Verdict

from ..agent_files import DOCUMENTS, MEMORY

TWO = """
[[conversation]]
name = "price"
kind = "fact"
[[conversation.turns]]
say = "How much?"
gate = true
sources = ["DOCUMENTS"]
must = ["34 francs", ["adult", "grown-up"]]
must_not = ["58"]

[[conversation]]
name = "two people"
user = "ana"
[[conversation.turns]]
say = "Who am I?"
[[conversation.turns]]
user = "tom"
say = "And I?"
"""


def reply(text: str, *sources: str, retrieve: bool = True) -> Reply:
    return Reply(text, Verdict(retrieve, 0.9), Plan(tuple((name,) for name in sources)), (), Trace())


def written(tmp_path, text: str):
    path = tmp_path / "conversations.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_file_is_read_with_defaults_and_users_by_turn(tmp_path):
    price, people = read_conversations(written(tmp_path, TWO))
    assert price.turns == (
        Expectation("How much?", "guest", True, ("DOCUMENTS",), (("34 francs",), ("adult", "grown-up")), ("58",)),
    )
    assert people.kind == "other"
    assert [turn.user for turn in people.turns] == ["ana", "tom"]
    assert people.turns[0].gate is None and people.turns[0].sources is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[conversation]\n", "line 1"),
        ("", "'conversation'"),
        ("[[talk]]\nname = 'a'\n", "[[conversation]]"),
        (TWO + "[[conversation]]\nname = 'x'\n", "conversation 3 (line 20): 'turns' field required"),
        (TWO.replace("gate = true", "gate = 'yes'"), "conversation 1 (line 2), turn 1: 'gate'"),
        (TWO.replace("must_not", "mustnt"), "turn 1: 'mustnt' is not a known field"),
        (TWO.replace('say = "And I?"', 'say = ""'), "conversation 2 (line 12), turn 2: 'say'"),
        (TWO.replace("two people", "price"), "two conversations are named 'price'"),
    ],
)
def test_wrong_file_names_the_entry_and_its_line(tmp_path, text, words):
    with pytest.raises(InputError) as caught:
        read_conversations(written(tmp_path, text))
    assert words in caught.value.message
    assert caught.value.remedy


def test_missing_and_binary_files_are_clear_errors(tmp_path):
    with pytest.raises(InputError, match="Cannot read"):
        read_conversations(tmp_path / "none.toml")
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not UTF-8"):
        read_conversations(binary)


def test_undeclared_source_is_refused_with_a_suggestion(tmp_path):
    conversations = read_conversations(written(tmp_path, TWO))
    require_sources(conversations, ["DOCUMENTS"])
    with pytest.raises(UnknownNameError, match="Did you mean 'DOCUMENT'"):
        require_sources(conversations, ["DOCUMENT", "MEMORY"])


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        (reply("An ADULT pays  34\nfrancs.", "DOCUMENTS"), []),
        (reply("A grown-up pays 34 francs.", "DOCUMENTS"), []),
        (reply("An adult pays 134 francs.", "DOCUMENTS"), ["lacks '34 francs'"]),
        (reply("34 francs.", "DOCUMENTS"), ["lacks 'adult' or 'grown-up'"]),
        (reply("An adult pays 34 francs, not 58.", "DOCUMENTS"), ["says '58'"]),
        (reply("An adult pays 34 francs, not 580.", "DOCUMENTS"), []),
        (reply("An adult pays 34 francs.", "MEMORY", "DOCUMENTS"), ["asked MEMORY > DOCUMENTS, not DOCUMENTS"]),
        (
            reply("An adult pays 34 francs.", retrieve=False),
            ["looked nothing up", "asked no source, not DOCUMENTS"],
        ),
    ],
)
def test_judge_names_everything_that_is_wrong(given, wrong):
    turn = Expectation("?", "me", True, ("DOCUMENTS",), (("34 francs",), ("adult", "grown-up")), ("58",))
    assert judge(turn, given) == wrong


def test_curly_apostrophes_and_case_make_no_difference():
    assert judge(Expectation("?", "me", must=(("don't know",),)), reply("I DON’T know.")) == []


def test_source_order_makes_no_difference_because_needs_dictate_it():
    assert judge(Expectation("?", "me", sources=("B", "A")), reply("", "A", "B")) == []


def test_evidence_is_judged_by_file_name():
    turn = Expectation("?", "me", evidence=(("fares.md", "prices.md"),))
    passage = Passage("p", "DOCUMENTS", "34 francs", origin="documents/prices.md")
    answered = Reply("34", Verdict(True, 1), Plan(), (Evidence(passage, 1.0),), Trace())
    assert judge(turn, answered) == []
    assert judge(turn, reply("34")) == ["has no evidence from fares.md or prices.md"]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("30 instead of 48.", []),
        ("30.", []),
        ("48, or 30 for students.", ["says '48' first"]),
        ("48.", ["lacks '30'", "says '48' first"]),
    ],
)
def test_wrong_values_may_only_follow_the_right_one(text, wrong):
    assert judge(Expectation("?", "me", must=(("30",),), instead_of=("48",)), reply(text)) == wrong


def test_expected_answer_is_judged_with_the_strings():
    turn = Expectation("May I?", "me", must=(("112 steps",),), answer="no")
    assert judge(turn, reply("No: there are 112 steps.")) == []
    assert judge(turn, reply("Yes, by 112 steps.")) == ["says yes"]


def test_file_gives_facts_answers_evidence_and_dialogues(tmp_path):
    text = """
[[conversation]]
name = "dog"
facts = ["I have a dog."]
turns = [
    { say = "It is called Rex.", dialogue = "earlier" },
    { say = "May it come?", answer = "yes", evidence = ["dogs.md", ["a.md", "b.md"]] },
]
"""
    (dog,) = read_conversations(written(tmp_path, text))
    assert dog.facts == ("I have a dog.",)
    assert [turn.dialogue for turn in dog.turns] == ["earlier", None]
    assert dog.turns[1].answer == "yes"
    assert dog.turns[1].evidence == (("dogs.md",), ("a.md", "b.md"))
    with pytest.raises(InputError, match="'answer'"):
        read_conversations(written(tmp_path, text.replace('"yes"', '"maybe"')))


class Parrot:
    """Answers with what was said and by whom; refuses one word."""

    def __init__(self):
        self.heard = []
        self.facts = []

    def remember(self, text, *, user):
        self.facts.append((text, user))

    def recall(self, query=None, *, user):
        return tuple(Passage("f", "MEMORY", text) for text, of in self.facts if of == user)

    def ask(self, text, *, user, dialogue):
        self.heard.append((text, user, dialogue))
        if text == "crash":
            raise InputError("That word is refused.")
        return reply(f"{user} said {text}")


def hold(*conversations: Conversation):
    made = []

    @contextmanager
    def fresh():
        made.append(Parrot())
        yield made[-1]

    return list(check(fresh, conversations)), made


def test_every_conversation_gets_a_fresh_assistant_and_its_own_dialogue():
    turns = (Expectation("hi", "ana"), Expectation("ho", "tom", must=(("tom said ho",),)))
    outcomes, made = hold(Conversation("first", "a", turns), Conversation("second", "b", turns[:1]))
    assert [parrot.heard for parrot in made] == [
        [("hi", "ana", "first"), ("ho", "tom", "first")],
        [("hi", "ana", "second")],
    ]
    assert all(outcome.passed for outcome in outcomes)
    assert outcomes[0].replies == ("ana said hi", "tom said ho")


def test_failed_turn_is_named_by_number_and_an_error_fails_only_its_conversation():
    lacking = Conversation("lacking", "a", (Expectation("hi", "u"), Expectation("ho", "u", must=(("hum",),))))
    broken = Conversation("broken", "a", (Expectation("crash", "u"), Expectation("never", "u")))
    fine = Conversation("fine", "a", (Expectation("hi", "u"),))
    outcomes, made = hold(lacking, broken, fine)
    assert [outcome.wrong for outcome in outcomes] == [
        ("turn 2: lacks 'hum'",),
        ("turn 1: That word is refused.",),
        (),
    ]
    assert [text for text, *_ in made[1].heard] == ["crash"]


def test_facts_are_remembered_first_and_turns_can_be_of_other_dialogues():
    turns = (Expectation("hi", "ana", dialogue="earlier"), Expectation("ho", "ana"))
    _, (parrot,) = hold(Conversation("talk", "a", turns, facts=("I am Ana.",)))
    assert parrot.facts == [("I am Ana.", "ana")]
    assert [dialogue for *_, dialogue in parrot.heard] == ["talk, earlier", "talk"]


class Stranger(Parrot):
    """Says the same whatever it hears."""

    def ask(self, text, *, user, dialogue):
        return reply("Call Berta on 4460 at the Kettle.")


@pytest.mark.parametrize(
    ("texts", "facts", "say", "strange"),
    [
        ((), (), "hi", ("4460", "berta", "kettle")),
        (("The Kettle: 4460.",), (), "hi", ("berta",)),
        (("The Kettle: 4460.",), ("My cook is Berta.",), "hi", ()),
        (("The Kettle: 4460.",), (), "Who is Berta?", ()),
    ],
)
def test_numbers_and_names_are_supported_by_files_facts_and_own_turns(texts, facts, say, strange):
    @contextmanager
    def fresh():
        yield Stranger()

    talk = Conversation("talk", "a", (Expectation(say, "ana"),), facts)
    (outcome,) = check(fresh, [talk], texts=texts)
    assert outcome.unsupported == (strange,)


AGENT = """
name = "Test"
[models.language]
kind = "scripted"
default = "I see."
[models.encoder]
kind = "hashing"
[gate]
kind = "always"
[planner]
kind = "all"
"""
AGENT += MEMORY + DOCUMENTS


@pytest.fixture
def agent(tmp_path):
    """An agent folder with a document and models that need no weights."""
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "ferry.md").write_text("# Ferry\n\nThe ferry leaves at nine.\n")
    (tmp_path / "agent.toml").write_text(AGENT)
    return tmp_path


def test_fresh_assistants_know_the_files_and_nothing_of_each_other(agent):
    with fresh_assistants(agent) as (fresh, sources):
        assert sources == ("MEMORY", "DOCUMENTS")
        with fresh() as first:
            first.remember("My dog is called Rex.", user="ana")
            first.ask("When does the ferry leave?", user="ana", dialogue="d")
            assert first.recall(user="ana") and first.history(user="ana", dialogue="d")
        with fresh() as second:
            assert second.recall(user="ana") == ()
            assert second.history(user="ana", dialogue="d") == ()
            assert second.store.count(second.scope().shared, "DOCUMENTS") == 1
            assert second.encoder is first.encoder
        assert any("The ferry leaves at nine." in text for text in shared_texts(fresh))
    assert not (agent / ".dragoman").exists()


def test_fresh_assistants_take_overrides_and_read_the_files_once(agent):
    told = []
    with fresh_assistants(agent, overrides={"name": "Other"}, progress=lambda *step: told.append(step)) as (fresh, _):
        steps = len(told)
        assert steps
        for _ in range(2):
            with fresh() as assistant:
                assert assistant.name == "Other"
    assert len(told) == steps


def test_whole_check_runs_on_a_real_store(agent):
    turn = Expectation("When does the ferry leave?", "me", True, ("MEMORY", "DOCUMENTS"), must_not=("train",))
    with fresh_assistants(agent) as (fresh, _):
        (outcome,) = check(fresh, [Conversation("ferry", "fact", (turn,))])
    assert outcome.wrong == ()
