import pytest

from dragoman.core.values import Evidence, Passage
from dragoman.decision.joint import Option
from dragoman.reader.menu import fitting_dishes

MENU = "- Trout with almond butter, 19 euros\n- Risotto with parmesan, 15 euros\n- Lentil stew, 12 euros, vegan"
TABLE = (
    "- Dish: Stew; Price: 11 crowns; Contains: beef, celery\n- Dish: Curry; Price: 9 crowns; Contains: sesame; vegan\n"
    "- Dish: Macaroni; Price: 8 crowns; Contains: wheat, milk"
)


def dishes(text, question, *facts):
    evidence = Evidence(Passage("p", "DOCUMENTS", text), 1.0)
    option = Option(text.splitlines()[0], "", evidence, None, 1.0, 0.5, 0.0)
    told = [Evidence(Passage(f"f{i}", "MEMORY", fact), 1.0) for i, fact in enumerate(facts)]
    answer = fitting_dishes(question, [option], told)
    return None if answer is None else answer.opening + " | ".join(option.sentence for option in answer.options)


def test_dishes_that_name_what_is_avoided_are_left_out():
    said = dishes(MENU, "What could she have for dinner?", "My wife Ana is allergic to nuts.")
    assert said == "Listed without nuts:\nRisotto with parmesan, 15 euros | Lentil stew, 12 euros, vegan"


@pytest.mark.parametrize(("text", "dish"), [(MENU, "Lentil stew"), (TABLE, "Curry")])
def test_a_dish_that_says_that_it_suits_comes_first(text, dish):
    assert dishes(text, "What can I eat?", "I am a vegan.").startswith(dish)


def test_other_questions_and_other_people_are_left_alone():
    assert dishes(MENU, "When does the kitchen close?", "I am a vegan.") is None
    assert dishes(MENU, "What can I eat?", "I live in Porto.") is None
    assert dishes(MENU, "What can I eat?", "My wife Ana is allergic to nuts.") is None
