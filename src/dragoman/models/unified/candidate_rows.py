"""The candidates of a turn as rows of tokens, each with the trunk; many candidates take several rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dragoman.models.unified.token_tree import Segment
from dragoman.models.unified.tree_pass import TreeRow
from dragoman.models.unified.turn_trees import Planted


@dataclass(frozen=True, slots=True)
class Pack:
    """A row with some candidates of a turn and their ancestors, and the numbers of the candidates it scores."""

    turn: int
    row: TreeRow
    owned: tuple[int, ...]


def packs(turn: int, planted: Planted, places: Sequence[int], most: int) -> Iterator[Pack]:
    """Rows of at most about `most` tokens beside the trunk for the wanted candidates, each with its ancestors."""
    taken: dict[int, int] = {}
    segments: list[Segment] = [planted.segments[0]]
    owned: list[int] = []
    size = 0
    for number in places:
        chain = [place for place in _chain(planted, planted.candidates[number]) if place not in taken]
        more = sum(len(planted.segments[place].tokens) for place in chain)
        if owned and size + more > most:
            yield _pack(turn, planted, segments, owned, taken)
            taken, segments, owned, size = {}, [planted.segments[0]], [], 0
            chain = _chain(planted, planted.candidates[number])
            more = sum(len(planted.segments[place].tokens) for place in chain)
        for place in chain:
            segment = planted.segments[place]
            on = taken[segment.parent] if segment.parent else 0
            taken[place] = len(segments)
            segments.append(replace(segment, parent=on))
        owned.append(number)
        size += more
    if owned:
        yield _pack(turn, planted, segments, owned, taken)


def _pack(
    turn: int, planted: Planted, segments: Sequence[Segment], owned: Sequence[int], taken: dict[int, int]
) -> Pack:
    places = tuple((taken[planted.candidates[number]], -1) for number in owned)
    return Pack(turn, TreeRow(tuple(segments), places), tuple(owned))


def _chain(planted: Planted, place: int) -> list[int]:
    """A segment and its ancestors without the trunk, from the root down."""
    chain: list[int] = []
    at: int | None = place
    while at:
        chain.append(at)
        at = planted.segments[at].parent
    return chain[::-1]
