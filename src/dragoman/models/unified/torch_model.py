"""A unified model in torch: plans, judges, checks and writes by passes over trees of tokens.

All candidates of a turn are judged in one packed pass; the dialogue is read once for all that a turn asks. The layout
`plain` has no branches: there candidates are judged one after another in one line.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from dragoman.core.caches import keeps_texts
from dragoman.core.errors import ConfigError, InputError
from dragoman.core.tokens import EVALUATION, STEPS
from dragoman.core.values import Context, Draft
from dragoman.models.metering import recorded
from dragoman.models.torch.answer import AnswerText
from dragoman.models.torch.causal_lm import Causal
from dragoman.models.unified import turn_trees
from dragoman.models.unified.candidate_rows import Pack, packs
from dragoman.models.unified.model import Judging, Order, TreeShape, TurnTokens, Writing
from dragoman.models.unified.order_tree import OrderTree, order_tree
from dragoman.models.unified.sampling import next_tokens
from dragoman.models.unified.token_tree import Segment
from dragoman.models.unified.tree_pass import Passes, TreeRow, out_of_memory
from dragoman.models.unified.turn_lines import Line, PlainLine, lines_of
from dragoman.models.unified.turn_trees import Planted

_TENTHS = torch.arange(STEPS + 1) / STEPS
_JUDGED_TRUNKS = 64
_KEPT = {"cpu": 4096, "cuda": 32768}
"""Size of the prefix cache in tokens, by device."""
_PACKED = {"cpu": 1024, "cuda": 4096}
"""Tokens of candidates in one row: attention is dense, so that a longer row costs more than two shorter ones."""
_PASS = {"cpu": 4096, "cuda": 32768}
"""Tokens in one pass."""


@dataclass(frozen=True, slots=True)
class LoadedUnified:
    """A loaded model with its passes and the tokens of turns."""

    causal: Causal
    turns: TurnTokens


class TorchUnified:
    """The runtime of a unified model in torch; `load` is called on first use, and again after `close`.

    Inputs:
        kept_tokens: size of the prefix cache in tokens; by device where not given.
        packed_tokens: candidates of more tokens than this are judged in several rows.
    """

    def __init__(
        self,
        shape: TreeShape,
        load: Callable[[], LoadedUnified],
        *,
        kept_tokens: int | None = None,
        packed_tokens: int | None = None,
        pass_tokens: int | None = None,
    ) -> None:
        if min(kept_tokens or 0, (packed_tokens or 1) - 1, (pass_tokens or 1) - 1) < 0:
            raise ConfigError(
                f"A unified model cannot run with kept_tokens {kept_tokens}, packed_tokens {packed_tokens}, "
                f"pass_tokens {pass_tokens}.",
                remedy="Give kept_tokens from 0, packed_tokens and pass_tokens from 1.",
            )
        self._shape = shape
        self._load = load
        self._kept_tokens = kept_tokens
        self._packed_tokens = packed_tokens
        self._pass_tokens = pass_tokens
        self._lock = threading.RLock()
        self._opened: tuple[LoadedUnified, Passes] | None = None
        self._silent: list[int] = []
        self._said: OrderedDict[Line, dict[Line, float]] = OrderedDict()
        keeps_texts(self)

    @property
    def shape(self) -> TreeShape:
        return self._shape

    @property
    def turns(self) -> TurnTokens:
        """The converter of turns to tokens; loads the model."""
        return self._ready()[0].turns

    @property
    def fed(self) -> int:
        """The number of tokens that went through the model so far, for measuring the cost of a turn."""
        return self._opened[1].fed if self._opened else 0

    def warm_up(self) -> None:
        """Load the weights."""
        self._ready()

    def close(self) -> None:
        """Free the weights; they are loaded again when they are needed."""
        with self._lock:
            self._opened = None
            self._said.clear()

    def clear_cache(self) -> None:
        """Drop all cached dialogues."""
        with self._lock:
            self._said.clear()
            if self._opened:
                self._opened[1].prefixes.clear()

    def plan(self, contexts: Sequence[Context], orders: Sequence[Order]) -> list[dict[Order, float]]:
        with self._lock:
            (opened, passes), tree = self._ready(), self._orders(orders, check=False)
            if not tree.forks:
                return [tree.probabilities(()) for _ in contexts]
            planted = [turn_trees.trunk(opened.turns, context) for context in contexts]
            rows = [self._choosing(tree, prepared.grown(*tree.planted(0, 1)), 1) for prepared in planted]
            return [self._order_probabilities(passes, tree, states) for states in passes.read(rows)]

    def judge(self, requests: Sequence[Judging]) -> list[list[float]]:
        self._need_evaluation()
        with self._lock:
            if self._shape.layout == "plain":
                return self._judge_in_lines(requests)
            return self._judge_trees([self._planted(one) for one in requests])

    def check(
        self, requests: Sequence[Judging], orders: Sequence[Order]
    ) -> list[tuple[dict[Order, float], list[float]]]:
        self._need_evaluation()
        if self._shape.layout == "plain":
            raise InputError("A plain line has no check.", remedy="Plan without `aware`, or train the layout tree.")
        with self._lock:
            passes, tree = self._ready()[1], self._orders(orders, check=True)
            planted = [self._planted(one) for one in requests]
            if not tree.forks:
                return [(tree.probabilities(()), scores) for scores in self._judge_trees(planted)]
            rows = []
            for prepared in planted:
                first = len(prepared.segments)
                row = self._choosing(tree, prepared.grown(*tree.planted(0, first, prepared.candidates)), first)
                rows.append(replace(row, places=(*((place, -1) for place in prepared.candidates), *row.places)))
            answers = []
            for prepared, states in zip(planted, passes.read(rows), strict=True):
                count = len(prepared.candidates)
                scores = self._similarities(passes, states[:count])
                self._remember(prepared, range(count), scores)
                answers.append((self._order_probabilities(passes, tree, states[count:]), scores))
            return answers

    def write(self, requests: Sequence[Writing], *, max_tokens: int) -> list[Draft]:
        drafts: list[Draft] = [Draft("")] * len(requests)
        with self._lock:
            opened, passes = self._ready()
            prepared = [self._prepared(opened, one) for one in requests]
            for batch in passes.batches([row for row, _ in prepared]):
                answers = [AnswerText(_size(prepared[i][0]), self._marks(opened)) for i in batch]
                rows, writings = [prepared[i][0] for i in batch], [requests[i] for i in batch]
                for _ in self._tokens(opened, passes, rows, answers, requests=writings, max_tokens=max_tokens):
                    pass
                for i, answer in zip(batch, answers, strict=True):
                    drafts[i] = answer.draft(prepared[i][1])
        return list(recorded(drafts))

    def stream(self, request: Writing, *, max_tokens: int) -> Iterator[str | Draft]:
        """Text pieces, then the draft; closing the iterator stops the generation."""
        opened, passes = self._ready()
        row, notes = self._prepared(opened, request)
        answer = AnswerText(_size(row), self._marks(opened))
        for _ in self._tokens(opened, passes, [row], [answer], requests=[request], max_tokens=max_tokens):
            if piece := answer.fresh():
                yield piece
        if piece := answer.fresh(last=True):
            yield piece
        yield from recorded([answer.draft(notes)])

    # judging

    def _planted(self, request: Judging) -> Planted:
        return turn_trees.judging(self._ready()[0].turns, request)

    def _judge_trees(self, planted: Sequence[Planted]) -> list[list[float]]:
        """Scores of all candidates; scores on the same dialogue are cached."""
        passes = self._ready()[1]
        waves: list[list[Pack]] = []
        by_turn: list[dict[int, float]] = []
        for turn, prepared in enumerate(planted):
            cached = self._said.get(prepared.segments[0].tokens, {})
            lines = lines_of(prepared)
            by_turn.append({i: cached[line] for i, line in enumerate(lines) if line in cached})
            missing = [i for i in range(len(lines)) if i not in by_turn[turn]]
            for place, pack in enumerate(packs(turn, prepared, missing, self._most_packed())):
                waves += [[]] if place == len(waves) else []
                waves[place].append(pack)
        for wave in waves:  # a turn's second pack finds its trunk read by the first
            for pack, states in zip(wave, passes.read([pack.row for pack in wave]), strict=True):
                scores = self._similarities(passes, states)
                by_turn[pack.turn].update(zip(pack.owned, scores, strict=True))
                self._remember(planted[pack.turn], pack.owned, scores)
        return [[scores[i] for i in range(len(scores))] for scores in by_turn]

    def _judge_in_lines(self, requests: Sequence[Judging]) -> list[list[float]]:
        """Score each candidate after the earlier ones and their similarities, all turns side by side.

        A line that would take more than half of the window begins again at the dialogue.
        """
        opened, passes = self._ready()
        turns = opened.turns
        lines = [PlainLine(turns, one) for one in requests]
        values: list[list[float]] = [[] for _ in requests]
        for step in range(max((len(one.candidates) for one in requests), default=0)):
            going = [i for i, one in enumerate(requests) if step < len(one.candidates)]
            rows = [TreeRow((Segment(lines[i].upto(step)),), ((0, -1),)) for i in going]
            for i, states in zip(going, passes.read(rows), strict=True):
                logits = passes.logits(states, self._evaluation())
                values[i].append(float(logits.softmax(-1)[0] @ _TENTHS))
                lines[i].say(turns.spelling.one(EVALUATION[int(logits[0].argmax())]))
        return values

    def _similarities(self, passes: Passes, states: Tensor) -> list[float]:
        """The expected value over the eleven evaluation tokens, for each hidden state."""
        if not len(states):
            return []
        chances = passes.logits(states, self._evaluation()).double().softmax(-1)  # (N, 11)
        return [min(1.0, max(0.0, score)) for score in (chances @ _TENTHS.double()).tolist()]

    def _evaluation(self) -> list[int]:
        spelling = self._ready()[0].turns.spelling
        return [spelling.one(token) for token in EVALUATION]

    def _remember(self, planted: Planted, owned: Sequence[int], scores: Sequence[float]) -> None:
        trunk, lines = planted.segments[0].tokens, lines_of(planted)
        cached = self._said.setdefault(trunk, {})
        cached.update((lines[i], score) for i, score in zip(owned, scores, strict=True))
        self._said.move_to_end(trunk)
        while len(self._said) > _JUDGED_TRUNKS:
            self._said.popitem(last=False)

    def _need_evaluation(self) -> None:
        if not self._shape.grammar.evaluation:
            raise InputError(
                f"A model with the grammar {self._shape.grammar.style} judges no evidence.",
                remedy="Retrieve by another retriever, or train the grammar unims.",
            )

    # planning

    def _orders(self, orders: Sequence[Order], *, check: bool) -> OrderTree[Order]:
        turns = self._ready()[0].turns
        spell = turns.check if check else turns.plan
        return order_tree({tuple(order): spell(tuple(order)) for order in orders})

    @staticmethod
    def _choosing(tree: OrderTree[Order], planted: Planted, first: int) -> TreeRow:
        return TreeRow(planted.segments, tuple((first + fork.segment, -1) for fork in tree.forks))

    @staticmethod
    def _order_probabilities(passes: Passes, tree: OrderTree[Order], states: Tensor) -> dict[Order, float]:
        probabilities = []
        for fork, state in zip(tree.forks, states, strict=True):
            logits = passes.logits(state[None], fork.tokens)[0].tolist()
            probabilities.append(dict(zip(fork.tokens, logits, strict=True)))
        return tree.probabilities(probabilities)

    # writing

    def _prepared(self, opened: LoadedUnified, request: Writing) -> tuple[TreeRow, dict[str, str | float]]:
        """The row of a response, and notes on what found no room."""
        fitted, dropped = turn_trees.fit_evidence(opened.turns, request)
        prepared = turn_trees.writing(opened.turns, fitted)
        notes = turn_trees.left_out_notes(opened.turns, fitted, prepared, dropped)
        return TreeRow(prepared.segments, ((len(prepared.segments) - 1, -1),)), notes

    def _tokens(
        self,
        opened: LoadedUnified,
        passes: Passes,
        rows: Sequence[TreeRow],
        answers: Sequence[AnswerText],
        *,
        requests: Sequence[Writing],
        max_tokens: int,
    ) -> Iterator[None]:
        """Decode one token at a time for all rows together and yield after each.

        Equal rows are read once; rows that have ended are dropped when they are half of all.
        """
        ends, read = frozenset((opened.turns.end,)), {row: place for place, row in enumerate(dict.fromkeys(rows))}
        with self._lock:
            try:
                reading = passes.begin(list(read))
                if len(read) < len(rows):
                    passes.spread(reading, [read[row] for row in rows])
            except torch.OutOfMemoryError as error:
                raise out_of_memory(len(rows[0].segments), error) from error
        states = torch.cat(reading.states)
        silent = torch.tensor(self._silent, dtype=torch.long, device=states.device)
        moved = torch.tensor([one.ending for one in requests], device=states.device)
        going = list(range(len(rows)))
        for step in range(min(max_tokens, self._shape.response)):
            logits = passes.spoken(states).index_fill_(-1, silent, -torch.inf)  # (B, V), where the model is
            logits[:, opened.turns.end] += moved
            if not step:
                logits[:, opened.turns.end] = -torch.inf  # something is said
            tokens = next_tokens(logits, [requests[i] for i in going], step)
            logprobs = (logits.gather(-1, tokens[:, None])[:, 0] - logits.logsumexp(-1)).tolist()
            for i, token, logprob in zip(going, tokens.tolist(), logprobs, strict=True):
                answers[i].take(token, logprob, ends, opened.causal.text)
            yield
            remaining = [place for place, i in enumerate(going) if not answers[i].finish]
            if not remaining:
                return
            if 2 * len(remaining) <= len(going):
                passes.spread(reading, remaining)
                going, tokens, moved = [going[place] for place in remaining], tokens[remaining], moved[remaining]
            if step + 1 < min(max_tokens, self._shape.response):
                states = passes.go_on(reading, tokens)

    @staticmethod
    def _marks(opened: LoadedUnified) -> tuple[str, ...]:
        """Cut a response before a special token, where those are plain text."""
        turns = opened.turns
        return tuple(map(str, turns.shape.grammar.indicators)) if turns.spelling.way == "text" else ()

    # loading

    def _ready(self) -> tuple[LoadedUnified, Passes]:
        with self._lock:
            if self._opened is None:
                opened = self._load()
                kind = _kind(opened.causal)
                room = _KEPT[kind] if self._kept_tokens is None else self._kept_tokens
                tokens = self._pass_tokens or _PASS[kind]
                self._silent = _unspoken(opened)
                self._opened = opened, Passes(opened.causal, kept_tokens=room, pass_tokens=tokens)
            return self._opened

    def _most_packed(self) -> int:
        return self._packed_tokens or _PACKED[_kind(self._ready()[0].causal)]


def _kind(causal: Causal) -> str:
    return "cuda" if causal.device.startswith("cuda") else "cpu"


def _size(row: TreeRow) -> int:
    return sum(len(segment.tokens) for segment in row.segments)


def _unspoken(opened: LoadedUnified) -> list[int]:
    """The special tokens, which a response must not contain."""
    turns, way = opened.turns, opened.turns.spelling.way
    if way == "text":
        return []
    single = {ids[0] for ids in turns.spelling.ids.values() if len(ids) == 1}
    spoken = {one for one in single if way != "rows" and turns.encode(opened.causal.text([one])) == [one]}
    return sorted(single - spoken - {turns.end})
