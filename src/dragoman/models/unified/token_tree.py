"""A turn as a tree of token segments: the dialogue is the trunk, candidates and responses are branches.

A token sees what stands before it in its own segment, and the whole of its segment's ancestors; segments that a segment
`sees` besides are visible to it whole. Positions go on after what is seen. So one pass over the tree gives every branch
the numbers that it would have alone behind its ancestors (UniMS-RAG's evidence mask is a tree one level deep), and many
trees lie in one row without touching each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.core.errors import InputError


@dataclass(frozen=True, slots=True)
class Segment:
    """Tokens after those of `parent` (None: a trunk), which also attend to the earlier segments `sees`."""

    tokens: tuple[int, ...]
    parent: int | None = None
    sees: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Layout:
    """Trees as one row: for each token its id, position and segment; for each segment where it begins, what it sees.

    `visible[q][k]` says whether tokens of segment q see segment k; inside a segment, and from it back, only what stands
    before them in the row.
    """

    tokens: tuple[int, ...]
    positions: tuple[int, ...]
    segments: tuple[int, ...]
    starts: tuple[int, ...]
    visible: tuple[tuple[bool, ...], ...]

    def place(self, segment: int, offset: int) -> int:
        """Return the column of a segment's token in the row; a negative offset counts from the segment's end."""
        end = self.starts[segment + 1] if segment + 1 < len(self.starts) else len(self.tokens)
        return (end if offset < 0 else self.starts[segment]) + offset


def laid_out(segments: Sequence[Segment]) -> Layout:
    """The segments of a tree, or of several, in a row; parents stand before their children."""
    tokens: list[int] = []
    positions: list[int] = []
    owner: list[int] = []
    starts: list[int] = []
    ends: list[int] = []
    seen: list[frozenset[int]] = []
    for number, segment in enumerate(segments):
        before = (*(() if segment.parent is None else (segment.parent,)), *segment.sees)
        if any(not 0 <= other < number for other in before):
            raise InputError(
                f"Segment {number} of a tree sees {before}, which do not stand before it.",
                remedy="Put a segment after its parent and after what it sees.",
            )
        first = max((ends[other] for other in before), default=0)
        ancestors = seen[segment.parent] if segment.parent is not None else frozenset()
        seen.append(ancestors | {number, *before})
        starts.append(len(tokens))
        ends.append(first + len(segment.tokens))
        tokens += segment.tokens
        positions += range(first, ends[-1])
        owner += [number] * len(segment.tokens)
    visible = tuple(tuple(other in mine for other in range(len(seen))) for mine in seen)
    return Layout(tuple(tokens), tuple(positions), tuple(owner), tuple(starts), visible)
