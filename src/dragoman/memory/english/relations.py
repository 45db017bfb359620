"""Facts of one clause: which relation its verb and words state, and with which value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dragoman.core.values import Fact
from dragoman.memory.english.clauses import SubjectClause
from dragoman.memory.english.predicate import Predicate, predicate
from dragoman.memory.english.wording import with_articles
from dragoman.memory.patterns import RELATIONS, VERBS, Relation, around, fragment, value_type, words
from dragoman.memory.roles import is_occupation
from dragoman.memory.subjects import USER, Subject, be
from dragoman.text import lazy_re as re
from dragoman.text.patterns import Lazy

_AROUND = around({"afterthought": r"(?<!\s)(?:{})$", "instruction": "{}"})
_TAIL = re.compile(
    r"(?:[,;:(]|(?<!\s))\s++(?:because|since|so that|which|although|though|as I|if|when|while|after|and I|and we"
    r"|are|is|was|were|as do|I|we)\b.*|, (?:not|only|but)\b.*",
    re.IGNORECASE,
)
_SPLIT_VALUE = re.compile(r"(?<!\s)\s*+\(.*|(?:,|(?<!\s))\s++(?:by the way|you know)\b.*", re.IGNORECASE)
_PREPOSITION = re.compile(r" (?:with|by|on|at|in|from|until|till|for)$")
_STRANDED = re.compile(r"(?:,\s*)+(?=,|$)")
"""Commas around something that was taken out."""
_ASKED = re.compile(r"\b(?:what|who|where|which|whether|how)\b", re.IGNORECASE)
_SHARED = Lazy({"folk": rf"\b{fragment('folk')}"})
_MANNERED = re.compile(
    r"(?:an? |the )?(?:lot of |bit of )?(?:\w+ )?"
    r"(?:love|pleasure|joy|care|luck|ease|time|fun|you|it|them|that|this|us)\b"
)
_NAMES = re.compile(r", (?![A-Z]).*|;.*")
_PRONOUN = re.compile(
    r"(?:it|that|this|these|those|them|him|her|you|one|ones|there|here|so|much|many)\b\s*$", re.IGNORECASE
)
_POINTING = re.compile(r"\b(?:the|this|that|these|those|your|it|you|them|him|her|any)\b", re.IGNORECASE)
_ARTICLE = re.compile(r"^(?:my |our |an? |the )", re.IGNORECASE)
_BAD_PART = re.compile(
    r"(?:very |quite |a bit )?(?:new|bad|weak|broken|injured|stiff|painful|sore|artificial|gone|poor|failing)\b",
    re.IGNORECASE,
)
_BODY = frozenset("leg arm knee knees hip hips back foot ankle wrist shoulder eyes eyesight hearing heart legs".split())
_MATTERS = {
    "name": "name",
    "first name": "name",
    "full name": "name",
    "surname": "surname",
    "birthday": "birthday",
    "date of birth": "birthday",
    "budget": "budget",
    "job": "job",
    "profession": "job",
    "occupation": "job",
    "work": "job",
    "home": "home",
    "new home": "home",
    "home town": "home",
    "hometown": "home",
    "address": "home",
    "town": "home",
    "city": "home",
    "age": "age",
    "weight": "weight",
    "height": "height",
    "hobby": "hobby",
    "hobbies": "hobby",
    "mother tongue": "language",
    "native language": "language",
    "first language": "language",
    "diet": "diet",
}
_PAPERS = frozenset(
    "passport visa licence license card pass permit ticket membership contract subscription insurance rent plan size "
    "colour color religion faith degree major subject school employer doctor address email phone number plot seat "
    "cabin locker shift team club department grade level type group neighbourhood street language tongue".split()
)
_SHARED_AGE = re.compile(r"\b(?:both|all|each|old|and)\b", re.IGNORECASE)
_UNFINISHED_AGE = re.compile(rf"{fragment('number')} (?:months?|weeks?|years?)", re.IGNORECASE)
_NOW = re.compile(
    r",? (?:now|right now|at the moment|currently|these days|nowadays|instead|after all)$|(?<=^I) now(?= [a-z])",
    re.IGNORECASE,
)
_NUMBER = re.compile(fragment("number"), re.IGNORECASE)
_CALLED = re.compile(r"(?i:called|named) (?P<x>[A-ZÀ-Þ][\w'’-]*+(?: [A-ZÀ-Þ][\w'’-]*+){0,3})")
_NOT_PLANNED = frozenset("studies booking has pet family card job status home condition aid".split())
_GENERIC = frozenset("be cost include consist come hold start expire".split())
_HABITUAL = frozenset(
    "eat drink watch listen cook bake play wear go walk run swim cycle ride train sleep work exercise travel".split()
)
"""Verbs of what people do again and again."""
_OFTEN = re.compile(
    r"\b(?:usually|mostly|normally|often|always|typically|generally|regularly|mainly|rarely|seldom|hardly|never"
    r"|every (?:other )?(?:day|morning|evening|afternoon|night|week|weekend|month|year|summer|winter|\w{3,6}day)"
    r"|(?:once|twice|\w+ times) an? (?:day|week|month|year)|at (?:the )?weekends?|on \w{3,6}days"
    r"|most (?:days|nights|evenings))\b",
    re.IGNORECASE,
)
_PLACES = frozenset(("room", "block", "plot", "floor", "group"))
"""Slots of a place that has a number or a name: "plot 52"."""
_TO_OTHERS = re.compile(r"\b(?:you|your|here|there|it|that|this|them|him|her|back|out of|wrong|crazy)\b", re.IGNORECASE)
_LONGEST_OWNED = 6
_LONGEST_THING = 9
_LONGEST_NAME = 5


def clause_facts(clause: SubjectClause, said: str) -> list[Fact]:
    """The facts that a clause states, in the order of the relations, each in words of its own.

    "I come on Friday with two bikes" is "I come on Friday" and "I come with two bikes": either may be corrected.
    """
    read = list(_stated_facts(clause, said))
    if sum(each.relation == "arrival" for each in read) > 1:  # "in two weeks, from Monday to Friday"
        read = [each for each in read if each.relation != "arrival" or not each.value.startswith("in ")]
    return [replace(each, text=_alone(each, read)) for each in read]


def _alone(fact: Fact, others: Sequence[Fact]) -> str:
    """The sentence of a fact without the values of other facts that it was said with."""
    text = fact.text.rstrip(".")
    for other in sorted(others, key=lambda each: -len(each.value)):  # "from Monday to Friday" before its "Monday"
        overlaps = other.value in fact.value or fact.value in other.value
        if other is not fact and other.text == fact.text and not overlaps:
            article = next((word for word in (" a", " an", " the") if f"{word} {other.value}" in text), "")
            before, phrase, after = text.partition(f"{article} {other.value}")
            if phrase:
                text = _STRANDED.sub("", _PREPOSITION.sub("", before.rstrip(" ,")) + after)
    return f"{text}."


def _stated_facts(clause: SubjectClause, said: str) -> Iterator[Fact]:  # noqa: PLR0912 - one branch a kind of slot
    read = predicate(clause.predicate)
    if read is None or _AROUND["instruction"].search(clause.text):
        return
    subject = clause.subject
    if subject.kind == "thing" and read.verb == "be" and not read.negated:
        called = _CALLED.fullmatch(read.words)
        if called:  # "My bicycle is called Comet."
            yield fact(subject, "name", called["x"], clause.text, said)
            return
    if subject.kind == "matter":
        yield from _matter(clause, read, said)
        return
    for relation in RELATIONS.get(read.verb, ()):
        if not _is_meant(relation, subject):
            continue
        match = relation.pattern.match(read.words)
        if match is None:
            continue
        slot, ended = _slot(relation, read)
        text = clause.text
        if slot == "age" and subject.kind == "we" and not _SHARED_AGE.search(clause.predicate):
            continue  # "We are age 11" counts or means others
        if slot == "party" and re.search(r"\bboth\b", clause.predicate):
            continue  # "we are both 41"
        if not slot or not _is_real(slot, read):
            continue
        value = _value(relation, read, match)
        if slot == "companion" or (slot == "brings" and _SHARED["folk"].search(value) and not read.negated):
            slot, value = _companion(value)
        elif slot == "name":
            value = _NAMES.sub("", value)
            text = clause.text.partition(f"{value},")[0] + value if f"{value}," in clause.text else text
        elif slot in _PLACES and value in text:
            text = text.partition(value)[0] + value  # "we're on plot 52 and ever so pleased"
        elif slot == "party" and _NUMBER.fullmatch(value):
            text = f"We are {value} people"  # "We are five" could be an age
        if slot == "age" and read.verb == "turn":  # "turned 80 yesterday" is right on one day
            text = f"{subject.phrase} {be(subject)} {value}"
        if slot == "age" and not subject.plural and "," in value:  # "I'm 17, 18 in March"
            text, value = text.replace(value, value.partition(",")[0], 1), value.partition(",")[0]
        if slot == "age" and _UNFINISHED_AGE.fullmatch(value) and text.endswith(value):
            text += " old"
        if slot and is_plausible(slot, value):
            yield fact(subject, slot + ("!" if ended else ""), value, text, said)
            if not relation.also:
                return
    yield from _habit(clause, read, said)


def _habit(clause: SubjectClause, read: Predicate, said: str) -> Iterator[Fact]:
    """What somebody does as a rule: "I usually watch documentaries", "she goes swimming every Friday"."""
    is_now = read.passing or read.planned or read.past or read.wished or read.ability or read.ended
    if is_now or read.verb not in _HABITUAL or not read.words or not _OFTEN.search(clause.predicate):
        return
    value = trimmed(f"{read.verb} {read.words}")
    if not _TO_OTHERS.search(read.words) and is_plausible("habit", value):
        yield fact(clause.subject, "habit", value, clause.text, said)


def fact(subject: Subject, relation: str, value: str, text: str, said: str) -> Fact:
    """A fact about a subject; its slot names the subject, unless that is the user."""
    slot = relation if subject.key == USER else f"{subject.key}'s {relation}"
    role = "" if subject.key == USER else subject.role
    return Fact(sentence(text), slot, value, said, subject.key, value_type(relation), role)


def is_plausible(relation: str, value: str) -> bool:  # noqa: PLR0911 - one return a kind of value
    """Whether a value can be one of a relation: "sorry" is no name, "a question" is no possession."""
    base = relation.rstrip("!")
    tokens = value.casefold().split()
    if not tokens:
        return base == "hobby"
    if _AROUND["instruction"].search(value) or tokens[0] in ("your", "ur"):
        return False
    if base == "name":
        not_names = words("not_names") | words("passing")
        if value.islower() and (tokens[0].endswith(("ing", "ed")) or is_occupation(tokens[0])):
            return False
        return len(tokens) <= _LONGEST_NAME and tokens[0] not in not_names and VERBS.get(tokens[0]) is None
    if base == "has" and not (len(tokens) <= _LONGEST_OWNED and _is_lasting_thing(tokens)):
        return False
    if base in ("has", "brings"):
        if len(tokens) > _LONGEST_THING or value.startswith("the "):
            return False
        return not words("not_things").intersection((*tokens[:2], tokens[-1])) and not _PRONOUN.match(value)
    if base == "can":
        return not _POINTING.search(value) and "my " not in value
    if base in ("about", "status", "job"):
        lasts = tokens[0] not in words("passing") and tokens[-1] not in words("not_things")
        return lasts or value == "out of work"
    return not _PRONOUN.match(value) and not _ASKED.search(value)


def _is_lasting_thing(tokens: Sequence[str]) -> bool:
    """Whether words name something that one owns for longer than a day: a car, and no two classes."""
    nouns = words("things") | words("possessions") | words("pets")
    return any(token in nouns or token.removesuffix("s") in nouns for token in tokens)


def sentence(text: str) -> str:
    """A clause as a sentence of its own, which says no "now": when it was said is kept beside it."""
    text = with_articles(_NOW.sub("", text.strip(" ,;:-–—")))
    if "(" in text and ")" not in text:
        text = text.partition("(")[0].rstrip()
    return text[:1].upper() + text[1:].rstrip(" .!,") + "."


def trimmed(value: str) -> str:
    """A value without what trails after it: "Porto last year" is "Porto"."""
    value = _SPLIT_VALUE.sub("", _TAIL.sub("", value))
    for _ in range(4):
        shorter = _AROUND["afterthought"].sub("", value).rstrip(" ,;")
        if shorter == value:
            break
        value = shorter
    return value.strip(" '\"“”,.!")


def _is_meant(relation: Relation, subject: Subject) -> bool:
    kind, who = subject.kind, relation.who
    if not who:
        return kind != "thing" or relation.slot in ("weight",)
    if who == "we":
        return kind == "we"
    if who == "user":
        return kind in ("user", "we")
    if who == "person":
        return kind in ("user", "person", "pet") or (kind == "we" and relation.slot == "age")
    if who == "other":
        return kind in ("person", "pet")
    return kind == "thing"


def _is_real(slot: str, read: Predicate) -> bool:
    """Whether what is going on, planned or wanted is a fact of a slot: "I want to learn Thai" is none yet."""
    if value_type(slot) in ("taste", "diet") and (read.passing or read.planned):
        return False
    if slot == "age" and (read.planned or (read.verb == "turn" and not read.past)):
        return False
    if read.planned and slot in _NOT_PLANNED:
        return False
    return not read.wished or slot in ("arrival", "departure", "stay", "companion", "transport", "brings", "name")


def _slot(relation: Relation, read: Predicate) -> tuple[str, bool]:  # noqa: PLR0911 - one return a way to negate
    """The slot of a fact and whether it ends one; no slot where nothing is learned."""
    if relation.slot.endswith("!"):
        ends = read.ended if relation.negated == "ended" else not (read.negated or read.planned)
        return (relation.slot.rstrip("!") if ends else ""), True
    if relation.slot == "home" and read.verb in ("move", "relocate") and not read.past and not read.negated:
        return "plan", False  # who is moving still lives where they do
    if relation.slot == "marital status" and read.verb == "get" and not read.past:
        return "plan", False
    if not read.negated:
        learnt = relation.slot not in ("avoids",) or read.verb == "avoid"
        return (relation.slot if learnt and not (read.ability and relation.slot in ("hobby", "likes")) else ""), False
    if relation.negated == "ended":
        return (relation.slot if read.ended else ""), True
    if relation.negated == "ends":
        return relation.slot, True
    if relation.negated == "avoids" or relation.value == "yes":
        able = read.verb != "have" or read.ability  # "I can't have nuts" is about food, "I don't have nuts" is not
        return (relation.negated if able else ""), False
    if relation.negated == "can":
        return ("can", False) if read.ability else ("", False)
    if read.ended:
        return relation.negated and (relation.slot or relation.negated), True
    if relation.negated.endswith("!"):
        return relation.negated.rstrip("!"), True
    return relation.negated, False


def _value(relation: Relation, read: Predicate, match: re.Match[str]) -> str:
    value = trimmed(match["x"] or "")
    if relation.negated == "can" and read.negated:
        return f"not {read.verb} {value}".strip()
    if read.negated and not read.ended and relation.slot == relation.negated and not relation.value:
        return f"no {_ARTICLE.sub('', value)}"
    if relation.value:
        answer = {"yes": "no" if read.negated else "yes"}.get(relation.value, relation.value)
        return answer.format(
            x=value, v={"break": "broken", "sprain": "sprained", "injure": "injured"}.get(read.verb, read.verb)
        )
    return value


def _companion(value: str) -> tuple[str, str]:
    """Who comes along; what comes along is brought."""
    if value.casefold() in ("alone", "on my own", "by myself", "solo") or value.startswith("without "):
        return "companion", value
    if _MANNERED.fullmatch(value):
        return "", value
    named = re.fullmatch(r"(?:[A-ZÀ-Þ][\w'’-]++(?:,| and)? ?)+", value)
    return ("companion" if named or _SHARED["folk"].search(value) else "brings"), value


def _tells_apart(matter: str, value: str) -> bool:
    """Whether "my ... is ..." says something lasting: a number or a name, or a matter that papers have."""
    return matter.rpartition(" ")[2] in _PAPERS or bool(re.search(r"\d|(?<!^)\b[A-ZÀ-Þ]|^[A-ZÀ-Þ]", value))


def _matter(clause: SubjectClause, read: Predicate, said: str) -> Iterator[Fact]:
    """What "my plot is number 29" says: the noun is the slot; "my sister's name is Ida" is about the sister."""
    matter = clause.subject.role
    subject = Subject(USER, "I")
    owner, possessive, thing = matter.rpartition("'s ")
    if possessive:
        matter, subject = thing.removesuffix("s") if thing == "names" else thing, Subject(owner, f"My {owner}", owner)
    is_favourite = re.match(r"favou?rite ", matter) is not None
    if (
        (matter.split(" ")[-1] in words("not_matters") and not is_favourite)
        or read.verb not in _GENERIC
        or read.negated
        or read.planned
    ):
        return
    value = re.sub(
        r"^(?:called|named|now|in(?= [A-Z])|at(?= \d)|on(?= (?:the )?\d|(?= [A-Z]))|about) ", "", trimmed(read.words)
    )
    if read.verb == "expire":
        value = "expired" if read.past else ""
    tokens = value.casefold().split()
    if not tokens or (words("passing").intersection((tokens[0], tokens[-1])) and not _BAD_PART.match(value)):
        return
    if matter.split(" ")[-1] in _BODY:
        if _BAD_PART.match(value):
            yield fact(subject, "condition", f"{matter} {clause.predicate}", clause.text, said)
        return
    relation = _MATTERS.get(matter, matter)
    if relation == matter and not re.match(r"favou?rite\b", matter) and not _tells_apart(matter, value):
        return
    if re.match(r"favou?rite ", relation):
        relation = "favourite " + relation.split(" ", 1)[1]
    doing = tokens[0].endswith("ing") and tokens[0] in VERBS and relation == matter
    if doing or _ASKED.search(value) or value.lower().startswith(("that ", "to ")):
        return
    if relation == "name":
        value = _NAMES.sub("", value)
        if tokens[0] in words("not_names"):
            return
    yield fact(subject, relation, value, clause.text, said)
