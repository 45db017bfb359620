# ruff: noqa: E501  # a pattern is easier to check in one piece
"""Aim of a question (permission, a duty, a price), and whether a rule is about the same thing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Literal, TypeAlias

from dragoman.core.caches import text_cache
from dragoman.decision.categories import categories
from dragoman.decision.numerals import normalise
from dragoman.decision.subjects import RELATION, People
from dragoman.decision.values import LONGEST_FACT
from dragoman.text import lazy_re as re
from dragoman.text.analyse import Analyser
from dragoman.text.language import language

Target: TypeAlias = Literal["permit", "forbid", "require", "pay", "free", "discount", "price", "other"]

_PRICE = re.compile(
    r"\bhow much\b|\bwhat (?:does|do|is|will|would)\b.*\b(?:costs?|pay|price|fee|charge)|\bwhat price\b|多少钱|多少元|票价|几块"
)
_OTHER = re.compile(
    r"^(?:and |so |but )?(?:where|why|who|whose|when|how(?! much)|what)\b|\bwhat time\b|几点|哪里|哪儿|为什么|谁|什么时候|怎么|几岁|多大"
)
_PAY = re.compile(
    r"\b(?:have to|need to|must|do|does|will|should)\b.*\b(?:pay|buy a ticket)\b|\bneeds? (?:a|to buy a) ticket|买票|购票|要付|收费|付.{0,4}[费钱].{0,2}吗"
)
_FREE = re.compile(r"\bfree\b|\bfor nothing\b|\bwithout paying\b|免费|免票")
_DISCOUNT = re.compile(r"\bdiscount|\breduc|\bconcession|\bhalf[- ]price|\bcheaper|优惠|半价|打折|折扣")
_FORBID = re.compile(
    r"\bforbidden\b|\bprohibited\b|\bbanned\b|\bnot (?:allowed|permitted)\b|\billegal\b|\bagainst the rules\b|\b(?:a problem|an issue|a no-go|off[- ]limits|ruled out|excluded)\b"
    r"|\bturn(?:ed)? (?:(?:me|us|him|her|them) )?away\b|\b(?:am|is|are) [^?]{0,40}\btoo (?:old|young|tall|short|big|small|heavy|late|early|large|long)\b"
    r"|\btoo (?:many|much)\b|\b(?:a |any )(?:risk|danger)\b|\bdangerous\b|\bunsafe\b|\brules? (?:me|us|him|her|them|that|it) out\b|禁止|不可以.*吗|不能.*吗|不准"
)
_REQUIRE = re.compile(
    r"\b(?:have|has|had|need|needs) to\b|^(?:must|need)\b|\b(?:do|does|will|would) .*\bneed\b|\brequired?\b|\bobligatory\b|\bmandatory\b|\bcompulsory\b"
    r"|必须|需要|须|要不要|(?<!想)(?<!只)要.*吗"
)
WITHOUT = re.compile(
    r"\bwithout\b|\balone\b|\bby (?:him|her|it|my|them)sel(?:f|ves)\b|\bunaccompanied\b|\bon (?:his|her|its|their|my) own\b|独自|单独|一个人|1个人|自己"
)
_WORD = re.compile(r"[a-z][a-z'-]*")
_CALENDAR = re.compile(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|maymonth|june|july|august|september|october"
    r"|november|december|today|tomorrow|weekends?|weekdays?|am|pm)\b"
)
_ZH_FILLER = re.compile(
    "可以|能不能|能|可否|有|吗|我们|我的|我|您|你|请问|是否|需要|必须|要|这个|那个|的|了|还|[，。？！]|\\d+"
)

_PLAIN = frozenset(
    "visitor guest peopl person everyon anyon welcom strict prohibit forbidden requir mandatori compulsori obligatori permit"
    " ban wear kept keep swimmer user passeng custom build area place throughout open close avail".split()
)
"""Stems that most rules have and that narrow nothing."""
_ROOT = 5  # the stem that "delivery" and "delivered" share under any stemmer


_NO_ACTIVITY = frozenset(
    "evening morning building nothing anything wedding ring swing travelling traveling taking living visiting staying "
    "getting coming going booking paying using arriving leaving cancelling changing parking eating finding".split()
)
"""Words in -ing that open a heading about everything ("Travelling with animals"), or name no activity."""


@dataclass(frozen=True, slots=True)
class Question:
    """Target of a question, and its words that a rule must contain."""

    target: Target
    text: str
    without: bool
    """Whether it asks about doing something alone or without what a rule may demand."""
    which: bool


@text_cache(maxsize=1024)
def question(text: str) -> Question:
    """Parse a question; an empty one asks whether the rule allows its own subject."""
    plain = normalise(text[:LONGEST_FACT]).strip(" ?？。.")
    return Question(
        _target(plain), plain, WITHOUT.search(plain) is not None, re.search(r"\bwhich\b|哪", plain) is not None
    )


def _target(text: str) -> Target:
    for target, pattern in _TARGETS:
        if pattern.search(text):
            return target
    return "permit"


_TARGETS: tuple[tuple[Target, re.Pattern[str]], ...] = (
    ("price", _PRICE),
    ("other", _OTHER),
    ("discount", _DISCOUNT),
    ("free", _FREE),
    ("pay", _PAY),
    ("forbid", _FORBID),
    ("require", _REQUIRE),
)


def coverage(asked: Question, rule: str, people: People) -> float:
    """The share of a question's telling words that a rule shares, by word, synonym or kind of thing; 1 where it has none."""
    if not asked.text:
        return 1.0
    text = normalise(rule)
    return _chinese(asked.text, text, people) if language(rule) == "zh" else _english(asked.text, text, people)


def _english(asked: str, rule: str, people: People) -> float:
    taxonomy = categories("en")
    rest = _CALENDAR.sub(" ", asked)
    words = [w for w in _WORD.findall(rest) if w not in people.names and w not in RELATION]
    weak = _weak()
    stems = stemmed(" ".join(words))
    strong = [stem for stem in dict.fromkeys(stems) if stem not in weak and stem.isalpha()]
    rule_stems = frozenset(stemmed(rule))
    if _clashes(rest, rule, rule_stems) or _other_activity(rule, frozenset(stems), strong):
        return 0.0
    asked_things = [taxonomy.thing_of(m) for m in taxonomy.thing_words.finditer(asked)]
    asked_things += [
        kind for name, kind in people.names.items() if kind and re.search(rf"\b{re.escape(name)}\b", asked)
    ]
    rule_things = [taxonomy.thing_of(m) for m in taxonomy.thing_words.finditer(rule)]
    things = {a for a in asked_things for r in rule_things if taxonomy.is_a(a, r) or taxonomy.is_a(r, a)}
    thing_stems = {stem for thing in things for stem in stemmed(thing.replace("-", " "))}
    if not strong:
        return 1.0
    groups = [group for group in _topics() if rule_stems & group]
    roots = frozenset(stem[:_ROOT] for stem in rule_stems if len(stem) >= _ROOT)
    shared = sum(
        1 for s in strong
        if s in rule_stems or s in thing_stems or s[:_ROOT] in roots or any(s in group for group in groups)
    )  # fmt: skip
    return max(shared / len(strong), 0.7 if things else 0.0)


def mentions(asked: Question, word: str) -> bool:
    """Whether a question has a word or a synonym of it."""
    stems, theirs = frozenset(stemmed(word)), frozenset(stemmed(asked.text))
    related = {stem for group in _topics() if group & stems for stem in group}
    return bool((stems | related) & theirs)


def shares_topic(asked: str, rule: str) -> bool:
    """Whether a question and a rule have words of one topic: "get anything back" and "we refund"."""
    theirs, own = frozenset(stemmed(asked.lower())), frozenset(stemmed(rule.lower()))
    return any(group & theirs - _weak() and group & own - _weak() for group in _topics())


def unshared(asked: Question, clause: str) -> float:
    """Return the share of a clause's content words that the question lacks, which may hide an unread condition."""
    if not asked.text or language(clause) == "zh":
        return 0.0
    stems = {stem for stem in stemmed(clause) if stem.isalpha() and stem not in _weak() and stem not in _PLAIN}
    theirs = frozenset(stemmed(asked.text))
    related = {stem for group in _topics() if group & theirs for stem in group}
    taxonomy = categories("en")
    rest = [
        s
        for s in stems
        if s not in theirs and s not in related and not any(s in words for words in taxonomy.things.values())
    ]
    return len(rest) / len(stems) if len(rest) > 1 else 0.0


def _other_activity(rule: str, asked: frozenset[str], strong: list[str]) -> bool:
    """Whether a rule opens with an activity (`fishing in the lake`) and the question names another one."""
    first = re.match(r"(?:the )?([a-z]+ing)\b(?!:)", rule)
    if not first or first[1] in _NO_ACTIVITY:
        return False
    activity = frozenset(stemmed(first[1]))
    related = {stem for group in _topics() if activity & group for stem in group}
    return not (activity | related) & asked and bool(strong)


def _clashes(asked: str, rule: str, rule_stems: frozenset[str]) -> bool:
    """Whether both name different kinds of one thing: the `pottery course` is not the `kite course`."""
    asked_stems = frozenset(stemmed(asked))
    heads = _kinds(rule)
    for head, modifiers in _kinds(asked).items():
        theirs = heads.get(head)
        if modifiers and theirs and not modifiers & rule_stems and not theirs & asked_stems:
            return True
    return False


def _kinds(text: str) -> dict[str, frozenset[str]]:
    weak = _weak()
    kinds: dict[str, frozenset[str]] = {}
    words = _WORD.findall(text)
    for modifier, head in pairwise(words):
        stems, head_stems = stemmed(modifier), stemmed(head)
        if head_stems and head_stems[0] not in weak:
            kind = frozenset(stem for stem in stems if stem not in weak and not modifier.endswith(("ly", "ing", "ed")))
            kinds[head_stems[0]] = kinds.get(head_stems[0], frozenset()) | kind
    return kinds


def _chinese(asked: str, rule: str, people: People) -> float:
    taxonomy = categories("zh")
    rest = asked
    for name in (*people.names, *RELATION):
        if not name.isascii():
            rest = rest.replace(name, " ")
    pieces = [piece for piece in _ZH_FILLER.sub(" ", rest).split() if piece not in taxonomy.weak]
    if not pieces:
        return 1.0
    pairs = [piece[i : i + 2] for piece in pieces for i in range(len(piece) - 1)]
    shared = sum(1 for pair in pairs if pair in rule)
    if shared:
        return max(0.6, shared / len(pairs))
    for group in taxonomy.topics:
        if any(word in asked for word in group) and any(word in rule for word in group):
            return 0.6
    asked_things = [match["word"] for match in taxonomy.thing_words.finditer(asked)]
    rule_things = [match["word"] for match in taxonomy.thing_words.finditer(rule)]
    return 0.7 if any(taxonomy.is_a(a, r) or taxonomy.is_a(r, a) for a in asked_things for r in rule_things) else 0.0


@text_cache(maxsize=4096)
def stemmed(text: str) -> tuple[str, ...]:
    """The stems of a text's words, without function words."""
    return analyser()(text)


@cache
def analyser() -> Analyser:
    """The analyser of questions and rules, which remembers the words it has seen."""
    return Analyser(language="en")


@cache
def _weak() -> frozenset[str]:
    return frozenset(stem for word in categories("en").weak for stem in stemmed(word))


@cache
def _topics() -> tuple[frozenset[str], ...]:
    return tuple(frozenset(stem for word in group for stem in stemmed(word)) for group in categories("en").topics)
