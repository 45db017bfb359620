from dragoman.core.values import Context, Evidence, Passage
from dragoman.retriever.told import TOLD, told_facts


def told(*turns, facts=()):
    held = [Evidence(Passage(str(i), "MEMORY", fact), 0.5) for i, fact in enumerate(facts)]
    return [piece.text for piece in told_facts(Context.of(*turns), held, source="MEMORY")]


def test_statements_of_the_dialogue_are_facts_of_its_questions():
    assert told("Son Sam, 9. Came on a motorcycle.", "I see.", "May he use the slide?") == [
        "Son Sam, 9.",
        "Came on a motorcycle.",
    ]


def test_what_memory_holds_is_not_told_twice():
    assert told("I am a vegetarian.", "Got it.", "What can I eat?", facts=["I am a vegetarian."]) == []


def test_questions_wishes_and_the_last_turn_are_no_facts():
    assert told("When do you open?", "At nine.", "I would like a ticket. I am tired. How much is it?") == []
    assert told("I would like to see the birds.", "I see.", "When?") == []


def test_what_was_forgotten_does_not_come_back():
    assert told("Got epilepsy.", "I see.", "Forget that I have epilepsy.", "Done.", "Can I swim?") == []


def test_the_agents_words_are_not_the_users():
    assert told("Hello!", "You have a dog.", "Can it come in?") == []


def test_facts_of_a_dialogue_are_marked():
    (piece,) = told_facts(Context.of("Son Sam, 9.", "I see.", "May he?"), (), source="MEMORY")
    assert piece.source == "MEMORY" and piece.passage.meta[TOLD]
