import pytest

from dragoman.decision.groups import by_group, effect, split


@pytest.mark.parametrize(
    ("question", "fact", "rule", "verdict"),
    [
        (
            "Would the aviary be ok for me?",
            "I have asthma.",
            "People with asthma should look at it from outside.",
            "no",
        ),
        ("Am I liable for the tax?", "I am a trainee.", "Students and trainees are exempt.", "no"),
        ("Do I have to pay it?", "I am at the campsite.", "Every guest pays it, except at the campsite.", "no"),
        ("Can I swim alone?", "I have epilepsy.", "People with epilepsy may swim only with a companion.", "no"),
        ("Is there a reduction for me?", "I am a student.", "Students with a card pay a quarter less.", "yes"),
        ("May he come in?", "My dog is called Rex.", "The hostel takes no dogs.", "no"),
        ("Can it come along?", "I have a cat.", "Cats travel free in a basket.", "yes"),
        ("Is it forbidden for me?", "I am a diver.", "Divers may not enter the harbour.", "yes"),
    ],
)
def test_the_effect_of_the_part_that_names_the_group_decides(question, fact, rule, verdict):
    decision = by_group(question, [fact], rule)
    assert decision is not None and decision.verdict == verdict and decision.fact == fact


@pytest.mark.parametrize(
    ("question", "fact", "rule"),
    [
        ("Can I come in?", "I am a student.", "Members may not bring guests."),  # another group
        ("Can I pay there?", "I have no card.", "Visitors with a card may pay there."),  # a denied fact names no group
        ("Can I join?", "I am a student.", "Students under 26 may join."),  # a bound that only a comparison can decide
        ("When does it open?", "I am a student.", "Students may enter."),  # nothing for yes or no
        ("我可以进去吗？", "我是学生。", "Students may enter."),
    ],
)
def test_nothing_is_decided_where_the_rule_does_not_name_the_user_surely(question, fact, rule):
    assert by_group(question, [fact], rule) is None


def test_an_exception_counts_only_where_all_of_it_is_true_of_the_user():
    rule = "The boat takes no animals except guide dogs."
    small = by_group("Could Pepper come along?", ["I travel with a small dog called Pepper."], rule)
    assert small is None or small.verdict == "no"
    guide = by_group("Could Pepper come along?", ["Pepper is my guide dog."], rule)
    assert guide is not None and guide.verdict == "yes"


def test_an_exception_that_the_question_names_is_refused():
    rule = "Guide dogs may come along everywhere but into the aviary."
    facts = ["I have a guide dog."]
    assert by_group("Can she come in?", facts, rule).verdict == "yes"
    assert by_group("And into the aviary?", facts, rule).verdict == "no"


def test_the_newest_fact_counts():
    rule = "Cyclists may not enter. Walkers are welcome."
    decision = by_group("May I enter?", ["I am a cyclist.", "I am a walker."], rule)
    assert decision is not None and decision.fact == "I am a walker."


def test_parts_and_effects():
    assert split("It is open and cannot take prams; dogs are welcome.") == [
        "It is open",
        "cannot take prams",
        "dogs are welcome.",
    ]
    assert [effect(part) for part in ("cannot take prams", "dogs are welcome", "guests are exempt", "blue")] == [
        "forbid",
        "permit",
        "waive",
        "none",
    ]
