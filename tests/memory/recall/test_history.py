"""Facts over time: what ends, what begins, what expires, what ages, and what was known when."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from dragoman.core.clock import use_clock
from dragoman.core.errors import InputError
from dragoman.core.values import Context, Passage, Scope
from dragoman.reader.history import recollection_reply

ANA = Scope("acme", "ana")


@pytest.fixture
def talk(make):
    """`at` says something at a time, `asked` gives the answer from history to a question at a time."""
    room = make(time_zone="Europe/Zurich")

    def at(moment, text):
        with use_clock(moment):
            return room.say(text)

    def asked(moment, text, language="en"):
        with use_clock(moment):
            room.memory.refresh(ANA)
            found = room.memory.recollect(Context.of(text, scope=ANA))
            return None if found is None else recollection_reply(found, language)

    def known(moment, then=None):
        with use_clock(moment):
            return [row.text for row in room.memory.recall(ANA, at=then)]

    room.at, room.asked, room.known = at, asked, known
    return room


def moved(talk):
    talk.at("2024-03-04T10:00Z", "I live in Bern.")
    talk.at("2025-05-03T10:00Z", "I live in Basel.")


def test_a_newer_fact_ends_the_older_one(talk):
    moved(talk)
    (old,) = talk.store.passages(ANA, "MEMORY", superseded=True)
    assert (old.meta["said_at"], old.meta["valid_from"]) == ("2024-03-04T10:00:00Z", "2024-03-04T10:00:00Z")
    assert (old.meta["valid_until"], old.meta["replaced_at"]) == ("2025-05-03T10:00:00Z", "2025-05-03T10:00:00Z")
    (new,) = talk.store.passages(ANA, "MEMORY")
    assert new.meta["said_at"] == "2025-05-03T10:00:00Z" and "valid_until" not in new.meta


def test_what_was_true_before_is_answered_from_history(talk):
    moved(talk)
    answer = talk.asked("2026-01-01T10:00Z", "Where did I live before?")
    assert answer == "Before that, you lived in Bern (until 3 May 2025)."
    assert "Bern" in talk.asked("2026-01-01T10:00Z", "What was my previous home?")
    assert "Bern" in talk.asked("2026-01-01T10:00Z", "Where did I live before Basel?")


def test_nothing_is_made_up_about_the_time_before_the_first_fact(talk):
    talk.at("2024-03-04T10:00Z", "I live in Bern.")
    answer = talk.asked("2026-01-01T10:00Z", "Where did I live before?")
    assert answer.startswith("You haven't told me") and "you live in Bern" in answer
    assert talk.asked("2026-01-01T10:00Z", "Where did I live in 2020?").startswith("You haven't told me")


def test_a_corrected_fact_never_was_true(talk):
    talk.at("2024-03-04T10:00Z", "I live in Bern.")
    talk.at("2024-03-04T10:01Z", "Sorry, I meant Basel.")
    assert talk.asked("2024-03-05T10:00Z", "Where did I live before?").startswith("You haven't told me")
    assert talk.known("2024-03-05T10:00Z") == ["I live in Basel."]


@pytest.mark.parametrize(
    ("question", "part"),
    [
        ("When did I tell you that I live in Bern?", "on 4 March 2024 at 11:00"),
        ("When did I tell you where I live?", "on 3 May 2025 at 12:00"),
        ("When did I tell you that?", "on 3 May 2025 at 12:00"),
        ("Where did I live in 2024?", "In 2024: you lived in Bern"),
        ("Where did I live last May?", "you lived in Basel"),
        ("What did you know about me on 3 April 2025?", "- you live in Bern"),
        ("What did you believe about me on 3 May 2023?", "I knew nothing"),
        ("What did I tell you in May?", "- you live in Basel (3 May 2025)"),
        ("What did I tell you yesterday?", "You told me nothing"),
        ("How long have I lived in Basel?", "since when, you haven't said"),
        ("Until when did I live in Bern?", "Until 3 May 2025: you lived in Bern"),
    ],
)
def test_questions_about_the_past_are_answered_with_dates(talk, question, part):
    moved(talk)
    assert part in talk.asked("2025-09-01T10:00Z", question)


@pytest.mark.parametrize(
    ("question", "part"),
    [
        ("我以前住在哪里？", "你住在杭州（到2025年5月3日为止）"),
        ("我什么时候告诉你我住在上海？", "2025年5月3日12:00"),
        ("我去年住在哪里？", "你住在杭州"),
        ("我五月告诉过你什么？", "- 你搬到上海了（2025年5月3日）"),
        ("2025年4月3日你知道我什么？", "- 你住在杭州"),
    ],
)
def test_questions_in_chinese_are_answered_too(talk, question, part):
    talk.at("2024-03-04T10:00Z", "我住在杭州。")
    talk.at("2025-05-03T10:00Z", "我搬到上海了。")
    assert part in talk.asked("2025-09-01T10:00Z", question, "zh")


@pytest.mark.parametrize(
    "question",
    ["Do I have to pay?", "When does the ferry leave?", "Did I need a ticket before?", "Where was the museum before?"],
)
def test_other_questions_are_left_to_the_sources(talk, question):
    moved(talk)
    assert talk.asked("2025-09-01T10:00Z", question) is None


@pytest.mark.parametrize(
    ("sentence", "start", "end"),
    [
        ("I have lived in Bern since 2019.", "2018-12-31T23:00:00Z", None),
        ("I moved to Bern last week.", "2025-04-20T22:00:00Z", None),
        ("I moved to Bern in March.", "2025-02-28T23:00:00Z", None),
        ("I am staying at the Hotel Adler until Friday.", "2025-05-03T10:00:00Z", "2025-05-09T22:00:00Z"),
        ("I work at the museum until 5 pm.", "2025-05-03T10:00:00Z", None),
    ],
)
def test_a_sentence_says_when_its_fact_begins_and_ends(talk, sentence, start, end):
    rows = talk.at("2025-05-03T10:00Z", sentence).added
    assert (rows[-1].meta["valid_from"], rows[-1].meta.get("valid_until")) == (start, end)


def test_since_when_is_answered_as_precisely_as_it_was_said(talk):
    talk.at("2025-05-03T10:00Z", "I have lived in Bern since 2019.")
    assert talk.asked("2025-05-04T10:00Z", "How long have I lived in Bern?").startswith("Since 2019, about 6 years")


def test_an_announced_fact_begins_on_its_day(talk):
    talk.at("2025-05-03T10:00Z", "I live in Bern.")
    learned = talk.at("2025-06-04T10:00Z", "From next Monday I live in Chur.")
    assert [row.text for row in learned.added] == ["I live in Chur from 9 June 2025 on."] and not learned.superseded
    assert talk.known("2025-06-08T20:00Z") == ["I live in Bern."]
    assert talk.known("2025-06-09T20:00Z") == ["I live in Chur from 9 June 2025 on."]
    assert "Bern (until 9 June 2025)" in talk.asked("2025-06-10T10:00Z", "Where did I live before?")


def test_a_fact_of_the_hour_is_gone_the_next_day_and_stays_in_history(talk):
    talk.at("2025-05-03T10:00Z", "I'm at the station, when does the ferry leave?")
    assert talk.known("2025-05-03T21:59Z") == ["I am at the station now."]
    assert talk.known("2025-05-03T22:00Z") == []
    assert talk.known("2025-05-04T10:00Z", datetime(2025, 5, 3, 12, tzinfo=UTC)) == ["I am at the station now."]


def test_a_fact_of_the_hour_that_is_said_before_midnight_is_kept_for_hours(talk):
    talk.at("2025-05-03T21:58Z", "I'm in a hurry.")
    assert talk.known("2025-05-04T00:30Z") == ["I am in a hurry now."]
    assert talk.known("2025-05-04T01:00Z") == []


@pytest.mark.parametrize(
    "text", ["I'm at home in music.", "Is my dog allowed at the station?", "I'm in a band.", "I'm late."]
)
def test_what_is_no_fact_of_the_hour_is_not_kept_as_one(talk, text):
    talk.at("2025-05-03T10:00Z", text)
    assert not any("now" in row.meta.get("slot", "") for row in talk.store.passages(ANA, "MEMORY"))


def test_facts_of_the_hour_can_be_switched_off(make):
    room = make(fleeting=False)
    assert room.say("I'm at the station.").is_empty


def test_an_age_moves_with_a_known_birthday(talk):
    talk.at("2025-05-03T10:00Z", "My daughter Mia is 6 years old.")
    talk.at("2025-05-03T10:00Z", "My daughter's birthday is 4 July.")
    assert "My daughter Mia is 6 years old." in talk.known("2025-07-03T20:00Z")
    assert "My daughter Mia is 7 years old." in talk.known("2025-07-04T10:00Z")
    assert "My daughter Mia is 9 years old." in talk.known("2028-02-01T10:00Z")
    assert talk.asked("2028-02-01T10:00Z", "How old is my daughter?").startswith("9 years old")


def test_an_old_age_without_a_birthday_is_a_range_and_asks(talk):
    talk.at("2025-05-03T10:00Z", "My daughter Mia is 6 years old.")
    fresh = talk.asked("2025-05-04T10:00Z", "How old is my daughter?")
    assert fresh == "You told me: your daughter Mia is 6 years old."
    answer = talk.asked("2027-06-03T10:00Z", "How old is Mia?")
    assert answer.startswith("8 or 9 years old") and answer.endswith("When is the birthday?")


def test_an_age_follows_from_a_date_of_birth(talk):
    talk.at("2025-05-03T10:00Z", "My birthday is 29 February 1992.")
    assert talk.asked("2025-02-27T12:00Z", "How old am I?").startswith("32 years old")
    assert talk.asked("2025-02-28T12:00Z", "How old am I?").startswith("33 years old")


def test_a_clock_that_goes_back_loses_nothing(talk):
    talk.at("2025-05-03T10:00Z", "I live in Bern.")
    talk.at("2024-01-01T10:00Z", "I live in Basel.")
    (old,) = talk.store.passages(ANA, "MEMORY", superseded=True)
    assert old.meta["valid_until"] >= old.meta["valid_from"]
    assert talk.known("2024-01-01T11:00Z") == ["I live in Basel."]
    assert "Bern" in talk.asked("2024-01-01T11:00Z", "Where did I live before?")


def test_facts_of_an_earlier_version_have_no_time_and_are_believed_always(talk):
    row = Passage(
        "fact-1", "MEMORY", "I live in Bern.", meta={"slot": "home", "value": "Bern", "said": "", "type": "place"}
    )
    talk.store.put(ANA, [row], talk.encoder.encode([row.indexed]))
    assert talk.known("2025-05-03T10:00Z", datetime(2020, 1, 1, tzinfo=UTC)) == ["I live in Bern."]
    talk.at("2025-05-03T10:00Z", "I live in Basel.")
    assert "Bern (until 3 May 2025)" in talk.asked("2025-05-04T10:00Z", "Where did I live before?")


def test_recall_at_a_day_gives_what_was_believed_then(talk):
    moved(talk)
    then = {year: datetime(year, 6, 1, tzinfo=UTC) for year in (2023, 2024, 2025)}
    assert [talk.known("2026-01-01T10:00Z", then[year]) for year in then] == [
        [],
        ["I live in Bern."],
        ["I live in Basel."],
    ]


def test_taking_a_fact_back_opens_the_older_one_again(talk):
    talk.at("2024-03-04T10:00Z", "I live in Bern.")
    learned = talk.at("2025-05-03T10:00Z", "I live in Basel.")
    talk.memory.retract(ANA, [learned.added[0].id], [learned.superseded[0].id])
    (row,) = talk.store.passages(ANA, "MEMORY")
    assert row.text == "I live in Bern." and "valid_until" not in row.meta


def test_forgetting_a_fact_forgets_its_history(talk):
    moved(talk)
    with use_clock("2025-06-01T10:00Z"):
        talk.memory.forget(ANA, "I live in Basel.")
    assert talk.asked("2025-06-01T10:00Z", "Where did I live before?") is None


def test_an_unknown_time_zone_is_refused(make):
    with pytest.raises(InputError, match="no time zone 'Europe/Atlantis'"):
        make(time_zone="Europe/Atlantis")


def test_the_time_zone_says_which_day_it_is(make):
    for zone, start in (("Asia/Shanghai", "2025-05-02T16:00:00Z"), ("America/New_York", "2025-05-02T04:00:00Z")):
        room = make(time_zone=zone)
        with use_clock("2025-05-03T20:00:00Z"):  # the fourth in Shanghai
            (row,) = room.say("I moved to Bern yesterday.").added
        assert row.meta["valid_from"] == start


def test_two_corrections_in_one_sentence_both_count(talk):
    talk.at("2024-03-04T10:00Z", "I live in Bern and I work at Novartis.")
    learned = talk.at("2025-05-03T10:00Z", "I live in Basel now and I work at Roche now.")
    assert len(learned.superseded) == 2
    assert all(
        row.meta["valid_until"] == "2025-05-03T10:00:00Z" for row in talk.store.passages(ANA, "MEMORY", superseded=True)
    )


@pytest.mark.parametrize(
    ("sentence", "start"),
    [
        ("我从2019年开始住在成都。", "2018-12-31T23:00:00Z"),
        ("去年我搬到成都。", "2023-12-31T23:00:00Z"),
        ("Two years ago I moved to Bern.", "2023-05-02T22:00:00Z"),
    ],
)
def test_a_time_before_the_verb_does_not_hide_the_fact(talk, sentence, start):
    (row,) = talk.at("2025-05-03T10:00Z", sentence).added
    assert (row.meta["slot"], row.meta["valid_from"]) == ("home", start)


@pytest.mark.parametrize("sentence", ["我昨天买了一本书。", "我2019年去过北京。", "如果我从三月起住在北京呢？"])
def test_an_event_in_the_past_is_no_state(talk, sentence):
    assert talk.at("2025-05-03T10:00Z", sentence).is_empty


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("I'm flying to Rome the day after tomorrow.", "I am flying to Rome on Tuesday 3 March 2026."),
        ("I'm visiting my sister next week.", "I am visiting my sister in the week of 2 March 2026."),
        ("我后天去上海。", "我2026年3月3日去上海。"),
    ],
)
def test_a_plan_is_kept_with_its_date_and_ends_with_it(talk, said, kept):
    talk.at("2026-03-01T12:00Z", said)
    assert talk.known("2026-03-02T12:00Z") == [kept]
    assert talk.known("2026-03-10T12:00Z") == []


def test_the_day_after_tomorrow_is_counted_from_the_users_midnight(talk):
    talk.at("2026-03-01T22:59Z", "I'm flying to Rome the day after tomorrow.")  # a minute to midnight in Zurich
    assert talk.known("2026-03-01T23:00Z") == ["I am flying to Rome on Tuesday 3 March 2026."]


def test_what_a_third_person_says_of_others_is_no_fact(talk):
    talk.at("2026-03-01T12:00Z", "My neighbour told me that her mother has cancer.")
    assert talk.known("2026-03-01T12:01Z") == []


def test_a_fresh_age_is_told_in_chinese_of_whoever_is_asked_for(talk):
    talk.at("2026-01-04T10:00Z", "我妈妈七十一岁。")
    talk.at("2026-01-05T10:00Z", "我妈妈坐轮椅。")
    assert "你妈妈七十一岁" in talk.asked("2026-01-06T10:00Z", "我妈妈多大？", "zh")


def test_who_turns_an_age_has_the_age_before_until_then(talk):
    talk.at("2026-03-02T09:00:00Z", "I live with our two kids, Nils (9) and Aline who turns 6 next month.")
    assert talk.asked("2026-03-03T09:00:00Z", "How old is Aline?").startswith("5 years old")
    assert talk.asked("2026-05-05T09:00:00Z", "How old is Aline?").startswith("6 years old")
    assert talk.asked("2027-06-05T09:00:00Z", "How old is Aline?").startswith("7 years old")


def test_weekdays_beside_in_two_weeks_are_of_that_week(talk):
    talk.at("2026-03-02T09:00:00Z", "We're planning to come in two weeks, from Monday to Friday, with the kids.")
    assert any("Monday" in text for text in talk.known("2026-03-15T09:00:00Z"))
    assert talk.known("2026-03-22T09:00:00Z") == []


def test_a_weekend_is_no_part_of_a_home(talk):
    talk.at("2026-04-20T09:00:00Z", "We moved to Basel last weekend.")
    assert talk.known("2026-04-21T09:00:00Z") == ["I live in Basel."]


@pytest.mark.parametrize(
    ("first", "second", "before"),
    [
        ("I work as a nurse at the Lindenhof.", "I got a new job at the Unispital.", "a nurse at the Lindenhof"),
        ("I work four days a week as a nurse, Wednesdays are free.", "I've got a new job as a teacher.", "a nurse"),
        ("I work at Roche.", "I have a new job at Novartis.", "Roche"),
    ],
)
def test_a_new_job_ends_the_one_before(talk, first, second, before):
    talk.at("2026-03-02T09:00:00Z", first)
    talk.at("2026-04-02T09:00:00Z", second)
    assert before in (talk.asked("2026-04-03T09:00:00Z", "What was my previous job?") or "")


def test_what_no_rule_placed_is_no_history_of_something_else(talk):
    talk.at("2026-03-02T09:00:00Z", "My mother can't climb stairs until the end of March.")
    talk.at("2026-03-03T09:00:00Z", "My neighbour helped me to find the job at the mill.")
    assert "mother" not in (talk.asked("2026-05-01T09:00:00Z", "What was my previous job?") or "")


def test_what_starts_later_begins_then(talk):
    talk.at("2026-03-02T09:00:00Z", "I work at Roche.")
    talk.at("2026-03-04T09:00:00Z", "I got a new job at Novartis, starting in June.")
    assert talk.known("2026-03-05T09:00:00Z") == ["I work at Roche."]
    assert talk.known("2026-06-05T09:00:00Z") == ["I got a new job at Novartis from 1 June 2026 on."]
