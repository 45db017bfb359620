# ruff: noqa: E501  # a pattern is easier to check in one piece
"""Read age, size, days, counts, status and diet, and their subjects, from a user's sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from dragoman.core.caches import text_cache
from dragoman.decision.categories import categories
from dragoman.decision.moments import Clock, Day, clocks, days, relative, spread, weekdays
from dragoman.decision.numerals import normalise
from dragoman.decision.quantities import Quantity, quantities
from dragoman.decision.subjects import (
    USER,
    People,
    can_be_meant,
    people,
    singular,
    subject_of_fact,
    subject_of_question,
)
from dragoman.decision.values import LONGEST_FACT
from dragoman.text import lazy_re as re
from dragoman.text.language import Language, language
from dragoman.text.sentences import sentences

_OTHER_PERSON = re.compile(
    r"\b(?:he|she|him|her|his|hers|them)\b|\b(?:can|could|may|must|should) they\b|[他她]", re.IGNORECASE
)
_FIRST_PERSON = re.compile(r"\b(?:I|me|myself)\b|我")


@dataclass(frozen=True, slots=True)
class Known:
    """One value that a sentence gives. `low` and `high` differ where the value is known within limits only."""

    attribute: str
    subject: frozenset[str]
    text: str
    low: float = 0.0
    high: float = 0.0
    unit: str = ""
    name: str = ""
    truth: bool = True
    day: Day | None = None
    days: frozenset[int] = frozenset()
    clock: Clock | None = None
    asked: bool = False
    """Whether the question itself says it."""
    shown: str = ""


@dataclass(frozen=True, slots=True)
class Situation:
    """Everything known when a question is asked."""

    known: tuple[Known, ...]
    people: People
    subject: frozenset[str]
    today: date | None = None


_HOME = re.compile(
    r"\b(?:live|lives|living|reside|resides|residing|based|settled|moved)\b(?: [a-z]+){0,2}? (?:in|at|on|to) (?:the )?"
    r"(?P<place>[a-z][\w' -]{1,40}?)(?= with | since | near | and |[,.;!?]|$)"
)
_SEGMENT = re.compile(
    r"[,;] (?=who|which|he|she|it|my|i|we|our|and )|\b(?:and|but) (?=my |our |i |i'm|he |she |we |it )|, (?=aged)|[，；。]|\. |! "
)
_BARE_AGE = re.compile(
    r"(?:\b(?:am|is|are|turned|just|only|now|aged)|'m|'s|'re) (?:only |now |just |already )?$|今年$|^我$|[\u4e00-\u9fff]$"
)
_HAS_YEARS = re.compile(r"(?:\b(?:my [a-z ]{2,30}|he|she|[a-z]+) has|\bi have)(?: only| now)? $")
"""As learners say an age: "my son has 11 years"."""
_SAID_OF_AGE = re.compile(r" ?(?:$|[.,;!?]|(?:and|but|now|today|already)\b)")
"""What follows an age in weeks or months: "is nine weeks", but not "am five months pregnant"."""
_NO_AGE = re.compile(
    r"^(?:'?s)?(?: and \d+)?(?: years?(?: old)?| yrs)?(?=$|[ .,;!?])(?! (?:of|minutes|hours|days|weeks|per|%|times|away))"
)
_FUZZY = re.compile(
    r"\b(?:almost|nearly|about|around|roughly|approximately|not yet|under|over|more than|less than|at least|between|soon|will be|was|were|when i was)\b|大约|快|将近|左右|不到|曾"
)
_PRESENCE = re.compile(
    r"\b(?:arriv\w*|com(?:e|es|ing)|visit\w*|travel\w*|there|stay\w*|go(?:ing)?|be|will|plan\w*|park|take|get|am in|are in|am|on holiday"
    r"|book\w*|delivery|want|would like|land|set off|leave)\b|到|去|来|在|想|坐|能|可以|参观|开放"
)
_HABIT = re.compile(
    r"\b(?:born|birthday|work|usually|every|always|never|last|bought|since|ago)\b|生日|出生|上班|买|昨天|上周"
)
_HAPPENED = re.compile(
    r"\b(?:bought|purchased|ordered|received|got|broke|had|moved|joined|became|started|passed|lost|retired|gave"
    r"|given|caught|took|taken|was (?:ill|sick|on|in)|been (?:ill|sick|on|in|to)|returned|came back|died|visited|finished)\b"
    r"|买|收到"
)
_AGO = re.compile(r" ?(?:ago|earlier)\b|前")
_NOT = re.compile(r"\b(?:not|no longer|never|neither|without|no|none|cannot)\b|n't\b|不是|没有|不再|没|无")
_USED = re.compile(
    r"\b(?:used to|was|were|would like to|want to become|will become|if i were|hope to|soon)\b|以前|曾经|想成为"
)
_HAVE = re.compile(r"\b(?:have|has|hold|own|got|with|bring|carry|booked|reserved|show)\b|有|带|持|预约|预订")
_AVOID = re.compile(
    r"\ballerg|\bintoleran|\b(?:can(?:not|'t| not)|do(?:n't| not)|must not|never|won't) (?:eat|have|drink|tolerate)|\bavoid|过敏|不吃|[吃喝]不了|不喝|不能[吃喝]|不耐受|忌口"
)
_TOLERATES = re.compile(r"\bnot (?:allergic|intolerant)|\bno (?:allerg|intoleran)|n't allergic|不过敏|没有过敏|不是对")
_BEING = re.compile(r"(?:\b(?:am|is|are|be|became|become|been|as)|'m|'s|'re)\b[a-z0-9 ,-]{0,28}$")
_LONG = re.compile(r"\b(?:long|length|wide)\b|长|宽")
_ITEM = re.compile(r"(?:^|[ '])(?P<before>[a-z]+(?:'s)? )?$")
_IS_SOMEBODY = re.compile(
    r"(?:^|\b(?:and|but) )(?:i am|i'm|[a-z' ]{2,30} is) (?!not\b|at\b|in\b|on\b)[a-z' -]{3,30}, ?$"
)
_GROUP_SIZE = re.compile(r"\b(?:we are|we're|there are|there will be|group of|party of)(?: only| about)? $")
_BORN = re.compile(r"\bborn in (?P<year>(?:19|20)\d\d)\b|(?P<zh>(?:19|20)\d\d)年(?:出生|生)")
_SECONDS_OF_MONTH = 52 / 12 * 7 * 86400
SUPPOSED = re.compile(
    r"\b(?:when|once|if|as soon as) (?:i am|i'm|he's|she's|it's|they're|(?:(?:my|our|the) )?[a-z]+(?:['’]s| (?:is|are|was|were|turns?)))"
    r" (?:only |just )?$",
    re.IGNORECASE,
)
"""Before an age that a question supposes: "and when he is seven?"."""
_LONGEST_ANSWERED = 9
_BEFORE = 40
"""Characters before a number that say what it counts; all patterns for them are shorter."""
_YES = re.compile(r"^(?P<question>.+)\? (?P<answer>yes|no)\b.*$", re.IGNORECASE)


def situation(facts: Sequence[str], question: str, today: date | None = None) -> Situation:
    """Read the user's sentences and what the question itself says."""
    return read_situation(tuple(fact[:LONGEST_FACT] for fact in facts), question[:LONGEST_FACT], today)


@text_cache(maxsize=64)
def read_situation(facts: tuple[str, ...], question: str, today: date | None) -> Situation:
    """Like `situation`, but cached, since a turn judges many rules by the same facts."""
    known_people = people(facts, question)
    statements: list[Known] = []
    for fact in facts:
        statements.extend(_read(fact, known_people, today))
    subject = subject_of_question(question, known_people)
    if subject == USER and _OTHER_PERSON.search(question) and not _FIRST_PERSON.search(question):
        # "for her": whom the facts spoke of last, of those whom the pronoun can mean
        spoken = [each.subject for each in reversed(statements) if each.subject != USER]
        meant = [keys for keys in spoken if can_be_meant(keys, question, known_people)]
        subject = next(iter((*meant, *spoken)), subject)
    asked = _read(question, known_people, today, asked=subject)
    if any(known.attribute == "age" for known in asked):
        statements = [known for known in statements if not (known.attribute == "age" and known.subject & subject)]
    return Situation((*statements, *asked), known_people, subject, today)


def supposed_facts(facts: Sequence[str], question: str) -> dict[str, str]:
    """Return facts about an age as the question supposes them.

    "My daughter Ella is five." becomes "my daughter ella is 6." for "and when she is six?".
    """
    now = situation(facts, question)
    ages = [known for known in now.known if known.asked and known.attribute == "age"]
    if len(ages) != 1:
        return {}
    told = [known for known in situation(facts, "").known if known.attribute == "age" and known.subject & now.subject]
    return {
        known.text: re.sub(
            rf"(?<!\d){re.escape(known.shown)}(?!\d)", lambda _: ages[0].shown, normalise(known.text), count=1
        )
        for known in told
        if known.shown != ages[0].shown
    }


def _read(fact: str, everybody: People, today: date | None, asked: frozenset[str] | None = None) -> list[Known]:
    tongue = language(fact)
    return [
        value
        for segment, subject in segments(fact, everybody, asked)
        for value in _segment(segment, subject, fact, tongue, today, asked is not None)
    ]


def segments(fact: str, everybody: People, asked: frozenset[str] | None) -> Iterator[tuple[str, frozenset[str]]]:
    """The prepared pieces of a sentence that say one thing each, with whom they are about; `asked` is a question's."""
    answered = _YES.match(fact) if asked is None else None
    statement = fact
    if answered:
        statement = _statement(answered["question"], answered["answer"].lower() == "yes")
    subject = USER
    for sentence in sentences(statement) or (statement,):
        for piece in _SEGMENT.split(spread(normalise(sentence))):
            segment = (piece or "").strip(" .!?。！？")
            if segment:
                subject = asked if asked is not None else subject_of_fact(segment, everybody, subject)
                yield segment, subject


def _statement(question: str, yes: bool) -> str:
    """An answered question as the statement it makes: `Are you a student? No` is `I am not a student`."""
    text = normalise(question)
    if len(text.split()) > _LONGEST_ANSWERED or re.search(r"\b(?:who|which|that|and|or)\b", text):
        return ""  # a No may deny any part of it
    for start, affirmed, denied in (
        ("are you ", "i am ", "i am not "),
        ("do you have ", "i have ", "i do not have "),
        ("have you ", "i have ", "i have not "),
        ("do you ", "i ", "i do not "),
    ):
        if text.startswith(start):
            return (affirmed if yes else denied) + text[len(start) :]
    return ""


def _segment(  # noqa: PLR0917  # one sentence's context
    segment: str, subject: frozenset[str], text: str, tongue: Language, today: date | None, asked: bool
) -> list[Known]:
    facts: list[Known] = []

    def add(attribute: str, **values: object) -> None:
        facts.append(Known(attribute, subject, text, asked=asked, **values))  # type: ignore[arg-type]  # fields of Known by name

    _moments(segment, today, asked, add)
    taken = {place for _, span in (*days(segment), *clocks(segment)) for place in range(span.start, span.end)}
    for quantity in quantities(segment):
        if quantity.start not in taken:
            _quantity(segment, quantity, asked, add)
    born = _BORN.search(segment)
    if born and today:
        years = today.year - int(born["year"] or born["zh"])
        add("age", low=12 * (years - 1), high=12 * years + 11, unit="month", shown=f"{years - 1} or {years}")
    if not asked or subject != USER:
        _traits(segment, tongue, add)
    _things(segment, tongue, add)
    return facts


def _moments(segment: str, today: date | None, asked: bool, add: Callable[..., None]) -> None:
    present = asked or (_PRESENCE.search(segment) and not _HABIT.search(segment))
    on = relative(segment, today)
    if on is not None and present:
        add("date", day=Day(on.month, on.day, on.year), days=frozenset({on.weekday()}), shown=on.isoformat())
    for named, span in weekdays(segment):
        if present:
            add("weekday", days=named, shown=segment[span.start : span.end])
    for day, span in days(segment):
        shown = segment[span.start : span.end].replace("maymonth", "may")
        if present:
            add("date", day=day, days=_weekday_of(day, today), shown=shown)
        elif _HAPPENED.search(segment) and today and day.month:
            first = date(day.year or today.year, day.month, day.day or 1)
            if not day.year and first > today:
                first = date(today.year - 1, day.month, day.day or 1)
            last = first if day.day else min(today, first + timedelta(30))
            low, high = ((today - each).days * 86400 for each in (last, first))
            add("since", low=max(0, low), high=max(0, high), unit="s", shown=shown)
    for clock, span in clocks(segment):
        if present:
            add("time", clock=clock, shown=segment[span.start : span.end].removeprefix("at "))


def _weekday_of(day: Day, today: date | None) -> frozenset[int]:
    year = day.year or (today.year if today else 0)
    if not (year and day.day):
        return frozenset()
    try:
        on = date(year, day.month, day.day)
        if today and not day.year and on < today:
            on = date(year + 1, day.month, day.day)
    except ValueError:
        return frozenset()
    return frozenset({on.weekday()})


def _quantity(segment: str, quantity: Quantity, asked: bool, add: Callable[..., None]) -> None:
    before, after = segment[max(0, quantity.start - _BEFORE) : quantity.start], segment[quantity.end :]
    fuzzy = _FUZZY.search(before[-18:])
    value = {"low": quantity.value, "high": quantity.value, "unit": quantity.unit, "shown": quantity.shown}
    supposed = asked and SUPPOSED.search(before)
    learner = quantity.kind == "duration" and "year" in quantity.shown and _HAS_YEARS.search(before)
    if (
        quantity.kind == "duration"
        and _BARE_AGE.search(before)
        and re.match(r"\d+ ?(?:weeks?|months?)$", quantity.shown)
        and (_SAID_OF_AGE.match(after) or supposed)
    ):
        months = quantity.value if quantity.unit == "month" else quantity.value / _SECONDS_OF_MONTH
        add("age", low=months, high=months, unit="month", shown=quantity.shown)  # "my puppy is nine weeks"
        return
    age = quantity.kind == "age" or bool(learner and _NO_AGE.match(after)) or (
        quantity.kind == "number" and quantity.value <= 120 and (not asked or supposed) and not _GROUP_SIZE.search(before)
        and (supposed or _BARE_AGE.search(before) or re.search(r"\d and $", before) or _apposed(before, after)) and _NO_AGE.match(after)
    )  # fmt: skip
    if fuzzy and not (supposed and fuzzy[0] in ("was", "were")):  # "if she were seven" supposes no other age
        return
    if age:
        months = quantity.value if quantity.unit == "month" else quantity.value * 12
        years = quantity.kind == "number" or "y" in quantity.shown or "岁" in quantity.shown
        shown = str(int(months // 12)) if years else quantity.shown
        add("age", low=months, high=months + (11 if years else 0), unit="month", shown=shown)
    elif quantity.kind == "number" and _GROUP_SIZE.search(before):
        add("count", **{**value, "unit": "people"})
    elif quantity.kind == "length":
        add("length" if _LONG.search(segment) else "height", **value)
    elif quantity.kind == "mass":
        add("weight", **value)
    elif quantity.kind == "volume":
        add("volume", **value)
    elif quantity.kind == "money":
        add("amount", **value)
    elif quantity.kind == "count":
        add("count", **value)
    elif quantity.kind == "duration":
        add("since" if _AGO.match(after) else "duration", **value)


def _apposed(before: str, after: str) -> bool:
    """Whether a number follows a description of a person: "I'm a student, 24"."""
    return _IS_SOMEBODY.search(before) is not None and re.match(r"[,.]?$|, ", after) is not None


def _traits(segment: str, tongue: Language, add: Callable[..., None]) -> None:
    taxonomy = categories(tongue)
    denied = _NOT.search(segment)
    past = _USED.search(segment)
    home = _HOME.search(segment) if tongue == "en" and not denied and not past else None
    if home is not None:
        add("home", name=home["place"], shown=home["place"])
    for status, pattern in taxonomy.statuses.items():
        match = pattern.search(segment)
        if match and not past and _is_own(segment, match, tongue):
            add("status", name=status, truth=not (denied and denied.start() < match.start()), shown=match[0])
    if _AVOID.search(segment) and not _TOLERATES.search(segment):
        words = [singular(match["word"]) for match in taxonomy.food_words.finditer(segment)]
        for word in words:
            add("avoids", name=word, shown=word)
    for diet in taxonomy.diets:
        if diet in segment and not denied:
            add("diet", name=diet, shown=diet)
    aid = taxonomy.aid.search(segment)
    if aid and not denied:
        add("aid", name=aid[0], shown=aid[0])
    if _HAVE.search(segment) and not past:
        for match in taxonomy.item_words.finditer(segment):
            before = _ITEM.search(segment[: match.start()])
            modifier = (before["before"] or "").strip().removesuffix("'s") if before and tongue == "en" else ""
            add("item", name=f"{modifier} {match['word']}".strip(), truth=not denied, shown=match[0])
        if re.search(r"\b(?:booked|reserved)\b|预约|预订", segment):
            add("item", name="reservation" if tongue == "en" else "预约", truth=not denied, shown="booked")


def _is_own(segment: str, match: re.Match[str], tongue: Language) -> bool:
    """Whether a status is what someone is, and not whom they teach or which card they carry."""
    if re.match("证|卡| card| ticket| discount| pass| price", segment[match.end() :]):
        return False
    if tongue == "zh":
        return True
    plural = match[0].endswith("s") and not re.search(r"\b(?:we|they|both)\b|'re\b", segment)
    return not plural and _BEING.search(segment[: match.start()]) is not None


def _things(segment: str, tongue: Language, add: Callable[..., None]) -> None:
    taxonomy = categories(tongue)
    for match in taxonomy.thing_words.finditer(segment):
        word = taxonomy.thing_of(match)
        add("thing", name={"犬": "狗"}.get(word, word), truth=not _NOT.search(segment), shown=match[0])
