# ruff: noqa: E501  # a pattern is easier to check in one piece
"""Answer yes or no if a rule names a group that the user belongs to by a fact, and there is nothing to compare.

"People with asthma should look at it from the window" and "I have asthma": the fact shares the group's word with one
part of the rule, and the effect of that part (refuses, lets, waives, demands, reduces) answers what the question asks
for. English only; `applies` comes first, and a rule with numbers that no comparison read is left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeAlias

from dragoman.decision.questions import WITHOUT, stemmed
from dragoman.decision.questions import question as read_question
from dragoman.decision.values import Decision, Verdict
from dragoman.text import lazy_re as re
from dragoman.text.language import language

Effect: TypeAlias = Literal["forbid", "permit", "waive", "require", "reduce", "alone", "other way", "none"]

_PART = re.compile(
    r"; |\. |, (?:but|and|while|though|as (?:are|is|do)) | and (?=(?:is|are|may|must|can|cannot|need|should|has|have|pays?)\b)"
)
_EXCEPTION = re.compile(r"\b(?:except|unless|apart from|other than|excluding|but (?:not )?(?:in|into|on|for|at))\b")
_BOUND = re.compile(
    r"\b(?:under|over|below|above|less than|more than|at least|at most|up to|from|until|between|aged?)\b[ a-z]{0,16}\d"
    r"|(?<!\d)\d++ (?:to|and (?:over|under)|or (?:more|over|under|older|younger))\b"
)
_EFFECTS: tuple[tuple[Effect, re.Pattern[str]], ...] = (
    ("waive", re.compile(r"\bexempt|\bneed(?:s)? not\b|\b(?:do|does) not (?:need|have to|pay)|\bnot required\b|\bpays? nothing"
                         r"|\bno [a-z ]{2,24} (?:is|are) (?:needed|required|due)|\bwaived\b|\b(?:is|are) sufficient\b|\bfree of charge\b"
                         r"|\bfor free\b|\b(?:is|are|get in|travel|enter|ride|swim|go|sleep|stay|eat|park|charge) free\b")),
    ("alone", re.compile(r"\bonly (?:with|in the company)\b|\bmust be (?:accompanied|with)\b|\bnot [a-z ]{0,20}alone\b|\bnever alone\b")),
    ("forbid", re.compile(r"\b(?:may|must|can|should|shall|are|is|will|do|does)(?: not|n't)\b|\bcannot\b|\bcan't\b|\bnever\b|\bnot (?:allowed|admitted|permitted|suitable"
                          r"|possible|accepted|recommended)\b|\bforbidden\b|\bprohibited\b|\bbanned\b|\bunsuitable\b|\brefused?\b|\bexcluded\b|\bneither\b"
                          r"|\b(?:takes?|admits?|accepts?|carr(?:y|ies)|allows?|has|have|serves?) no\b|^(?:sorry, )?no [a-z]+|\bnobody\b|\bno one\b|\bclosed\b")),
    ("other way", re.compile(r"\bshould (?:look|use|take|go|stay|wait|come|see|choose|book|avoid)\b|\binstead\b|\bare better off\b|\bleave (?:them|it|him|her)\b")),
    ("reduce", re.compile(r"\bhalf\b|\b(?:less|off|reduced|reduction|discount|cheaper|quarter|third)\b|\bper cent\b|%")),
    ("require", re.compile(r"\bmust\b|\bhave to\b|\bhas to\b|\bneeds?\b|\brequired?\b|\bobliged\b|\bpays?\b")),
    ("permit", re.compile(r"\bmay\b|\bcan\b|\ballowed\b|\bwelcome\b|\bsuitable\b|\badmitted\b|\bpermitted\b|\bpossible\b|\bentitled\b|\bfine\b|\baccessible\b|\bget\b|\breceive\b|\bobtain\b")),
)  # fmt: skip
_GOES_FREE = re.compile(r"\b(?:travels?|enters?|rides?|swims?|goes?|gets? in|come in) free\b")
_DENIED = re.compile(r"\b(?:no|not|never|without|cannot|don't|doesn't|isn't|aren't|can't|won't)\b[^,.;]*")
_DUTY = re.compile(
    r"\bliable\b|\bdue\b|\bmust\b|\b(?:have|need|has|needs) to\b|\bneeds?\b|\brequired?\b|\bobliged\b|\bcompulsory\b|\bsubject to\b"
)
_REDUCTION = re.compile(r"\breduc|\bdiscount|\bless\b|\bcheaper\b|\boff\b|\bhalf\b|\bentitled\b|\bfree\b|\bconcession")
_ELECTRIC = re.compile(r"\be-(?=[a-z])")
"""People write "ebike" as well as "e-bike"."""
_ROOT = 6


_IRREGULAR = {
    "teeth": "tooth",
    "feet": "foot",
    "men": "man",
    "women": "woman",
    "children": "child",
    "mice": "mouse",
    "geese": "goose",
    "lives": "life",
    "knives": "knife",
}


def roots(stems: Iterable[str]) -> frozenset[str]:
    """Stems cut to what related words share: "epilept" and "epilepsi" are one."""
    plain = (_IRREGULAR.get(stem, stem) for stem in stems)
    return frozenset(stem[:_ROOT] if stem.isalpha() and stem.isascii() else stem for stem in plain)


GENERAL = frozenset(
    stem[:_ROOT]
    for stem in stemmed(
        "people person persons year years old day days week time times visitor visitors guest guests child children adult adults "
        "use uses need have like love want come go take bring travel visit stay live work name called new good small big "
        "month hour today tomorrow weekend friend family house home town city place thing things way"
    )
)
"""Roots that put nobody into a group."""
CALENDAR = roots(
    stemmed(
        "monday tuesday wednesday thursday friday saturday sunday january february march april june july august september "
        "october november december morning evening afternoon night summer winter spring autumn"
    )
)
"""Roots of days and seasons, which a fact and a sentence share by chance."""


_OF_A_GROUP = re.compile(
    r"(?:^|[;,.] )(?:(?:all|only|any|our|most|other|these|those|the|some|two|more|no) )?(?:(?P<kind>[a-z-]{4,20}+) )?"
    r"(?:people|guests|visitors|persons|patients|passengers|swimmers|customers|travellers|participants|those|anyone|anybody|users)"
    r"(?: (?:with|who (?:have|are|use|has|is|take)|on|using|suffering from) (?P<group>[a-z -]{3,40}?))?"
    r"(?=,| (?:must|may|can|should|are|is|need|get|pay|have|cannot|do|will)\b)",
    re.IGNORECASE,
)


def is_for_others(sentence: str, known: frozenset[str], analyse: Callable[[str], tuple[str, ...]]) -> bool:
    """Whether a rule is for a group ("people with a pacemaker") that the user is not known to belong to.

    `known` are the roots of the question and of the facts about the user.
    """
    groups = [f"{match['kind'] or ''} {match['group'] or ''}" for match in _OF_A_GROUP.finditer(sentence)]
    named = [roots(analyse(group)) - GENERAL for group in groups]
    return any(named) and all(not group & known for group in named if group)


def by_group(question: str, facts: Sequence[str], rule: str) -> Decision | None:
    """The decision of a rule by the newest of `facts` (oldest first) that names its group; None where none does."""
    if language(rule) == "zh" or language(question) == "zh":
        return None
    question, rule = _ELECTRIC.sub("e", question.lower()), _ELECTRIC.sub("e", rule.lower())
    asked = roots(stemmed(question))
    for fact in reversed(facts):
        own = roots(stemmed(_affirmed(fact.lower())))
        stems = own - asked - GENERAL
        for part, group in _parts(rule):
            named = roots(stemmed(_phrase(group)))
            shared = stems & roots(stemmed(part if named <= asked else group or part))
            if not shared or _BOUND.search(part) or (group and not named <= own and not named <= asked):
                continue
            verdict = _verdict(question, part, excepted=bool(group))
            if verdict is not None:
                return Decision(
                    verdict, fact=fact, clause=part, reason=f"the rule names {min(shared)}", confidence=0.6, by="words"
                )
    return None


def _parts(rule: str) -> list[tuple[str, str]]:
    """The parts of a rule; one that has an exception also with the exception that takes back what it says."""
    parts: list[tuple[str, str]] = []
    for part in split(rule):
        exception = _EXCEPTION.search(part)
        if exception:
            rest = part[exception.end() :]
            also = [item for item in re.split(r",? and |,? or |, ", rest)[1:] if item.strip()]
            parts += [(part[: exception.start()], item) for item in (rest, *also, "")]
        else:
            parts.append((part, ""))
    return parts


def split(rule: str) -> list[str]:
    """The parts of a rule that say something by themselves: "children under ten are not admitted"."""
    return [part for part in _PART.split(rule) if part and part.strip()]


def _phrase(group: str) -> str:
    """The noun phrase at the beginning of an exception, all of which must be true of the user: "guide dogs"."""
    noun = re.sub(r"^(?:(?:at|in|into|on|for|with|during|to|the|an?)\b\s*)+", "", group.strip())
    return re.split(r",|\b(?:who|which|that|because|if|when|and|or|with|on|in|at|of|for)\b", noun, maxsplit=1)[0]


def _affirmed(fact: str) -> str:
    """Drop the negated part of a fact: "no friends here" puts nobody into the group of friends."""
    return _DENIED.sub(" ", fact)


def effect(part: str) -> Effect:
    """Return the effect of a part of a rule on the group that it names."""
    return next((name for name, pattern in _EFFECTS if pattern.search(part)), "none")


def _verdict(question: str, part: str, *, excepted: bool) -> Verdict | None:
    does = effect(part)
    if excepted:
        does = {"forbid": "permit", "permit": "forbid", "require": "waive", "waive": "require", "reduce": "forbid"}.get(
            does, "none"
        )  # type: ignore[assignment]
    target = read_question(question).target
    if target in ("permit", "forbid") and _DUTY.search(question):
        target = "require"
    if target in ("require", "pay"):
        return {"waive": "no", "require": "yes", "reduce": "yes" if target == "pay" else None}.get(does)
    if target in ("free", "discount") or (target == "permit" and _REDUCTION.search(question)):
        return {"waive": "yes", "reduce": "yes", "forbid": "no", "permit": "yes"}.get(does)  # type: ignore[return-value]
    if target not in ("permit", "forbid"):
        return None
    if does == "alone":
        return "no" if WITHOUT.search(question) else None
    allowed = {"forbid": False, "other way": False, "permit": True}.get(does)
    if does == "waive" and _GOES_FREE.search(part):
        allowed = True  # to travel free is to be allowed to travel
    if allowed is None:
        return None
    return "yes" if allowed == (target == "permit") else "no"
