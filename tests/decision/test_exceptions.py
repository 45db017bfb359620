import pytest

from dragoman.decision.cases.exceptions import takes_back, with_exception


@pytest.mark.parametrize(
    ("rule", "following"),
    [
        ("Pets may wait in the car.", "In July and August this is not permitted."),
        ("Cancelling is free until 24 hours before.", "After that you pay half."),
        ("The driver brings you for 35 euros.", "If your course lasts eight weeks or longer, the first trip is free."),
        ("Dogs are welcome.", "Only the aviary is closed to them."),
    ],
)
def test_what_takes_something_back_belongs_to_the_rule(rule, following):
    assert takes_back(rule, following)
    assert with_exception(rule, f"{rule} {following} Tickets are sold at the gate.") == f"{rule} {following}"


@pytest.mark.parametrize(
    ("rule", "following"),
    [
        ("You can pay in monthly parts.", "If you cancel two weeks before the start, you get everything back."),
        ("Dogs are welcome.", "The café opens at nine."),
        ("Dogs are welcome.", ""),
    ],
)
def test_another_matter_does_not(rule, following):
    assert not takes_back(rule, following)
