"""Facts from earlier turns of this dialogue that memory did not keep.

Memory stores what will still matter next year, and leaves out the rest. A question of the same dialogue may
rest on any sentence before it: "Son Sam, 9." - "May he use the big slide?".
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from dragoman.core.values import Context, Evidence, Passage, SourceName
from dragoman.decision.numerals import normalise
from dragoman.text import lazy_re as re
from dragoman.text.ask_back import ACKNOWLEDGES
from dragoman.text.form import form
from dragoman.text.inferences import without_conclusions
from dragoman.text.language import language
from dragoman.text.quotations import own_words
from dragoman.text.reference import content_words, zh_content
from dragoman.text.sentences import sentences
from dragoman.text.spelling import spelt

_MOST = 8
"""How many sentences count: the newest."""
_LONGEST = 240
_MOSTLY_KNOWN = 0.35
"""Up to which share of new words a sentence says nothing that memory does not hold."""
_WISH = re.compile(
    r"(?:i|we)(?:['’]d| would| should) (?:like|love|prefer|be)\b|(?:i|we) (?:want|need|wish)\b|我?们?想", re.IGNORECASE
)
"""What somebody wants belongs to the question, not to who they are."""
_PRONOUN = re.compile(r"(?:hes|shes|he|she|it|they)\b", re.IGNORECASE)
"""Of whom such a sentence speaks only the sentences before it say, and memory has read those."""
_OWN = re.compile(r"\b(?:my|me|our|us)\b", re.IGNORECASE)
_SUPPOSED = re.compile(r"(?:and |but |or |so )?(?:if|unless|when|whenever|suppose|in case|as long as)\b", re.IGNORECASE)
"""Tells nothing: "If I give blood that morning"."""
_LEAD = re.compile(
    r"^(?>(?:(?:by the way|just so you know|oh|so|well|hi|hello|hey|hiya|and|also|ok|okay|actually|yes|no|wait"
    r"|omg|sorry|hang on|correction)\b[,.:!]?+ )+)",
    re.IGNORECASE,
)
_TAIL = re.compile(r"(?<=\w),? (?:actually|though|tho|lol|btw|by the way|mate|love|haha)(?=[.!]?$)", re.IGNORECASE)
_AFTER_MEMORY = 1_000_000
"""The position of the first such sentence: what was just said is newer than what memory holds."""
_CLAUSE = re.compile(r"[,;] (?=(?:and |but )?\w)|(?<=\w) and (?=(?:I|my|we|our|he|she|they|it|wants?|is|has|will)\b)")
_ADVERB = re.compile("今年|现在|目前|其实|已经|刚刚|[是有了才刚都，,。；;！!\\s]")
_LEAST_SHAPE = 4
TOLD = "told"
"""The `meta` key of a passage that is a sentence of this dialogue and not in any store."""


def told_facts(context: Context, facts: Sequence[Evidence], *, source: SourceName) -> list[Evidence]:
    """Return the user's statements before the last turn that add something to `facts`, which memory has stored."""
    held = {word for fact in facts for word in _words(fact.text)}
    newer = {_shape(fact.text): _numbers(fact.text) for fact in facts if _numbers(fact.text)}
    latest: dict[str, Evidence] = {}
    for turn, reply in zip(context.turns, context.turns[1:], strict=False):
        if turn.speaker != "user":
            continue
        if form(turn.text).act == "forget":
            latest.clear()  # the deleted fact must not come back from the dialogue
            continue
        # Acknowledged facts were learned; if memory no longer has them, they were corrected.
        learned = reply.text.startswith(ACKNOWLEDGES)
        held_words = held | (_words(reply.text) if learned else set())
        said = without_conclusions(spelt(own_words(turn.text)))
        for clause in _clauses(said, whole=not learned):
            statement = _TAIL.sub("", _LEAD.sub("", clause))
            sentence = _current(statement, newer) if newer and language(statement) == "zh" else statement
            words = _words(sentence)
            new = len(words - held_words) / len(words) if words else 0.0
            if new <= _MOSTLY_KNOWN or len(sentence) > _LONGEST or form(sentence).act != "statement":
                continue
            if _WISH.match(sentence) or _SUPPOSED.match(sentence):
                continue
            if _PRONOUN.match(sentence) and not _OWN.search(sentence):
                continue
            name = hashlib.sha256(f"{context.dialogue}\0{sentence}".encode()).hexdigest()[:16]
            passage = Passage(f"told:{name}", source, sentence, position=_AFTER_MEMORY + len(latest), meta={TOLD: "1"})
            latest[sentence] = Evidence(passage, 0.0)
    return list(latest.values())[-_MOST:]


def _clauses(text: str, *, whole: bool) -> list[str]:
    """Split a turn into sentences, or into clauses if memory has learned some of them."""
    units = list(sentences(text))
    return (
        units if whole else [part.strip(" ,.") for unit in units for part in _CLAUSE.split(unit) if part.strip(" ,.")]
    )


def _current(sentence: str, newer: Mapping[str, tuple[str, ...]]) -> str:
    """Drop clauses of a Chinese sentence whose number memory has corrected: "我女儿15岁" after "是16岁"."""
    clauses = re.split("(?<=[，,；;])", sentence)
    kept = [clause for clause in clauses if not _is_outdated(clause, newer)]
    return sentence if len(kept) == len(clauses) else "".join(kept).rstrip("，,；;")


def _is_outdated(clause: str, newer: Mapping[str, tuple[str, ...]]) -> bool:
    numbers, shape = _numbers(clause), _shape(clause)
    if not numbers or len(shape) < _LEAST_SHAPE:
        return False
    return any(shape_key.endswith(shape) and values != numbers for shape_key, values in newer.items())


def _shape(clause: str) -> str:
    """Return a clause without its numbers and adverbs."""
    return _ADVERB.sub("", re.sub(r"\d++(?:\.\d++)?", "#", normalise(clause)))


def _numbers(clause: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\d++(?:\.\d++)?", normalise(clause)))


def _words(text: str) -> set[str]:
    words = zh_content(text) if language(text) == "zh" else content_words(text)
    return {word.casefold().strip(".,:;!?") for word in words}
