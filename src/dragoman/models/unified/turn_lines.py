"""The candidates of a turn as plain sequences of tokens: each after its ancestors, or all in one line."""

from __future__ import annotations

from typing import TypeAlias

from dragoman.models.unified import turn_trees
from dragoman.models.unified.model import Judging, TurnTokens
from dragoman.models.unified.turn_trees import Planted

Line: TypeAlias = tuple[int, ...]


class PlainLine:
    """The line of a turn's candidates in the plain layout, up to the last judged one."""

    def __init__(self, turns: TurnTokens, request: Judging) -> None:
        self._branches = [turns.branch(candidate.source, candidate.text) for candidate in request.candidates]
        longest = max(turns.shape.window // 2, max(map(len, self._branches), default=0) + 1)
        self._room = longest
        planted = turn_trees.trunk(turns, request.context, request.plan, room=longest)
        self._trunk = planted.segments[0].tokens
        self._after: Line = ()

    def upto(self, step: int) -> Line:
        """The line up to the place of a candidate's similarity."""
        if len(self._after) + len(self._branches[step]) + 1 > self._room:
            self._after = ()
        self._after = (*self._after, *self._branches[step])
        return (*self._trunk, *self._after)

    def say(self, token: int) -> None:
        self._after = (*self._after, token)


def lines_of(planted: Planted) -> list[Line]:
    """Each candidate's tokens after those of its ancestors: with the trunk, all that its score depends on."""
    whole: dict[int, Line] = {0: ()}
    for place in planted.candidates:
        segment = planted.segments[place]
        whole[place] = (*whole[segment.parent or 0], *segment.tokens)
    return [whole[place] for place in planted.candidates]
