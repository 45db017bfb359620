import pytest

from dragoman.core.values import Evidence, Passage
from dragoman.decision.bridge import bridge, has_value
from dragoman.decision.joint import Option
from dragoman.text.analyse import Analyser

ANALYSE = Analyser(language="en")


def options(*texts):
    return [
        Option(text, "", Evidence(Passage(f"p{n}", "DOCUMENTS", text, title="House"), 1.0), None, 0.5, 0.5, 0.0)
        for n, text in enumerate(texts)
    ]


CLUB = "Crime Book Club, Thursday 19:15, adults"
THURSDAY = "Day: Thursday; Hours: 12:00 to 21:00"
FRIDAY = "Day: Friday; Hours: 10:00 to 19:30"
CITIZENS = "For citizenship the law asks for the A2 exam."
A2 = "Exam: A2; Date: 14 March; Fee: 85 euros"
B1 = "Exam: B1; Date: 16 May; Fee: 110 euros"
CAFE = "The café closes one hour before the leisure pool."
POOLS = "Day: Friday; Sports pool: 06:30-21:00; Leisure pool: 12:00-22:00"


@pytest.mark.parametrize(
    ("question", "texts", "first", "second"),
    [
        (
            "How late are you open on the day the Crime Book Club meets?",
            (CLUB, THURSDAY, FRIDAY),
            CLUB,
            "12:00 to 21:00",
        ),
        ("What does the exam for citizenship cost?", (CITIZENS, A2, B1), CITIZENS, "A2, Fee: 85 euros"),
        ("On Friday, when does the café close?", (CAFE, POOLS), CAFE, "Friday, Leisure pool: 12:00-22:00"),
    ],
)
def test_what_one_sentence_names_is_looked_up_in_another(question, texts, first, second):
    found = bridge(question, options(*texts), ANALYSE, said=CAFE if CAFE in texts else "")
    assert found is not None
    assert found.first.sentence == first
    assert second in found.second.sentence


@pytest.mark.parametrize(
    ("question", "texts"),
    [
        ("How old is the Crime Book Club?", (CLUB, THURSDAY)),  # no value of a table is asked for
        ("What does the A2 exam cost?", (A2, B1)),  # the question names the row itself
        ("How late are you open on the day the chess club meets?", (THURSDAY, FRIDAY)),  # nothing says when it meets
    ],
)
def test_nothing_is_joined_without_a_key(question, texts):
    assert bridge(question, options(*texts), ANALYSE) is None


def test_whether_a_sentence_has_the_value():
    assert has_value("What does it cost?", "A day costs 5 euros.")
    assert not has_value("When does it close?", CAFE)
    assert has_value("Is it nice?", CAFE)
