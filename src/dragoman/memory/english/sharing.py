"""What a piece of an English sentence shares with the clause before it: its subject, its verb, or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.memory.english.chunks import RELATIVE, is_age, is_complement, verb_of
from dragoman.memory.patterns import VERBS
from dragoman.memory.subjects import USER, WE, Subject, be, text_of

_FIRST_PERSON = frozenset(("am", "have", "do", "are"))
COPULAS = frozenset(("is", "are", "has", "have", "was", "were", "will", "can", "does"))
INVERTED = frozenset("i we you he she they it my our your the there this that these those any".split())
_DETERMINERS = frozenset("my our your the this that these those any".split())
THEIRS = ("his", "her", "their")
_MOST_ASIDES = 3
_BEFORE_PLAIN = frozenset("can could will would may might must should shall do does did to".split())


@dataclass(slots=True)
class OpenClause:
    """A clause that is being read; `stated` is false where it states nothing, `aside` true of a relative clause."""

    subject: Subject | None
    tokens: list[str]
    stated: bool = True
    aside: bool = False
    time: str = ""


def is_interrupted_subject(tokens: Sequence[str], following: Sequence[tuple[str, list[str]]]) -> bool:
    """Whether "my ..." is the subject of a verb that comes after an aside: "my mother, who is 71, walks"."""
    if not tokens or tokens[0].lower() not in ("my", "our", *THEIRS):
        return False
    for joint, piece in following[:_MOST_ASIDES]:
        form = piece[0].lower()
        is_finite = form in COPULAS or (form.endswith("s") and VERBS.get(form, form) != form)
        if joint == "," and is_finite and piece[1:2] and piece[1].lower() not in INVERTED - _DETERMINERS:
            return True
        if joint not in RELATIVE and (joint != "," or verb_of(piece)):
            return False
    return False


def completes(current: OpenClause, tokens: Sequence[str]) -> bool:
    """Whether a piece shares the "be" of the clause before; "we are 2 adults and 3 kids (4, 7)" is no number of us."""
    is_ours = current.subject is not WE or not is_age(tokens)
    return verb_of(current.tokens) == "be" and is_complement(tokens) and is_ours


def with_be(current: OpenClause | None, tokens: list[str]) -> list[str]:
    """A piece with the "be" that it shares: "I am arriving on Monday, leaving on Friday", "I'm 68, retired"."""
    if current is None or not current.tokens:
        return tokens
    form = tokens[0].lower()
    if form.endswith("ing") and VERBS.get(form) != form and current.tokens[0] in ("am", "is", "are"):
        return [current.tokens[0], *tokens]
    if len(tokens) == 1 and tokens[0].lower().endswith("ed") and current.subject and verb_of(current.tokens) == "be":
        return [be(current.subject), *tokens]
    return tokens


def sharing_subject(tokens: Sequence[str], main: Subject | None, current: OpenClause | None) -> Subject | None:
    """The subject that a verb without one shares, by agreement: "has asthma" cannot be said of "I"."""
    form = tokens[0].lower()
    nearest = current.subject if current is not None else None
    if form in ("is", "has", "does", "was") or (form.endswith("s") and form not in VERBS.values()):
        return next((one for one in (nearest, main) if one is not None and one.key != USER), None)
    if main is not None and main.key == USER and current is not None and current.aside and _is_plain_form(form):
        alone = nearest is not None and nearest.key != USER and not nearest.plural
        if alone and not any(token.lower() in _BEFORE_PLAIN for token in current.tokens):
            return main  # "I live with my son, who is five, and work as a nurse"
    return main if form in _FIRST_PERSON and main is not None else nearest or main


def _is_plain_form(form: str) -> bool:
    """Whether a verb stands as it does after "I", and not as after "she"."""
    return VERBS.get(form) == form


def is_unreal(tokens: Sequence[str]) -> bool:
    """Whether a clause says what would or should be: what shares its subject is as unreal."""
    return any(token.lower() in ("would", "could", "should", "might") for token in tokens[:3])


def ends_with(tokens: Sequence[str], subject: Subject) -> bool:
    bare = text_of([token for token in tokens if token.lower() not in ("called", "named")])
    return bare.casefold().endswith(subject.phrase.casefold().removeprefix("my "))
