"""Labelled turns as token trees with the positions of their losses (UniMS-RAG, section III; SAFARI).

Learned are acting tokens (`plan`, and `check` after all candidates were read), evaluation tokens (`similarity`) and the
`response` with its end; everything else, dialogue, evidence and indicators, is only read. No torch here.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from dragoman.core.errors import InputError, TrainingError
from dragoman.core.examples import Example
from dragoman.core.tokens import END_OF_EVIDENCE, SOURCE, STEPS, Shown, WrittenSequence, tenths
from dragoman.core.values import Passage, Source, SourceName
from dragoman.models.unified.candidates import candidates as placed
from dragoman.models.unified.candidates import passage_text
from dragoman.models.unified.model import Order, TurnTokens, Writing
from dragoman.models.unified.order_tree import order_tree
from dragoman.models.unified.token_tree import Segment
from dragoman.models.unified.turn_trees import fit_evidence, judged_evidence
from dragoman.train.unified.candidates import (
    CandidateSampler,
    LabelledCandidate,
    Relevance,
    sample_candidates,
    with_distractors,
)
from dragoman.train.unified.training_trees import CandidateGroup, DrawOptions, Examined, Kind, TargetPlace, TrainingTree


class Sequences:
    """Makes trees of labelled turns.

    Inputs:
        orders: every legal order of a turn's sources.
        shared: passages that all turns share; a turn without candidates of its own gets some of them by chance.
        relevance: labels of a file, where gold alone is not what similarities are learned from; `by_gold` are turns
            that are learned from gold all the same.
        weights: how much the plan of an order counts.
    """

    def __init__(
        self,
        turns: TurnTokens,
        drawing: DrawOptions,
        *,
        orders: Callable[[tuple[Source, ...]], Sequence[Order]],
        shared: Sequence[Passage] = (),
        relevance: Relevance | None = None,
        by_gold: frozenset[str] = frozenset(),
        weights: Mapping[Order, float] | None = None,
    ) -> None:
        self._turns = turns
        self._drawing = drawing
        self._weights = weights or {}
        self._offers = CandidateSampler(
            turns.shape.grammar.sources,
            shared=shared,
            relevance=relevance,
            by_gold=by_gold,
            everywhere=turns.shape.layout == "tree",
            drawn=drawing.most_candidates,
        )
        self._judges = bool(turns.shape.grammar.evaluation)
        self._checks = self._judges and drawing.check and turns.shape.layout == "tree"
        self._orders = orders
        self._branch = cache(turns.branch)  # candidates are met again, in other turns and epochs
        self._known_orders: dict[tuple[Source, ...], tuple[Order, ...]] = {}
        self._choices: dict[tuple[tuple[Order, ...], bool], _Choices] = {}

    def tree(self, example: Example, epoch: int, *, whole: bool = False) -> TrainingTree:
        """Return the training tree of a turn in an epoch; missing labels have no loss.

        Where it is asked for `whole`, it is as in the epochs that learn all of it.
        """
        dice = random.Random(f"{self._drawing.seed + self._drawing.run}/{epoch}/{example.id}")
        builder = _TreeBuilder(self._turns, self._branch)
        plan = self._plan_of(example)
        whole = dice.random() < self._drawing.share or whole
        offers = self._offers.of(example, plan, dice) if whole else []
        offered = sample_candidates(offers, self._drawing.most_candidates, dice)
        shown = self._evidence(example, plan, offered, dice)
        layout = self._turns.shape.layout
        written, after = self._written(example, plan, shown) if whole else (None, ())
        builder.trunk(example, self._room(example, written, offered, after))
        if plan is not None:
            self._plan(builder, example, plan)
        if layout == "tree":
            self._branches(builder, offered)
            self._line(builder, written, after)
            if self._checks and plan is not None and builder.candidates:
                self._check(builder, example, plan)
        elif layout == "paper":
            self._paper(builder, offered, written, after)
        else:
            self._line(builder, written, after, judging=True)
        return builder.made(example.id)

    def examined(self, example: Example, *, most: int = 0, whole: bool = True) -> Examined:
        """A turn of dev: every order, every candidate (or `most`, drawn once) and the response, all in one tree.

        Where it is not `whole`, the orders alone.
        """
        plan = self._plan_of(example)
        dice = random.Random(f"{self._drawing.seed}/dev/{example.id}")
        known_right = example.gold.evidence is not None  # where it is not, nobody can say which candidates are wrong
        offered = self._offers.of(example, plan, dice) if whole and known_right else []
        if most:
            offered = sample_candidates(offered, most, dice)
        gold = [one for one in offered if one.is_gold]
        shown = [_as_shown(one, STEPS) for one in gold]
        written, after = self._written(example, plan, shown) if whole else (None, ())
        builder = _TreeBuilder(self._turns, self._branch)
        builder.trunk(example, self._room(example, written, offered, after))
        plans = self._order_choices(example).tree
        first = builder.plant(plans.planted(0, builder.count))
        judged_on = 0
        if self._turns.shape.layout != "tree" and plan is not None:
            judged_on = builder.plans = builder.add(self._turns.plan(plan), 0)
        places = builder.branches([one.passage for one in offered], judged_on) if self._judges else []
        check = None
        if self._checks and places:
            checks = self._order_choices(example, after=True).tree
            check = builder.count, checks
            builder.plant(checks.planted(0, builder.count, tuple(places)))
        self._line(builder, written, after)
        return Examined(
            example.id,
            tuple(builder.segments),
            plan,
            (first, plans),
            check,
            tuple((place, one.passage.source, one.is_gold) for place, one in zip(places, offered, strict=False)),
            tuple(place for place in builder.places if place.kind == "response"),
        )

    def answered(self, example: Example) -> Writing | None:
        """Return the prompt of a dev turn's response with gold plan and evidence; None without a response."""
        plan = self._plan_of(example)
        if plan is None or not (example.gold.reply or "").strip():
            return None
        shown = tuple(
            Shown(one.source, passage_text(one), STEPS if self._judges else None) for one in self._offers.right(example)
        )
        writing, _ = fit_evidence(self._turns, Writing(example.context, WrittenSequence(plan, shown)))
        return writing

    def _order_choices(self, example: Example, *, after: bool = False) -> _Choices:
        """Return the legal orders of a turn as tokens, cached by sources."""
        if example.sources not in self._known_orders:
            self._known_orders[example.sources] = tuple(self._orders(example.sources))
        orders = self._known_orders[example.sources]
        if (orders, after) not in self._choices:
            spell = self._turns.check if after else self._turns.plan
            self._choices[orders, after] = _Choices({order: spell(order) for order in orders})
        return self._choices[orders, after]

    def _plan_of(self, example: Example) -> Order | None:
        """Return the plan of a turn, or None; raise an error if it is no legal order."""
        plan = example.gold.plan
        if plan is None:
            return None
        if plan not in self._order_choices(example).sequences:
            raise TrainingError(
                f"The plan {' > '.join(plan) or 'NULL'} of the turn '{example.id}' is no order that the sources' needs "
                "allow.",
                remedy="Mend the label, or what the sources need.",
            )
        return plan

    def _evidence(
        self, example: Example, plan: Order | None, offers: Sequence[LabelledCandidate], dice: random.Random
    ) -> list[Shown]:
        """Return the evidence before the response: gold, and distractors of the same sources."""
        by_id = {offer.passage.id: offer for offer in offers}
        right = [
            by_id.get(passage.id) or LabelledCandidate(passage, True, 1.0) for passage in self._offers.right(example)
        ]
        right = [offer for offer in right if plan is None or offer.passage.source in plan]
        chosen = with_distractors(right, offers, self._drawing.distractors, dice)
        exact = self._turns.shape.layout != "tree"  # there the same tokens are learned
        return [_as_shown(offer, self._similarity_token(offer, dice, exact=exact)) for offer in chosen]

    def _similarity_token(self, one: LabelledCandidate, dice: random.Random, *, exact: bool) -> int | None:
        """Return the similarity token after a piece of evidence: the label if it is trained, else with noise."""
        if not self._judges:
            return None
        label = tenths(float(one.is_gold) if one.value is None else one.value)
        noise = 0 if exact else self._drawing.noise
        return min(STEPS, max(0, label + dice.randint(-noise, noise)))

    # segments and places

    def _written(
        self, example: Example, plan: Order | None, shown: Sequence[Shown]
    ) -> tuple[WrittenSequence | None, tuple[int, ...]]:
        """Return the tokens before the response, cut to the window, and the response; empty without a plan."""
        if plan is None:
            return None, ()
        writing = Writing(example.context, WrittenSequence(plan, tuple(shown)))
        fitting, _ = fit_evidence(self._turns, writing)
        reply = example.gold.reply if self._drawing.answer else None
        return fitting.written, () if reply is None or not reply.strip() else self._turns.response(reply)

    def _room(
        self,
        example: Example,
        written: WrittenSequence | None,
        offered: Sequence[LabelledCandidate],
        after: Sequence[int],
    ) -> int:
        """Return the length of the longest line after the dialogue."""
        turns = self._turns
        line = 0
        if written is not None:
            between = turns.evidence(written.evidence)
            line = len(turns.plan(written.plan)) + len(between) + max(len(after), turns.shape.response)
        deep = 0
        if offered and self._judges:
            depths: dict[str, int] = {}
            for one in offered:
                above = depths.get(one.passage.parent or "", 0) if turns.shape.layout == "tree" else 0
                depths[one.passage.id] = above + len(self._branch(one.passage.source, passage_text(one.passage)))
            longest = max(len(ids) for ids in self._order_choices(example, after=self._checks).sequences.values())
            deep = max(depths.values()) + longest
        return max(line, deep)

    def _plan(self, builder: _TreeBuilder, example: Example, plan: Order) -> None:
        """Add [SOURCE] K.. [EOS] as the last segment, with losses after [SOURCE]."""
        begun = len(self._turns.ids((SOURCE,)))
        builder.plans = builder.add(self._turns.plan(plan), 0)
        builder.places += self._acting(builder.plans, self._order_choices(example), plan, begun, "plan")

    def _check(self, builder: _TreeBuilder, example: Example, plan: Order) -> None:
        """Add [CHECK] [SOURCE] K.. [EOS] to the trunk, with attention to all candidates."""
        begun = len(self._turns.check(())) - len(self._turns.plan(())) + len(self._turns.ids((SOURCE,)))
        segment = builder.add(self._turns.check(plan), 0, tuple(builder.candidates))
        builder.places += self._acting(segment, self._order_choices(example, after=True), plan, begun, "check")

    def _acting(self, segment: int, choices: _Choices, plan: Order, begun: int, kind: Kind) -> Iterator[TargetPlace]:
        weight = self._weights.get(plan, 1.0)
        for offset, target, options in choices.path(plan, begun):
            if len(options) > 1 or not self._drawing.closed:
                yield TargetPlace(segment, offset, kind, target, weight=weight, options=options)

    def _branches(self, builder: _TreeBuilder, offered: Sequence[LabelledCandidate]) -> None:
        if not self._judges:
            return
        places = builder.branches([one.passage for one in offered], 0)
        self._judged(builder, offered, [(place, len(builder.segments[place].tokens) - 1) for place in places])

    def _judged(
        self, builder: _TreeBuilder, offered: Sequence[LabelledCandidate], after: Sequence[tuple[int, int]]
    ) -> None:
        """Add losses on similarities after [EOE], and comparisons of the candidates of a source."""
        lists: dict[SourceName, list[tuple[int, bool]]] = {}
        for one, (segment, offset) in zip(offered, after, strict=True):
            if one.value is not None:
                lists.setdefault(one.passage.source, []).append((len(builder.places), one.is_gold))
                builder.places.append(TargetPlace(segment, offset, "similarity", value=one.value))
        for source, members in lists.items():
            gold = tuple(is_gold for _, is_gold in members)
            if any(gold) and not all(gold):
                builder.groups.append(CandidateGroup(source, tuple(place for place, _ in members), gold))

    def _line(
        self, builder: _TreeBuilder, written: WrittenSequence | None, after: tuple[int, ...], *, judging: bool = False
    ) -> None:
        """Add evidence in a line after the plan, then the response; `judging` adds losses on similarities."""
        if written is None or not (after or judging):
            return
        turns = self._turns
        on = builder.plans if builder.plans is not None else builder.add(turns.plan(written.plan), 0)
        pieces: tuple[int, ...] = ()
        after_each: list[tuple[Shown, int]] = []
        if turns.shape.grammar.style == "safari":
            pieces = turns.evidence(written.evidence)
        else:
            for shown in written.evidence:
                pieces += judged_evidence(turns, shown)
                after_each.append((shown, len(pieces) - 2))
        segment = builder.add((*pieces, *after[:-1]), on) if pieces or after[1:] else on
        if judging and self._judges:
            for shown, offset in after_each:
                value = None if shown.tenths is None else shown.tenths / STEPS
                builder.places.append(TargetPlace(segment, offset, "similarity", value=value))
        start = len(pieces)
        for number, target in enumerate(after):
            if start + number:
                builder.places.append(TargetPlace(segment, start + number - 1, "response", target))
            else:  # the first word is said at the plan's end
                builder.places.append(TargetPlace(on, len(builder.segments[on].tokens) - 1, "response", target))

    def _paper(
        self,
        builder: _TreeBuilder,
        offered: Sequence[LabelledCandidate],
        written: WrittenSequence | None,
        after: tuple[int, ...],
    ) -> None:
        """Add each piece of evidence as a branch on the plan; the response attends to those that were used."""
        if written is None:
            return
        turns, on = self._turns, builder.plans
        assert on is not None  # a plan is known where something is written
        taken = {(shown.source, shown.text): shown for shown in written.evidence}
        left = dict(taken)
        seen: list[int] = []
        after_each: list[tuple[int, int]] = []
        for one in offered:
            text = passage_text(one.passage)
            shown = left.pop((one.passage.source, text), None)
            branch = self._branch(one.passage.source, text)
            segment = builder.add(branch if shown is None else judged_evidence(turns, shown), on)
            after_each.append((segment, len(branch) - 1))
            seen += [] if shown is None else [segment]
        seen += [builder.add(judged_evidence(turns, shown), on) for shown in left.values()]
        self._judged(builder, offered, after_each)
        if after:
            begin = turns.ids((END_OF_EVIDENCE,))
            segment = builder.add((*begin, *after[:-1]), on, tuple(seen))
            builder.places += [
                TargetPlace(segment, len(begin) - 1 + number, "response", target) for number, target in enumerate(after)
            ]


class _Choices:
    """Orders of sources as token sequences, with the legal next tokens of each prefix."""

    def __init__(self, sequences: Mapping[Order, tuple[int, ...]]) -> None:
        self.sequences = dict(sequences)
        self.tree = order_tree(sequences)
        self._next: dict[tuple[int, ...], dict[int, None]] = {}
        for ids in sequences.values():
            for end in range(len(ids)):
                self._next.setdefault(ids[:end], {})[ids[end]] = None

    def path(self, order: Order, begun: int) -> Iterator[tuple[int, int, tuple[int, ...]]]:
        """Yield for each token of an order from `begun` on: the offset before it, the token, and its alternatives."""
        ids = self.sequences[order]
        for place in range(begun, len(ids)):
            yield place - 1, ids[place], tuple(self._next[ids[:place]])


@dataclass(slots=True)
class _TreeBuilder:
    """Builder of a tree."""

    turns: TurnTokens
    branch: Callable[[SourceName, str], tuple[int, ...]]
    segments: list[Segment] = field(default_factory=list)
    places: list[TargetPlace] = field(default_factory=list)
    groups: list[CandidateGroup] = field(default_factory=list)
    candidates: list[int] = field(default_factory=list)
    plans: int | None = None

    @property
    def count(self) -> int:
        return len(self.segments)

    def trunk(self, example: Example, room: int) -> None:
        try:
            dialogue, _ = self.turns.trunk(example.context, self.turns.shape.window - room)
        except InputError as error:
            raise TrainingError(
                f"The turn '{example.id}' needs {room} tokens after its dialogue, and the window has "
                f"{self.turns.shape.window}.",
                remedy="Raise input.window, or lower input.candidate or input.response.",
            ) from error
        self.segments.append(Segment(dialogue))

    def add(self, tokens: tuple[int, ...], parent: int, sees: tuple[int, ...] = ()) -> int:
        self.segments.append(Segment(tokens, parent, sees))
        return len(self.segments) - 1

    def plant(self, segments: Sequence[Segment]) -> int:
        first = len(self.segments)
        self.segments += segments
        return first

    def branches(self, passages: Sequence[Passage], on: int) -> list[int]:
        """Add candidates as branches, each on its parent if the layout has such branches."""
        segments: list[int] = []
        for candidate in placed(passages):
            parent = on
            if candidate.parent is not None and self.turns.shape.layout == "tree":
                parent = segments[candidate.parent]
            self.segments.append(Segment(self.branch(candidate.source, candidate.text), parent))
            segments.append(len(self.segments) - 1)
        self.candidates += segments
        return segments

    def made(self, name: str) -> TrainingTree:
        return TrainingTree(name, tuple(self.segments), tuple(self.places), tuple(self.groups))


def _as_shown(one: LabelledCandidate, tens: int | None) -> Shown:
    return Shown(one.passage.source, passage_text(one.passage), tens)
