"""Training pairs of the critic, evidence with a reply, from turns with gold evidence and a gold reply.

Consistent pairs have the gold evidence of one source, joined as P.C and K.C join it, and each of several pieces that
agrees with the reply by itself, since the refiner asks for one piece at a time. Inconsistent pairs have evidence of
another dialogue (`random`, as in the papers), other evidence of the same persona, entity or candidates (`sibling`), or
an edit of a number, a name, a negation or an antonym on one side (`contradictions.py`).

Other evidence may support a reply by accident. These rules, over stemmed words without stop words, exclude it: it has
no word beyond the gold; a third of its words beyond the gold are in the reply; or it shares as much with the reply as
the gold does. Evidence of another dialogue is also excluded where it shares 15 % of its words (or of the reply's) with
the reply, unless the reply names the subject of its own evidence and the other evidence has another subject.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias, get_args

from dragoman.core.examples import Example
from dragoman.core.values import Passage, SourceName
from dragoman.critic.grounding import join_passages
from dragoman.text.analyse import analyse
from dragoman.train.contract import Corpus
from dragoman.train.critic.contradictions import EDITS, NamePools, Pair, contradicted, echoed
from dragoman.train.critic.edits import has_name, opposites

Negative: TypeAlias = Literal["random", "sibling", "number", "name", "negation", "opposite"]
NEGATIVES: tuple[Negative, ...] = get_args(Negative)
HARD: tuple[Negative, ...] = NEGATIVES[1:]

_BEYOND = 1 / 3
_NEAR, _ELSEWHERE = 0.2, 0.15
_TRIES = 12


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """One training pair: `kind` is `gold`, `echo` or the kind of inconsistency."""

    grounding: str
    reply: str
    consistent: bool
    kind: str
    source: SourceName
    turn: str

    @property
    def texts(self) -> tuple[str, str]:
        return self.grounding, self.reply


@dataclass(frozen=True, slots=True)
class GroundedReply:
    """Gold evidence of one source with its reply, and the other passages of the turn."""

    turn: str
    dialogue: str
    set: str
    passages: tuple[Passage, ...]
    reply: str
    gold: tuple[Passage, ...]
    """All gold evidence of the turn and source, which negatives must not repeat."""
    siblings: tuple[Passage, ...] = ()

    @property
    def source(self) -> SourceName:
        return self.passages[0].source

    @property
    def pair(self) -> Pair:
        passage = join_passages(self.passages)
        return Pair(passage.indexed, self.reply, passage.title, len(self.passages))


def groundings(corpus: Corpus, *, single: bool = True) -> list[GroundedReply]:
    """Replies with their evidence by source: joined, and, with `single`, each piece that agrees with the reply."""
    shelf = _Shelf(corpus.passages)
    rows: list[GroundedReply] = []
    for example in corpus.examples:
        if example.gold.evidence and example.gold.reply and example.gold.reply.strip():
            rows.extend(_of_turn(example, shelf, single=single))
    return rows


def labelled(
    replies: Sequence[GroundedReply],
    *,
    negatives: int,
    shares: Mapping[Negative, float],
    echo: float,
    seed: int,
) -> list[LabelledPair]:
    """Every positive, some with an echo, each followed by negatives of kinds drawn by the recipe's shares.

    A kind that does not apply to a pair (no number to edit) is not drawn again for it; `random` and `sibling` may be
    drawn repeatedly. Order and choice depend only on the seed and each turn's id.
    """
    maker = Maker(replies, seed=seed)
    rows: list[LabelledPair] = []
    for grounded in replies:
        dice = maker.dice(grounded, "kinds")
        rows.append(maker.positive(grounded))
        if dice.random() < echo and (same := maker.echo(grounded)) is not None:
            rows.append(same)
        rows += _draw(maker, grounded, negatives, shares, dice)
    return rows


def every_kind(replies: Sequence[GroundedReply], *, seed: int) -> list[LabelledPair]:
    """Every positive with its echo and one negative of each kind that applies: the pairs that dev is measured on."""
    maker = Maker(replies, seed=seed)
    rows: list[LabelledPair] = []
    for grounded in replies:
        pairs = [
            maker.positive(grounded),
            maker.echo(grounded),
            *(maker.negative(grounded, kind) for kind in NEGATIVES),
        ]
        rows += [row for row in pairs if row is not None]
    return rows


class Maker:
    """Makes the rows of pairs, each with its own random generator, so that pairs do not depend on each other."""

    def __init__(self, replies: Sequence[GroundedReply], *, seed: int) -> None:
        self._seed = seed
        self._names = NamePools.of(grounded.pair for grounded in replies)
        self._others: dict[tuple[str, SourceName], list[GroundedReply]] = {}
        for grounded in replies:
            self._others.setdefault((grounded.set, grounded.source), []).append(grounded)

    def dice(self, grounded: GroundedReply, what: str) -> random.Random:
        ids = "+".join(passage.id for passage in grounded.passages)
        return random.Random(f"{self._seed}/{grounded.turn}/{ids}/{what}")

    def positive(self, grounded: GroundedReply) -> LabelledPair:
        return _row(grounded, grounded.pair, "gold")

    def echo(self, grounded: GroundedReply) -> LabelledPair | None:
        """The pair with the same edit on both sides."""
        pair = echoed(grounded.pair, self._names, self.dice(grounded, "echo"))
        return None if pair is None else _row(grounded, pair, "echo")

    def negative(self, grounded: GroundedReply, kind: Negative, *, number: int = 0) -> LabelledPair | None:
        """A row of a kind, None where it does not apply; `number` distinguishes several of a kind."""
        dice = self.dice(grounded, f"{kind}/{number}")
        if kind == "random":
            return self._random(grounded, dice)
        if kind == "sibling":
            return _sibling(grounded, dice)
        pair = contradicted(grounded.pair, kind, self._names, dice)
        return None if pair is None else _row(grounded, pair, kind)

    def _random(self, grounded: GroundedReply, dice: random.Random) -> LabelledPair | None:
        others = self._others[grounded.set, grounded.source]
        for _ in range(_TRIES):
            other = dice.choice(others)
            if other.dialogue != grounded.dialogue and not supports(other.passages, grounded, elsewhere=True):
                return _row(grounded, Pair(join_passages(other.passages).indexed, grounded.reply), "random")
        return None


def supports(passages: Sequence[Passage], grounded: GroundedReply, *, elsewhere: bool = False) -> bool:
    """Whether other evidence may support a reply too, by the rules of the module."""
    other = join_passages(passages)
    words, reply_words = _words(other.indexed), _words(grounded.reply)
    gold = frozenset[str]().union(*(_words(passage.indexed) for passage in grounded.gold))
    beyond = words - gold
    if not beyond or {passage.text for passage in passages} & {passage.text for passage in grounded.gold}:
        return True
    common = len(words & reply_words)
    if len(beyond & reply_words) >= _BEYOND * len(beyond) or (common and common >= len(gold & reply_words)):
        return True
    title = join_passages(grounded.gold).title
    if not elsewhere or (title and title != other.title and has_name(grounded.reply, title)):
        return False
    return common >= _ELSEWHERE * min(len(words), len(reply_words) or 1)


def agrees(passage: Passage, reply: str) -> bool:
    """Whether one of several pieces supports a reply by itself: it shares a fifth of its words (or of the reply's)
    beyond the title, and no word of either excludes a word of the other."""
    words, reply_words = _words(passage.text) - _words(passage.title), _words(reply) - _words(passage.title)
    if not words or not reply_words or len(words & reply_words) < _NEAR * min(len(words), len(reply_words)):
        return False
    return not any(has_name(reply, other) for entry in opposites(passage.text) for other in entry.others)


def _of_turn(example: Example, shelf: _Shelf, *, single: bool) -> Iterator[GroundedReply]:
    candidates = {passage.id: passage for passage in example.candidates}
    by_source: dict[SourceName, list[Passage]] = {}
    for name in example.gold.evidence or ():
        passage = candidates.get(name) or shelf.passage(name)
        if passage is not None:
            by_source.setdefault(passage.source, []).append(passage)
    reply = (example.gold.reply or "").strip()
    where = example.id, example.context.dialogue or example.id, example.context.scope.tenant
    for passages in by_source.values():
        gold = tuple(passages)
        siblings = shelf.siblings(gold, example.candidates)
        yield GroundedReply(*where, gold, reply, gold, siblings)
        if single and len(gold) > 1:
            for passage in gold:
                if agrees(passage, reply):
                    yield GroundedReply(*where, (passage,), reply, gold, siblings)


class _Shelf:
    """Shared passages by id, and by parent or title."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._by_id = {passage.id: passage for passage in passages}
        self._under: dict[tuple[object, ...], list[Passage]] = {}
        for passage in passages:
            self._under.setdefault(_place(passage), []).append(passage)

    def passage(self, name: str) -> Passage | None:
        return self._by_id.get(name)

    def siblings(self, gold: Sequence[Passage], candidates: Sequence[Passage]) -> tuple[Passage, ...]:
        """Other passages of the same source: of the same parent or title, or else any candidate of the turn."""
        ids, first = {passage.id for passage in gold}, gold[0]
        beside = [passage for passage in candidates if passage.source == first.source and passage.id not in ids]
        near = [passage for passage in beside if _place(passage) == _place(first)]
        if not beside and (first.title or first.parent):
            near = [passage for passage in self._under.get(_place(first), ()) if passage.id not in ids]
        return tuple(near or beside)


def _place(passage: Passage) -> tuple[object, ...]:
    return passage.source, passage.parent, passage.title


def _sibling(grounded: GroundedReply, dice: random.Random) -> LabelledPair | None:
    """Draw as many siblings as the pair has pieces, if possible, so that length does not reveal the label."""
    fitting: list[Passage] = []
    for passage in dice.sample(grounded.siblings, len(grounded.siblings)):
        if not supports([passage], grounded):
            fitting.append(passage)
        if len(fitting) == len(grounded.passages):
            break
    if not fitting or supports(fitting, grounded):
        return None
    return _row(grounded, Pair(join_passages(fitting).indexed, grounded.reply), "sibling")


def _draw(
    maker: Maker, grounded: GroundedReply, count: int, shares: Mapping[Negative, float], dice: random.Random
) -> list[LabelledPair]:
    rows: list[LabelledPair] = []
    left = {kind: shares.get(kind, 0.0) for kind in NEGATIVES if shares.get(kind, 0.0) > 0}
    while left and len(rows) < count:
        kind = dice.choices(list(left), list(left.values()))[0]
        row = maker.negative(grounded, kind, number=len(rows))
        if row is not None:
            rows.append(row)
        if row is None or kind in EDITS:
            del left[kind]
    return rows


def _row(grounded: GroundedReply, pair: Pair, kind: str) -> LabelledPair:
    return LabelledPair(pair.grounding, pair.reply, kind in ("gold", "echo"), kind, grounded.source, grounded.turn)


@lru_cache(maxsize=1 << 16)
def _words(text: str) -> frozenset[str]:
    return frozenset(analyse(text))
