"""Whether one condition of a rule holds in a situation: yes, no, or which fact is missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dragoman.decision.categories import categories
from dragoman.decision.comparisons import Condition
from dragoman.decision.conditions import Clause
from dragoman.decision.facts import Known, Situation
from dragoman.decision.moments import DAY_NAMES, Day
from dragoman.decision.quantities import PEOPLE, plain
from dragoman.decision.subjects import CHILDREN, RELATION, USER, is_person, same, singular
from dragoman.text import lazy_re as re

_HALF_YEAR = 183
_DAYS_OF_YEAR = 366
_ROUNDING = 1e-9
_PERSON = re.compile(
    r"\b(?:child(?:ren)?|kids?|anyone|everyone|nobody|persons?|people|visitors?|guests?|pupils?|students?|adults?|drivers?|riders?"
    r"|readers?|members?|passengers?|you|those|who|boys|girls|women|men|babies|users?|customers?|players?)\b|人|者|儿童|老|岁"
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Whether a condition holds. None where a fact is missing (`missing` names it) or code cannot tell."""

    truth: bool | None
    condition: Condition
    reason: str = ""
    fact: str = ""
    missing: str = ""
    ask: str = ""
    clear: bool = True


_UPRIGHT = re.compile(r"\b(?:high|tall|height|headroom)\b")


def compare(condition: Condition, clause: Clause, situation: Situation) -> Outcome:
    """Compare a condition with the fact that it is about."""
    return _COMPARE[condition.attribute](condition, clause, situation)


def _measure(condition: Condition, clause: Clause, situation: Situation) -> Outcome:
    """Age, height, length and weight belong to someone or something."""
    candidates = [known for known in situation.known if known.attribute == condition.attribute]
    if condition.attribute == "length":
        candidates += [known for known in situation.known if known.attribute == "height"]
    elif condition.attribute == "height" and clause.things and not _UPRIGHT.search(clause.text):
        candidates += [known for known in situation.known if known.attribute == "length"]  # "vans up to 5 metres"
    if condition.attribute == "age":  # "dogs under 6 months", but not "children with bikes under 12"
        thing = bool(clause.things) and not _PERSON.search(clause.text)
    else:
        thing = _is_of_thing(clause, situation)
    if thing:
        chosen = [known for known in candidates if _of_clause(known, clause, situation)]
    else:
        chosen = [
            k for k in candidates if same(k.subject, situation.subject) or (k.asked and not _thing_only(k, situation))
        ]
    chosen = _newest(chosen)
    if not chosen:
        return _missing(condition, clause, situation, thing)
    return _all([_number(condition, known) for known in chosen], condition, clause, situation)


def _is_of_thing(clause: Clause, situation: Situation) -> bool:
    if clause.things:
        return True
    return any(
        not is_person(known.subject, situation.people) and any(singular(key) in clause.text for key in known.subject)
        for known in situation.known
    )


def _of_clause(known: Known, clause: Clause, situation: Situation) -> bool:
    taxonomy = categories(clause.language)
    keys = set(known.subject) | {situation.people.names.get(key, "") for key in known.subject}
    if known.asked:
        return True
    named = [taxonomy.thing_of(match) for match in taxonomy.thing_words.finditer(known.text.lower())]
    if any(taxonomy.is_a(name, t) or taxonomy.is_a(t, name) for name in named for t in clause.things):
        return True  # "I drive a van that is 5 metres long"
    return any(
        key
        and (
            any(taxonomy.is_a(key, t) or taxonomy.is_a(t, key) for t in clause.things)
            or (len(key) > 1 and key in clause.text)
        )
        for key in keys
    )


def _thing_only(known: Known, situation: Situation) -> bool:
    return not is_person(known.subject, situation.people)


def _newest(known: Sequence[Known]) -> list[Known]:
    """Return the facts that the question states, if any; else the last of each subject."""
    asked = [k for k in known if k.asked]
    if asked:
        return asked
    last: dict[frozenset[str], list[Known]] = {}
    for k in known:
        if k.subject in last and last[k.subject][-1].text == k.text:
            last[k.subject].append(k)  # "my daughters are 6 and 9"
        else:
            last[k.subject] = [k]
    return [k for group in last.values() for k in group]


def _all(outcomes: list[Outcome], condition: Condition, clause: Clause, situation: Situation) -> Outcome:
    """Combine the outcomes of several values, which must agree."""
    if len({outcome.truth for outcome in outcomes}) == 1:
        return outcomes[0]
    reason = "; ".join(outcome.reason for outcome in outcomes)
    ask = "Which of them do you mean?" if clause.language == "en" else "您指的是哪一个？"
    return Outcome(None, condition, reason, outcomes[0].fact, condition.attribute, ask)


def _number(condition: Condition, known: Known) -> Outcome:
    low, high = known.low, known.high
    bounds = [bound for bound in (condition.low, condition.high) if bound is not None]
    scale = 1.0
    if condition.attribute == "age":
        if all(abs(bound % 12) < _ROUNDING for bound in bounds):
            low, high, scale = low // 12, high // 12, 12.0  # completed years
    elif known.unit != condition.unit and condition.attribute != "count":
        return Outcome(None, condition, f"{known.shown} is not in {condition.unit}", known.text)
    floor = None if condition.low is None else condition.low / scale
    ceiling = None if condition.high is None else condition.high / scale
    values = [_inside(value, floor, ceiling, condition) for value in (low, high)]
    reason = _reason(condition, low, floor, ceiling)
    if values[0] != values[1]:
        return Outcome(None, condition, f"{known.shown} is not exact enough", known.text, condition.attribute)
    at_bound = any(bound is not None and abs(low - bound) < _ROUNDING for bound in (floor, ceiling))
    return Outcome(values[0], condition, reason, known.text, clear=condition.clear or not at_bound)


def _inside(value: float, floor: float | None, ceiling: float | None, condition: Condition) -> bool:
    slack = _ROUNDING * max(1.0, abs(value))
    above = floor is None or (value > floor + slack if condition.low_open else value >= floor - slack)
    below = ceiling is None or (value < ceiling - slack if condition.high_open else value <= ceiling + slack)
    return above and below


def _reason(condition: Condition, value: float, floor: float | None, ceiling: float | None) -> str:
    name, shown = condition.attribute, plain(value)
    if floor is not None and value < floor:
        return f"{name} {shown} < {plain(floor)}"
    if ceiling is not None and value > ceiling:
        return f"{name} {shown} > {plain(ceiling)}"
    if floor is not None and ceiling is not None:
        return f"{plain(floor)} <= {name} {shown} <= {plain(ceiling)}"
    bound = floor if floor is not None else ceiling or 0.0
    if abs(value - bound) < _ROUNDING:
        return f"{name} {shown} = {plain(bound)}"
    return f"{name} {shown} {'>' if floor is not None else '<'} {plain(bound)}"


def _missing(condition: Condition, clause: Clause, situation: Situation, thing: bool = False) -> Outcome:
    ask = categories(clause.language).ask
    attribute = condition.attribute
    if attribute == "weight" and not thing and situation.subject == USER:
        question = ask["body_weight"]
    elif attribute in ("age", "height"):
        question = _about(ask[attribute], clause, situation, thing)
    else:
        question = ask.get(attribute, "")
        noun = clause.things[0] if clause.things else ""
        it = f"your {noun}" if noun else "it"
        if clause.language == "zh":
            it = f"您的{noun}" if noun else "它"
        question = question.replace("{it}", it).replace("{它}", it)
    return Outcome(None, condition, f"{attribute} missing", "", attribute, question)


def _about(question: str, clause: Clause, situation: Situation, thing: bool) -> str:
    if situation.subject == USER and not thing:
        return question.replace("{are you}", "are you").replace("{您}", "您")
    names = [key for key in situation.subject if key not in RELATION.values() and key != "user"]
    relations = [key for key in situation.subject if key in RELATION.values()]
    if clause.language == "zh":
        back = {relation: word for word, relation in RELATION.items() if not word.isascii()}
        whom = names[0] if names else f"您的{back.get(relations[0], '孩子')}" if relations else "它"
        return question.replace("{您}", whom)
    whom = (
        names[0].title()
        if names
        else f"your {relations[0]}"
        if relations
        else f"your {clause.things[0]}"
        if clause.things
        else "it"
    )
    return question.replace("{are you}", f"is {whom}")


def _money(condition: Condition, clause: Clause, situation: Situation) -> Outcome:
    known = _newest([k for k in situation.known if k.attribute == "amount"])
    if not known:
        return _missing(condition, clause, situation)
    if known[0].unit != condition.unit:
        ask = categories(clause.language).ask["currency"].replace("{unit}", condition.unit)
        return Outcome(None, condition, f"{known[0].shown} is not in {condition.unit}", known[0].text, "currency", ask)
    return _all([_number(condition, k) for k in known], condition, clause, situation)


def _count(condition: Condition, clause: Clause, situation: Situation) -> Outcome:
    noun = singular(condition.noun)

    def counted(known: Known) -> bool:
        if condition.noun in PEOPLE or condition.noun == "people":
            return known.unit in PEOPLE
        taxonomy = categories(clause.language)
        own = singular(known.unit)
        return own == noun or taxonomy.is_a(own, noun) or own[:1] == noun[:1] == "本"

    known = _newest([k for k in situation.known if k.attribute == "count" and counted(k)])
    if not known:
        outcome = _missing(condition, clause, situation)
        shown = condition.noun if condition.noun != "people" or clause.language == "en" else "人"
        return Outcome(None, condition, "count missing", "", "count", outcome.ask.replace("{noun}", shown))
    return _all([_number(condition, k) for k in known], condition, clause, situation)


def _span_of_time(condition: Condition, clause: Clause, situation: Situation) -> Outcome:
    known = _newest([k for k in situation.known if k.attribute == condition.attribute])
    if not known and condition.attribute == "since":
        known = []
    if not known:
        return _missing(condition, clause, situation)
    return _all([_number(condition, k) for k in known], condition, clause, situation)


def _weekday(condition: Condition, clause: Clause, situation: Situation) -> Outcome:
    known = [k for k in situation.known if k.attribute in ("weekday", "date") and k.days]
    asked = [k for k in known if k.asked]
    chosen = asked or known
    if not chosen:
        return _missing(Condition("date", condition.text, schedule=condition.schedule), clause, situation)
    outcomes = []
    for k in chosen:
        names = "/".join(DAY_NAMES[day] for day in sorted(k.days))
        if k.days <= condition.days:
            outcomes.append(Outcome(True, condition, f"{names} in {condition.text}", k.text))
        elif not k.days & condition.days:
            outcomes.append(Outcome(False, condition, f"{names} not in {condition.text}", k.text))
        else:
            outcomes.append(Outcome(None, condition, f"{names} partly in {condition.text}", k.text, "date"))
    return _all(outcomes, condition, clause, situation)


def _date(condition: Condition, clause: Clause, situation: Situation) -> Outcome:
    known = [k for k in situation.known if k.attribute == "date" and k.day is not None]
    chosen = [k for k in known if k.asked] or known
    if not chosen:
        return _missing(condition, clause, situation)
    outcomes = []
    for k in chosen:
        assert k.day is not None
        truths = {_in_spans(number, k.day, condition) for number in {k.day.first, k.day.last}}
        truth = truths.pop() if len(truths) == 1 else None
        shown = condition.text.replace("maymonth", "may")
        reason = f"{k.day} {'in' if truth else 'not in' if truth is False else 'partly in'} {shown}"
        outcomes.append(Outcome(truth, condition, reason, k.text, "" if truth is not None else "date"))
    return _all(outcomes, condition, clause, situation)


def _in_spans(number: int, day: Day, condition: Condition) -> bool | None:
    truths = [_in_span(number, day, first, last) for first, last in condition.spans]
    if True in truths:
        return True
    return None if None in truths else False


def _in_span(number: int, day: Day, first: Day | None, last: Day | None) -> bool | None:
    years = [end.year for end in (first, last) if end is not None]
    if day.year and all(years):  # every year is named: compare on one line
        place = day.year * _DAYS_OF_YEAR + number
        return (first is None or place >= first.year * _DAYS_OF_YEAR + first.first) and (
            last is None or place <= last.year * _DAYS_OF_YEAR + last.last
        )
    if first is not None and last is not None:
        start, end = first.first, last.last
        return start <= number <= end if start <= end else number >= start or number <= end
    # An open range covers half a year from its only end.
    if last is not None:
        return (last.last - number) % _DAYS_OF_YEAR <= _HALF_YEAR
    assert first is not None
    return (number - first.first) % _DAYS_OF_YEAR <= _HALF_YEAR


def _time(condition: Condition, clause: Clause, situation: Situation) -> Outcome:
    if condition.low is None and condition.high is None:
        return Outcome(None, condition, "no bound")
    known = [k for k in situation.known if k.attribute == "time" and k.clock is not None]
    chosen = [k for k in known if k.asked] or known
    if not chosen:
        return _missing(condition, clause, situation)
    outcomes = []
    for k in chosen:
        assert k.clock is not None
        readings = [k.clock.minutes] + ([(k.clock.minutes + 720) % 1440] if k.clock.ambiguous else [])
        truths = {_in_hours(minutes, condition) for minutes in readings}
        if len(truths) > 1:
            ask = categories(clause.language).ask["half_of_day"]
            outcomes.append(Outcome(None, condition, f"{k.shown} may be am or pm", k.text, "time", ask))
            continue
        truth = truths.pop()
        at_bound = k.clock.minutes in (condition.low, condition.high)
        reason = f"{k.clock} {'in' if truth else 'not in'} {condition.text}"
        outcomes.append(Outcome(truth, condition, reason, k.text, clear=condition.clear or not at_bound))
    return _all(outcomes, condition, clause, situation)


def _in_hours(minutes: int, condition: Condition) -> bool:
    low, high = condition.low, condition.high
    if low is not None and high is not None and low > high:  # over midnight
        return minutes >= low or minutes <= high
    return _inside(minutes, low, high, condition)


def _status(condition: Condition, clause: Clause, situation: Situation) -> Outcome:
    known = [
        k
        for k in situation.known
        if k.attribute == "status" and k.name == condition.name and same(k.subject, situation.subject)
    ]
    if not known and condition.name == "residence" and (outcome := _resident(condition, clause, situation)):
        return outcome
    if not known:
        ask = categories(clause.language).status_questions[condition.name]
        return Outcome(None, condition, f"{condition.name} missing", "", condition.name, ask)
    last = known[-1]
    shown = f"{'' if last.truth else 'not '}{last.shown}"
    return Outcome(last.truth != condition.negated, condition, shown, last.text)


def _resident(condition: Condition, clause: Clause, situation: Situation) -> Outcome | None:
    """Whether a person lives in the place whose residents a rule is about; None if either is unknown."""
    place = _RESIDENTS_OF.search(clause.text)
    homes = [k for k in situation.known if k.attribute == "home"]
    # The user's people live where the user does, unless a fact says otherwise.
    homes = [k for k in homes if same(k.subject, situation.subject)] or [k for k in homes if _OF_USER.match(k.text)]
    if place is None or not homes:
        return None
    lives = re.search(rf"\b{re.escape(place['place'])}\b", homes[-1].name) is not None
    if not lives and place["the"]:
        return None  # "residents of the county": a place of another size
    return Outcome(lives != condition.negated, condition, f"lives in {homes[-1].name}", homes[-1].text)


_OF_USER = re.compile(r"(?:I|We)\b", re.IGNORECASE)
_RESIDENTS_OF = re.compile(
    r"\b(?:residents?|inhabitants?|locals) (?:of|in|from) (?P<the>the )?(?P<place>[a-z][\w'-]*"
    r"(?: (?!(?:pay|may|get|who|can|need|must|have|are|with|and|or|do|receive|enjoy)\b)[a-z][\w'-]*)?)"
)
_OTHER_CARDS = frozenset("credit debit bank business sim birthday post playing graphics memory".split())


def _item(condition: Condition, clause: Clause, situation: Situation) -> Outcome:
    wanted = _modifier(clause.text, condition.name)
    for known in reversed(situation.known):
        if known.attribute != "item" or known.asked:
            continue
        modifier, _, noun = known.name.rpartition(" ")
        if noun != condition.name and not condition.name.endswith(noun):
            continue
        modifier = "" if modifier in ("a", "an", "the", "valid", "my", "no", "any", "have", "with") else modifier
        if modifier in _OTHER_CARDS or (wanted and modifier and modifier != wanted):
            continue
        return Outcome(known.truth, condition, f"{'' if known.truth else 'no '}{known.name}", known.text)
    a_noun = f"{wanted} {condition.name}".strip()
    if clause.language == "en":
        a_noun = ("an " if a_noun[0] in "aeiou" else "a ") + a_noun
    ask = categories(clause.language).ask["item"].replace("{a noun}", a_noun)
    return Outcome(None, condition, f"{condition.name} missing", "", condition.name, ask)


def _modifier(text: str, item: str) -> str:
    match = (
        re.search(rf"(?<![a-z])(?P<before>[a-z]++)(?>(?:'s)?) {re.escape(item)}s?\b", text) if item.isascii() else None
    )
    before = match["before"] if match else ""
    return (
        "" if before in ("a", "an", "the", "valid", "with", "your", "their", "current", "have", "of", "no") else before
    )


def _thing(condition: Condition, clause: Clause, situation: Situation) -> Outcome:
    """Compare a thing with the kind that an exception names: known to be it, known not to be, or assumed not to be."""
    taxonomy = categories(clause.language)
    for known in situation.known:
        if known.attribute == "thing" and known.truth and taxonomy.is_a(known.name, condition.name):
            return Outcome(True, condition, f"{known.shown} is {condition.name}", known.text)
    spaced = condition.name.replace("-", " ")
    for known in situation.known:
        if spaced in known.text.lower():
            return Outcome(True, condition, spaced, known.text)
    return Outcome(False, condition, f"not {spaced}", clear=False)


def _child(condition: Condition, clause: Clause, situation: Situation) -> Outcome:
    """`children` and `adults` without an age: sure below 12 and from 18 on only."""
    wants_child = condition.attribute == "child"
    ages = _newest([k for k in situation.known if k.attribute == "age" and same(k.subject, situation.subject)])
    if ages:
        years = ages[0].low // 12
        if years < 12 or years >= 18:
            return Outcome((years < 12) == wants_child, condition, f"age {plain(years)}", ages[0].text)
        return Outcome(None, condition, f"age {plain(years)}: child or adult is not defined", ages[0].text)
    if situation.subject & CHILDREN:
        return Outcome(wants_child, condition, "child", clear=False)
    return _missing(Condition("age", condition.text), clause, situation)


def _relation(condition: Condition, clause: Clause, situation: Situation) -> Outcome:
    """Whether the one asked about is one of the user's relatives whom a rule names."""
    relations = set(condition.name.split())
    own = situation.subject | {situation.people.names.get(key, "") for key in situation.subject}
    known = own & set(RELATION.values())
    if known & relations:
        fact = next((k.text for k in situation.known if not k.asked and same(k.subject, situation.subject)), "")
        return Outcome(True, condition, condition.text, fact)
    return Outcome(False if known else None, condition, condition.text, clear=False)


_COMPARE: dict[str, Callable[[Condition, Clause, Situation], Outcome]] = {
    "age": _measure,
    "height": _measure,
    "length": _measure,
    "weight": _measure,
    "volume": _measure,
    "duration": _span_of_time,
    "since": _span_of_time,
    "amount": _money,
    "count": _count,
    "date": _date,
    "weekday": _weekday,
    "time": _time,
    "status": _status,
    "relation": _relation,
    "item": _item,
    "thing": _thing,
    "child": _child,
    "adult": _child,
}
