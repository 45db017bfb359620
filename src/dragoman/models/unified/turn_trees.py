"""The trees of a turn by layout: for judging candidates, for planning after reading them, for writing the response."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dragoman.core.errors import InputError
from dragoman.core.tokens import END_OF_EVIDENCE, Shown, similarity
from dragoman.core.values import Context
from dragoman.models.unified.model import CandidatePassage, Judging, Order, TurnTokens, Writing
from dragoman.models.unified.token_tree import Segment


@dataclass(frozen=True, slots=True)
class Planted:
    """The segments of a turn; `candidates` are those to judge, whose similarity stands after their last token.

    `left_out` is the number of the dialogue's oldest turns that found no room; where the newest one alone was too long,
    its beginning is `cut`.
    """

    segments: tuple[Segment, ...]
    candidates: tuple[int, ...] = ()
    left_out: int = 0
    cut: bool = False

    def grown(self, *segments: Segment) -> Planted:
        """The tree with further segments at its end."""
        return replace(self, segments=(*self.segments, *segments))


def trunk(turns: TurnTokens, context: Context, plan: Order | None = None, *, room: int | None = None) -> Planted:
    """The dialogue, in the paper's and the plain layout with its plan; `room` is for what follows it in a line."""
    after = turns.plan(plan) if plan is not None and turns.shape.layout != "tree" else ()
    room_left = turns.shape.window - len(after) - (turns.shape.response if room is None else room)
    ids, left_out = turns.trunk(context, room_left)
    cut = len(ids) == room_left and turns.is_cut(context, room_left)
    return Planted((Segment((*ids, *after)),), left_out=left_out, cut=cut)


def judging(turns: TurnTokens, request: Judging) -> Planted:
    """Trunk and candidates: each is a branch on the trunk, or, in the tree layout, on its parent."""
    if turns.shape.layout == "plain":
        raise InputError("A plain line has no branches.", remedy="Judge its candidates one after another.")
    branches = [turns.branch(candidate.source, candidate.text) for candidate in request.candidates]
    tree = trunk(turns, request.context, request.plan, room=_deepest(request.candidates, branches))
    places: list[int] = []
    segments = list(tree.segments)
    for number, (candidate, branch) in enumerate(zip(request.candidates, branches, strict=True)):
        on = 0
        if candidate.parent is not None and turns.shape.layout == "tree":
            if not 0 <= candidate.parent < number:
                raise InputError(
                    f"Candidate {number} depends on candidate {candidate.parent}, which does not stand before it.",
                    remedy="Put candidates after those that they depend on.",
                )
            on = places[candidate.parent]
        places.append(len(segments))
        segments.append(Segment(branch, on))
    return replace(tree, segments=tuple(segments), candidates=tuple(places))


def checking(turns: TurnTokens, request: Judging, order: Order) -> Planted:
    """Trunk, candidates, and a plan that sees them all: its segment is the last one."""
    tree = judging(turns, request)
    return tree.grown(Segment(turns.check(order), 0, tree.candidates))


def writing(turns: TurnTokens, request: Writing) -> Planted:
    """Everything before the response; the response goes on where the last segment ends.

    In the paper's layout that segment is one more [EOE], which sees all evidence.
    """
    sequence = request.written
    if turns.shape.layout != "paper":
        after = (*turns.plan(sequence.plan), *turns.evidence(sequence.evidence))
        tree = trunk(turns, request.context, room=len(after) + turns.shape.response)
        return replace(tree, segments=(Segment((*tree.segments[0].tokens, *after)),))
    branches = [judged_evidence(turns, shown) for shown in sequence.evidence]
    room = max(map(len, branches), default=0) + turns.shape.response
    tree = trunk(turns, request.context, sequence.plan, room=room)
    grown = tree.grown(*(Segment(branch, 0) for branch in branches))
    places = tuple(range(1, len(grown.segments)))
    return replace(grown, candidates=places).grown(Segment(turns.ids((END_OF_EVIDENCE,)), 0, places))


def fit_evidence(turns: TurnTokens, request: Writing, *, dialogue: int = 64) -> tuple[Writing, int]:
    """Drop the least similar evidence until `dialogue` tokens of room are left; returns the task and the number
    dropped."""
    sequence, paper = request.written, turns.shape.layout == "paper"
    rows = list(sequence.evidence)
    room = turns.shape.window - turns.shape.response - len(turns.plan(sequence.plan)) - dialogue

    def needed() -> int:
        return (
            max((len(judged_evidence(turns, shown)) for shown in rows), default=0)
            if paper
            else len(turns.evidence(rows))
        )

    while rows and needed() > room:
        worst = min(reversed(range(len(rows))), key=lambda i: rows[i].tenths or 0)
        del rows[worst]
    dropped = len(sequence.evidence) - len(rows)
    return (replace(request, written=replace(sequence, evidence=tuple(rows))) if dropped else request), dropped


def left_out_notes(turns: TurnTokens, request: Writing, planted: Planted, dropped: int) -> dict[str, str | float]:
    """Notes on a reply about text that found no room; `asked` is the request without the `dropped` evidence."""
    counts = {
        "turns_left_out": planted.left_out,
        "turn_cut": planted.cut,
        "evidence_left_out": dropped,
        "evidence_cut": sum(turns.is_too_long(shown.text) for shown in request.written.evidence),
    }
    return {name: float(count) for name, count in counts.items() if count}


def judged_evidence(turns: TurnTokens, shown: Shown) -> tuple[int, ...]:
    """A piece of evidence with its similarity: [EVIDENCE] K text [EOE] similarity."""
    return (*turns.branch(shown.source, shown.text), turns.spelling.one(similarity(shown.tenths)))


def _deepest(candidates: Sequence[CandidatePassage], branches: Sequence[tuple[int, ...]]) -> int:
    """The length of the longest chain of branches with a plan after it."""
    depths: list[int] = []
    for candidate, branch in zip(candidates, branches, strict=True):
        above = candidate.parent
        has_parent = above is not None and 0 <= above < len(depths)
        depths.append(len(branch) + (depths[above] if has_parent and above is not None else 0))
    return max(depths, default=0) + 32
