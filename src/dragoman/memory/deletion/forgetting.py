"""Find the facts that a deletion request means, and other texts that repeat them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from dragoman.core.protocols import Encoder, Store
from dragoman.core.values import Fact, Passage, Scope
from dragoman.memory.facts import facts
from dragoman.memory.patterns import words
from dragoman.memory.people import people_of
from dragoman.memory.reconcile import fact_of
from dragoman.memory.roles import canonical
from dragoman.memory.subjects import USER
from dragoman.text import lazy_re as re

Analyse: TypeAlias = Callable[[str], tuple[str, ...]]
_ENOUGH = 0.45
_SHARED = 0.6
"""From which share of a deleted fact's words on a sentence is taken to tell it."""
_NEARLY = 0.1
_SHORT = 3
_LONG = 5
"""Characters of a name that is looked for within longer words too, as in a trace."""
_WORD = re.compile(r"\w+")
_NAME = re.compile(
    r"(?:(?<=[a-z0-9,;] )|(?<=\bDr\. )|(?<=\bMr\. )|(?<=\bMs\. )|(?<=\bMrs\. )|(?<=\bProf\. ))[A-Z]\w{2,}"
)
_CALENDAR = frozenset(
    "monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays "
    "sundays january february march april may june july august september october november december english".split()
)
_FIRST_PERSON = re.compile(r"\b(?:i|my|mine|me|our|we)\b|我", re.IGNORECASE)
_OTHERS = frozenset(map(canonical, words("roles") | words("plural_roles") | words("pets")))
_OTHERS_ZH = words("roles_zh") | words("kin_zh") | words("pets_zh")
_ARTICLE = re.compile(r"^(?:an?|the|my|our|some|two|three)\s+", re.IGNORECASE)


def fitting(known: Sequence[Passage], what: str, encoder: Encoder, analyse: Analyse) -> list[Passage]:
    """Return the facts that a request means: by id, by exact words, else by words and meaning together.

    A request that states a fact ("that I live in Bern") means only that fact; one about the user ("my allergy") means
    no fact about somebody else.
    """
    wanted = what.strip()
    exact = [passage for passage in known if wanted == passage.id or _plain(wanted) == _plain(passage.text)]
    if not exact and _is_of_the_user_alone(wanted, known):
        known = [passage for passage in known if not _is_of_somebody_else(fact_of(passage))]
    if exact or not known:
        return exact
    stated = [set(analyse(fact.value)) for fact in facts(wanted)]
    held_words = [
        set(analyse(_told(passage))) | set(analyse(passage.meta.get("slot", ""))) | set(analyse(_value(passage)))
        for passage in known
    ]
    tokens = set(analyse(wanted))
    vectors = encoder.encode([wanted, *(_told(passage) for passage in known)])
    scored = []
    for passage, held, cosine in zip(known, held_words, vectors[1:] @ vectors[0], strict=True):
        share = len(tokens & held) / len(tokens) if tokens else 0.0
        scored.append((0.5 * share + 0.5 * float(cosine), passage, held))
    best = max(score for score, _, _ in scored)
    return [
        passage
        for score, passage, held in scored
        if score >= max(_ENOUGH, best - _NEARLY) and (not stated or any(value <= held for value in stated))
    ]


def _is_of_the_user_alone(wanted: str, known: Sequence[Passage]) -> bool:
    """Whether a request is about the user and none of the user's people and animals."""
    if not _FIRST_PERSON.search(wanted):
        return False
    said = {canonical(word) for word in _WORD.findall(wanted.lower())}
    if said & _OTHERS or any(role in wanted for role in _OTHERS_ZH):
        return False
    names = {word for name in people_of(map(fact_of, known)) for word in _WORD.findall(name.lower())}
    return not said & names and not any(name in wanted for name in names if not name.isascii())


def _is_of_somebody_else(fact: Fact) -> bool:
    """Whether a fact is about one of the user's people or animals."""
    if fact.subject == USER:
        return False
    named = {canonical(word) for name in (fact.subject, fact.role) for word in _WORD.findall(name.lower())}
    return bool(named & (_OTHERS | _OTHERS_ZH)) or fact.subject[:1].isupper()


def telling(
    store: Store, scope: Scope, gone: Sequence[Passage], analyse: Analyse, *, kept: Sequence[Passage] = ()
) -> list[str]:
    """Return texts to search for in a user's dialogues and traces: the fact, its sentence, its value and repetitions.

    A proper name in a fact is searched for by itself, unless a fact in `kept` has it too.
    """
    names = {name for passage in gone for name in proper_names(passage)}
    names -= {word.casefold() for passage in kept for word in _WORD.findall(f"{passage.text} {_value(passage)}")}
    needles = {name for name in names if len(name) >= _LONG}
    values = []
    turns = list(turn_texts(store, scope))
    needles.update(text for text in turns if not names.isdisjoint(map(str.casefold, _WORD.findall(text))))
    for passage in gone:
        needles.update((passage.text, passage.text.rstrip(".。"), passage.meta.get("said", "")))
        value = _ARTICLE.sub("", _value(passage))
        if len(value) >= _SHORT or not value.isascii():
            needles.add(value)
        values.append(set(analyse(value)))
    needles.update(text for text in turns if len(text) >= _SHORT and _tells(text, values, analyse))
    return sorted(needle for needle in needles if needle.strip())


def proper_names(passage: Passage) -> set[str]:
    """The proper names in a fact, in lower case: capitalised words within its sentences, without days and months."""
    texts = (passage.text, _value(passage), passage.meta.get("said", ""))
    words = {word.casefold() for text in texts for word in _NAME.findall(text)}
    return words - _CALENDAR


def _tells(text: str, values: Iterable[set[str]], analyse: Analyse) -> bool:
    """Whether a turn contains all words of a value, in any form and order."""
    tokens = set(analyse(text))
    return any(value and value <= tokens for value in values)


def turn_texts(store: Store, scope: Scope) -> Iterator[str]:
    """The texts of all turns of a user's dialogues."""
    for dialogue in store.dialogues(scope):
        for turn in store.dialogue(scope, dialogue):
            yield turn.text


def sharing_sentence(rows: Sequence[Passage], gone: Sequence[Passage], analyse: Analyse) -> list[Passage]:
    """Return rows whose source sentence also stated a deleted fact, with that sentence replaced by their own text."""
    told = [set(analyse(passage.text)) for passage in gone]
    sentences = {passage.meta.get("said", "") for passage in gone}
    changed = []
    for row in rows:
        said = row.meta.get("said", "")
        words = set(analyse(said)) if said and said != row.text else set()
        if words and (said in sentences or any(len(words & own) >= _SHARED * len(own) for own in told if own)):
            changed.append(replace(row, meta={**row.meta, "said": row.text}))
    return changed


def _told(passage: Passage) -> str:
    """Return a fact with the words for its slot, without its source sentence, which may state other facts too."""
    return f"{passage.title}\n{passage.text}" if passage.title else passage.text


def _value(passage: Passage) -> str:
    return passage.meta.get("value", "")


def _plain(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())
