"""Questions that rows of a table answer by comparing them."""

import re

import pytest

from dragoman.decision import pick
from dragoman.decision.tables.cells import cell_for, lookup, row_for
from dragoman.decision.tables.rows import compared_column


def words(text):
    return tuple(re.findall(r"\w+", text.lower()))


BOATS = (
    "boat: Gull; days: Monday to Friday; departure: 08:15; duration: 50 minutes; fare: 12 euros",
    "boat: Tern; days: daily; departure: 10:30; duration: 1 hour; fare: 9.50 euros",
    "boat: Petrel; days: Saturday and Sunday; departure: 17:45; duration: 35 minutes; fare: 15 euros",
    "boat: Heron; days: daily except Tuesday; departure: 19:00; duration: 80 minutes; fare: 11 euros",
)
WALKS = (
    "| Walk | Length | Ages | Surface |",
    "|---|---|---|---|",
    "| Dune path | 3.5 km | 4 to 8 | sand |",
    "| Old wall | 900 m | 6 to 12 | stone |",
    "| Marsh round | 6 km | 10 to 16 | sand |",
)


@pytest.mark.parametrize(
    ("question", "labels", "answer"),
    [
        ("Which is the cheapest boat?", ("Tern",), "9.50 euros"),
        ("Which boat is the most expensive?", ("Petrel",), "15 euros"),
        ("What is the longest crossing?", ("Heron",), "80 minutes"),
        ("Which boat is the fastest?", ("Petrel",), "35 minutes"),
        ("When does the last boat leave?", ("Heron",), "19:00"),
        ("When is the first boat on Sunday?", ("Tern",), "10:30"),
        ("What is the cheapest boat on Saturday?", ("Tern",), "9.50 euros"),
        ("How many boats are there on Sunday?", ("Tern", "Petrel", "Heron"), "3"),
        ("How many boats go on Tuesday?", ("Gull", "Tern"), "2"),
        ("How many boats are there?", ("Gull", "Tern", "Petrel", "Heron"), "4"),
        ("Which of them go on Sundays?", ("Tern", "Petrel", "Heron"), "Tern, Petrel, Heron"),
        ("Which boats leave after 5 pm?", ("Petrel", "Heron"), "Petrel, Heron"),
        ("Which boats cost less than 12 euros?", ("Tern", "Heron"), "Tern, Heron"),
    ],
)
def test_boats(question, labels, answer):
    choice = pick(question, BOATS)
    assert choice is not None
    assert (choice.labels, choice.answer) == (labels, answer)
    assert choice.compared


@pytest.mark.parametrize(
    ("question", "labels"),
    [
        ("Which walk is the shortest?", ("Old wall",)),
        ("Which walk is the longest on sand?", ("Marsh round",)),
        ("Which walk is for a 9-year-old?", ("Old wall",)),
        ("Which walks suit a 11 year old?", ("Old wall", "Marsh round")),
    ],
)
def test_markdown_rows(question, labels):
    choice = pick(question, WALKS)
    assert choice is not None
    assert choice.labels == labels


def test_chinese_rows():
    rows = ("茶: 龙井; 价格: 38元", "茶: 普洱; 价格: 52元", "茶: 茉莉; 价格: 25元")
    choice = pick("最便宜的茶是哪种？", rows)
    assert choice is not None
    assert choice.labels == ("茉莉",)


@pytest.mark.parametrize(
    "question",
    ["Who built the boats?", "Which boat is the heaviest?", "Where do the boats leave?", "How many seats are there?"],
)
def test_question_that_the_table_does_not_answer(question):
    assert pick(question, BOATS) is None


def test_two_currencies_are_not_compared():
    assert pick("Which is the cheapest?", ("room: A; price: 40 euros", "room: B; price: 38 pounds")) is None


def test_row_without_a_value_is_not_passed_over():
    assert pick("Which is the cheapest?", ("room: A; price: 40 euros", "room: B; price: on request")) is None


def test_ties_name_every_row():
    choice = pick("Which is the cheapest?", ("room: A; price: 40", "room: B; price: 40", "room: C; price: 41"))
    assert choice is not None
    assert choice.labels == ("A", "B")


FEES = "service: yearly check; dog: £48; cat: £42; rabbit: £35"


@pytest.mark.parametrize(
    ("facts", "question", "value"),
    [
        (["I have a beagle called Odin."], "What is a yearly check for Odin?", "£48"),
        (["I have a beagle called Odin and three rabbits."], "What is a yearly check for Odin?", "£48"),
        (["I have a kitten."], "What does a yearly check cost?", "£42"),
        (["I have a dog.", "I have a cat."], "What does a yearly check cost?", None),
        (["I have a parrot."], "What does a yearly check cost?", None),
    ],
)
def test_the_column_of_ones_own_animal_is_looked_up(facts, question, value):
    cell = cell_for(question, FEES, facts, words)
    assert (cell.value if cell else None) == value


@pytest.mark.parametrize(
    ("question", "size"),
    [("Which size do I need?", "61"), ("what size for lena?", "46"), ("And which size for me?", "61")],
)
def test_the_row_of_a_height_is_of_whom_the_question_is_about(question, size):
    rows = [f"Size: {size}; Rider: {height}" for size, height in (("46", "150 to 162 cm"), ("61", "189 cm and more"))]
    row, decision = row_for(rows, ["I am 192 cm.", "My girlfriend Lena is 160 cm."], question)
    assert row.startswith(f"Size: {size}") and decision.fact


WAITS = (
    "From: Blood; To: Plasma; Women: 4 weeks; Men: 4 weeks",
    "From: Blood; To: Blood; Women: 16 weeks; Men: 12 weeks",
)
ROOMS = ("Room: Single; Rent: 390 euros; Deposit: 400 euros", "Room: Studio; Rent: 610 euros; Deposit: 600 euros")
OFFICE = ("Day: Monday; Open: 09:00-12:00", "Day: Wednesday; Open: 13:00-18:30")


@pytest.mark.parametrize(
    ("facts", "question", "text"),
    [
        (["I am a woman."], "How long must I wait for blood after blood?", "Blood, Women: 16 weeks"),
        (["I am a woman."], "How long must my brother wait for blood after blood?", "Blood, Men: 12 weeks"),
    ],
)
def test_the_column_of_the_users_group_is_chosen(facts, question, text):
    _, cell = lookup(question, WAITS, facts, words)
    assert cell.text == text


def test_a_fact_that_has_the_label_of_a_row_makes_it_the_users():
    _, cell = lookup("What is my rent?", ROOMS, ["I have a studio.", "I moved to a single room."], words)
    assert (cell.text, cell.decision.fact) == ("Single, Rent: 390 euros", "I moved to a single room.")
    assert lookup("What is the rent?", ROOMS, ["I have a studio."], words) is None  # of nobody's own


def test_a_row_with_one_cell_is_found_by_its_day():
    _, cell = lookup("Until when is somebody there on Wednesday?", OFFICE, [], words)
    assert cell.value == "13:00-18:30"


@pytest.mark.parametrize(
    ("question", "label"), [("Which day is open the latest?", "Wednesday"), ("Which day opens earliest?", "Monday")]
)
def test_hours_are_compared_by_their_end_or_their_beginning(question, label):
    assert pick(question, OFFICE).labels == (label,)


def test_a_column_whose_values_cannot_be_compared_is_given_whole():
    rows = ("session: Otters; price: 320", "session: Eagles; price: 610", "session: Family; price: 280 per person")
    assert pick("What is the most expensive session?", rows) is None
    column = compared_column("What is the most expensive session?", rows)
    assert column == ("price", [("Otters", "320"), ("Eagles", "610"), ("Family", "280 per person")])
    assert compared_column("Which session is for my son?", rows) is None
