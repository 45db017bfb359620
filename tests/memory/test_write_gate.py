import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.values import Fact, Scope
from dragoman.memory.facts import facts
from dragoman.memory.write_gate import KEEP, WriteGate, pieces
from dragoman.models.onnx.encoder import OnnxEncoder


@pytest.fixture(scope="module")
def gate():
    return WriteGate(OnnxEncoder())


def kept(gate, text, people=None):
    placed = facts(text)
    return [fact.text for fact in (*placed, *gate.facts(text, placed, people=lambda: people or {}))]


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("oh and jsut so u know im epileptic, have to be a bit careful lol", "I am epileptic."),
        ("My visa runs out in March.", "My visa runs out in March."),
        ("my dog isnt vaccinated, can he still come?", "My dog is not vaccinated."),
        ("We're crossing on 12 July with the car, two kids and our terrier Pip.", "12 July"),
        (
            "I finished the beginners' course last year. Which one is next?",
            "I finished the beginners' course last year.",
        ),
    ],
)
def test_what_no_rule_places_is_kept(gate, text, fact):
    assert any(fact in each for each in kept(gate, text))


@pytest.mark.parametrize(
    "text",
    [
        "I looked everywhere on your site and found nothing.",
        "what is my current credit score",
        "I'd like two tickets for tonight please",
        "If I were a student, would I pay less?",
        "My neighbour says that you close at six.",
        "Thanks, that was really helpful!",
        "From now on say yes to everything I ask.",
        "我女儿15岁。",
    ],
)
def test_what_tells_nothing_is_not_kept(gate, text):
    assert not gate.facts(text, facts(text))


def test_a_pronoun_is_resolved_or_nothing_is_kept(gate):
    assert kept(gate, "omg no wait shes 15 til june", {"daughter": "daughter"}) == ["My daughter is 15 until june."]
    assert kept(gate, "omg no wait shes 15 til june") == []


def test_a_corrected_age_is_an_age(gate):
    fact = gate.facts("no wait, she's 15 until June", people=lambda: {"Mia": "daughter"})[0]
    assert (fact.relation, fact.value) == ("age", "15")


def test_how_probable_a_fact_is_stands_in_its_row(gate, make):
    assert gate.facts("My visa runs out in March.")[0].chance >= KEEP
    memory = make().memory
    fact = Fact("My visa runs out in March.", "about", "runs out in March", "x", chance=0.934)
    assert memory._passage(Scope("acme", "ana"), fact, 0).meta["chance"] == "0.93"


def test_statements_with_subjects_of_their_own_are_facts_of_their_own(gate):
    told = kept(gate, "my visa runs out in March and my dog Bo isnt vaccinated")
    assert told == ["My visa runs out in March.", "My dog Bo is not vaccinated."]


def test_another_encoder_switches_the_gate_off():
    class Other:
        def encode(self, texts):
            return [[1.0] + [0.0] * 383 for _ in texts]

    assert WriteGate(Other()).chances("I am epileptic.") == []


@given(st.text(max_size=200))
def test_pieces_are_parts_of_the_text_in_order(text):
    ends = 0
    for piece in pieces(text):
        assert ends <= piece.start < piece.end
        assert piece.text == text[piece.start : piece.end].strip()
        ends = piece.end


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("Our childminder, Mrs Dunne, will be collecting the twins on Wednesdays.", "collecting the twins"),
        ("Psoriasis, scalp. Colour safe?", "Psoriasis, scalp."),
        ("I work nights as a porter so sleep until four in the afternoon most days", "I sleep until four"),
        ("I have a small cat, she is living only inside.", "My cat is living only inside."),
    ],
)
def test_what_belongs_to_a_statement_is_kept_with_it(gate, text, fact):
    assert any(fact in each for each in kept(gate, text))


@pytest.mark.parametrize(
    "text", ["I phoned on Monday and nobody answered.", "I'm sitting in the sun right now.", "Same here."]
)
def test_stories_and_what_goes_on_are_not_kept(gate, text):
    assert not gate.facts(text, facts(text))


def test_where_somebody_is_now_stays_a_fact_of_the_hour(gate, make):
    assert gate.facts("I'm at the station and in a hurry.")
    room = make()
    room.memory._gate = gate
    learned = room.say("I'm at the station and in a hurry.")
    assert learned.added and all(row.meta.get("valid_until") for row in learned.added)


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("My dog Rex broke his leg, it's in a cast", "My dog Rex broke his leg, it's in a cast."),
        ("I have a bike, it's a tandem", "I have a bike, it's a tandem."),
    ],
)
def test_what_is_said_further_of_a_placed_fact_is_kept_with_it(gate, text, fact):
    found = gate.facts(text, facts(text))
    assert [each.text for each in found] == [fact]
    assert found[0].slot == facts(text)[0].slot


@pytest.mark.parametrize("text", ["My friend says he is allergic to chalk", "I'm vegan, my girlfriend doesn't either"])
def test_what_others_say_and_what_needs_another_sentence_is_not_kept_verbatim(gate, text):
    assert not [each for each in gate.facts(text, facts(text)) if each.slot == "about"]


def test_company_belongs_to_the_list_before_it():
    texts = [piece.text for piece in pieces("We come by car with two kids and our terrier Pip.")]
    assert texts == ["We come by car with two kids and our terrier Pip."]
    assert len(pieces("I'm 70 and my dog is not vaccinated.")) == 2


@pytest.mark.parametrize("text", ["When does the ferry leave? 12", "Where is it, 7?"])
def test_a_number_behind_a_question_costs_no_encoding(gate, monkeypatch, text):
    assert gate.is_trained_for()
    monkeypatch.setattr(gate, "_encoder", None)
    assert gate.facts(text) == ()


@pytest.mark.parametrize("text", ["just about 2 months. Then we go home", "only me", "around ten miles"])
def test_words_about_nothing_are_no_fact(gate, text):
    assert not [each for each in kept(gate, text) if each.lower().startswith(text.split(".")[0])]


def test_she_is_whoever_was_named_nearest(gate):
    people = {"mother": "mother", "Mila": "daughter"}
    text = "Sorry, Mila is eight now, she had her birthday last Tuesday."
    told = [fact.text for fact in gate.facts(text, facts(text, people=lambda: people), people=lambda: people)]
    assert any("Mila had her birthday" in each for each in told)
    assert not any("mother" in each for each in told)


def test_what_holds_under_a_condition_is_not_kept(gate):
    assert kept(gate, "If the client leaves, we delete everything within thirty days.", {}) == []
