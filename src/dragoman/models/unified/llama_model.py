"""A unified model in the embedded llama.cpp: plans, judges and writes without torch.

The server keeps what it read last and reads a prompt from where it differs. So a turn is one slot's, its candidates
are asked depth first, and the dialogue is read once for all that a turn asks. Several candidates in one batch would
have to lie in a slot each, and this server shares no prefix between slots but through files on disk, where what
people say has no place; on a processor, where a token costs nearly the same in a batch of 25 as in one of 500, it
would save little.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from dragoman.core.caches import keeps_texts
from dragoman.core.environment import cores
from dragoman.core.errors import ConfigError, InputError, WeightsError
from dragoman.core.tokens import EVALUATION, STEPS
from dragoman.core.values import Context, Draft
from dragoman.models.choice import normalise, walk
from dragoman.models.llamacpp.calls import CollectedText, NextTokens, each, ignore, streamed
from dragoman.models.llamacpp.server import LlamaServer
from dragoman.models.llamacpp.slots import Slots
from dragoman.models.metering import recorded
from dragoman.models.part import Part
from dragoman.models.unified import turn_trees
from dragoman.models.unified.model import TOP_P, Judging, Order, TreeShape, TurnTokens, Writing
from dragoman.models.unified.source_names import BETWEEN
from dragoman.models.unified.token_spelling import Spelling
from dragoman.models.unified.turn_lines import Line, PlainLine, lines_of
from dragoman.models.unified.vocabularies import LlamaVocabulary

ADAPTER = "adapter.gguf"
_LEAST_WINDOW = 256
_TEXTS = 4096
"""Size of the cache of texts' tokens: passages are judged again and again."""
_JUDGED_TRUNKS = 16
_HALF_READ, _LONG_CHARACTER = "\ufffd", 4


class LlamaUnified:
    """The runtime of a unified part in llama.cpp; weights are loaded on first use, and again after `close`.

    Inputs:
        base: the path of the base, if it is not the part's.
        context_tokens: the window, if it is not that of training.
        parallel: the number of dialogues whose prompts stay cached.
    """

    def __init__(
        self,
        part: Part,
        *,
        base: str | None = None,
        threads: int | None = None,
        context_tokens: int | None = None,
        parallel: int = 2,
    ) -> None:
        shape = TreeShape.from_json(part.options["shape"])
        if context_tokens is not None:
            shape = replace(shape, window=context_tokens)
        least = max(_LEAST_WINDOW, shape.response + shape.candidate + 64)
        if (context_tokens is not None and shape.window < least) or parallel < 1 or (threads or 1) < 1:
            raise ConfigError(
                f"A unified model cannot run with context_tokens {shape.window}, parallel {parallel}, "
                f"threads {threads}.",
                remedy=f"Give context_tokens of at least {least}, parallel and threads of at least 1.",
            )
        self._spelling = Spelling.from_json(part.options["spelling"])
        _refuse_other_runtimes(part, shape, self._spelling)
        self._end = int(part.options["end"])
        weights = base or str(part.options["base"])
        # one token more than the window, which is the one that is asked for
        room, count = max(shape.window + 1, _LEAST_WINDOW), threads or cores()
        self.server = LlamaServer(weights, room, parallel, count, part.file(ADAPTER))
        self.vocabulary = LlamaVocabulary(self.server)
        self._encode = lru_cache(_TEXTS)(lambda text: tuple(self.vocabulary.encode(text)))
        self.turns = TurnTokens(shape, self._spelling, lambda text: list(self._encode(text)), self._end)
        self._next = NextTokens(self.server)
        self._slots = Slots(parallel)
        self._parallel = parallel
        self._said: OrderedDict[Line, dict[Line, float]] = OrderedDict()
        self._lock = threading.Lock()
        self._written: dict[str, Any] | None = None
        keeps_texts(self)

    @property
    def shape(self) -> TreeShape:
        return self.turns.shape

    def warm_up(self) -> None:
        """Load the weights."""
        self.server.load()

    def close(self) -> None:
        """Free the weights; they are loaded again when they are needed."""
        self.server.close()
        self._forget()

    def clear_cache(self) -> None:
        """Drop all cached dialogues."""
        self._forget()
        if self.server.is_loaded:
            self.server.clear_slots(self._next.end)

    def plan(self, contexts: Sequence[Context], orders: Sequence[Order]) -> list[dict[Order, float]]:
        orders_by_text = {BETWEEN.join(order): tuple(order) for order in orders}
        if not orders_by_text:
            raise InputError("There is no order of sources to choose from.", remedy="Give at least one; () is NULL.")
        sequences = {name: self.turns.plan(order) for name, order in orders_by_text.items()}

        def chances(context: Context) -> dict[Order, float]:
            trunk = turn_trees.trunk(self.turns, context).segments[0].tokens
            slot = self._slots.take(trunk)
            probabilities = walk(
                sequences, lambda prefix, among: self._next.logprobs((*trunk, *prefix), among, slot=slot)
            )
            return {orders_by_text[name]: chance for name, chance in probabilities.items()}

        return self._one_by_one(contexts, chances)

    def judge(self, requests: Sequence[Judging]) -> list[list[float]]:
        if not self.shape.grammar.evaluation:
            raise InputError(
                f"A model with the grammar {self.shape.grammar.style} judges no evidence.",
                remedy="Retrieve by another retriever, or train the grammar unims.",
            )
        return self._one_by_one(requests, self._judged_in_line if self.shape.layout == "plain" else self._judged)

    def check(
        self, requests: Sequence[Judging], orders: Sequence[Order]
    ) -> list[tuple[dict[Order, float], list[float]]]:
        """Raise an error: a prompt of llama.cpp is one sequence, where no token can see several branches."""
        raise ConfigError(
            "llama.cpp cannot plan after reading candidates.", remedy='Set runtime = "torch", or aware = false.'
        )

    def write(self, requests: Sequence[Writing], *, max_tokens: int) -> list[Draft]:
        cancelled = threading.Event()
        if requests:
            self.server.load()
        drafts = each(
            requests, lambda one: self._run(one, max_tokens, ignore, cancelled), cancelled, workers=self._parallel
        )
        return list(recorded(drafts))

    def stream(self, request: Writing, *, max_tokens: int) -> Iterator[str | Draft]:
        """Text pieces, then the draft; closing the iterator stops the generation."""
        return streamed(lambda emit, cancelled: self._run(request, max_tokens, emit, cancelled))

    # judging

    def _judged(self, request: Judging) -> list[float]:
        """The expected similarity of each candidate; scores on the same dialogue are cached."""
        planted = turn_trees.judging(self.turns, request)
        trunk, lines = planted.segments[0].tokens, lines_of(planted)
        with self._lock:
            scores = self._said.setdefault(trunk, {})
            self._said.move_to_end(trunk)
            while len(self._said) > _JUDGED_TRUNKS:
                self._said.popitem(last=False)
        slot = self._slots.take(trunk)
        for line in sorted({line for line in lines if line not in scores}):  # depth first: a line before its branches
            scores[line] = _expected(self._similarities((*trunk, *line), slot))
        return [scores[line] for line in lines]

    def _judged_in_line(self, request: Judging) -> list[float]:
        """Score each candidate after the earlier ones and their similarities, in one line."""
        line, values, slot = PlainLine(self.turns, request), [], None
        for step in range(len(request.candidates)):
            tokens = line.upto(step)
            slot = self._slots.take(tokens) if slot is None else slot
            chances = self._similarities(tokens, slot)
            values.append(_expected(chances))
            line.say(self._spelling.one(EVALUATION[max(chances, key=lambda tenths: chances[tenths])]))
        return values

    def _similarities(self, tokens: Sequence[int], slot: int) -> dict[int, float]:
        """The probability of each similarity, in tenths, after a prompt."""
        tenths = {self._spelling.one(token): number for number, token in enumerate(EVALUATION)}
        probabilities = normalise(self._next.logprobs(tokens, tuple(tenths), slot=slot))
        return {tenths[token]: chance for token, chance in probabilities.items()}

    # writing

    def _run(self, request: Writing, max_tokens: int, emit: Callable[[str], None], cancelled: threading.Event) -> Draft:
        fitted, dropped = turn_trees.fit_evidence(self.turns, request)
        planted = turn_trees.writing(self.turns, fitted)
        tokens = planted.segments[-1].tokens
        notes = turn_trees.left_out_notes(self.turns, fitted, planted, dropped)
        most = min(max_tokens, self.shape.response)
        body = self._saying() | {"prompt": list(tokens), "n_predict": most, "id_slot": self._slots.take(tokens)}
        if request.ending:
            body["logit_bias"] = [*body["logit_bias"], [self._end, request.ending]]
        if request.temperature:  # as torch draws: hot first, then the most probable
            samplers = {"samplers": ["temperature", "top_p"], "top_p": TOP_P}
            body |= {"temperature": request.temperature, "seed": request.seed, **samplers}
        gathered = CollectedText(emit, cancelled)
        self.server.write(body, gathered.take)
        if gathered.is_empty and not cancelled.is_set():  # something is said
            first, text = self._first(body)
            gathered = CollectedText(emit, cancelled)
            gathered.begin(text, len(first))
            rest = {"prompt": [*tokens, *first], "n_predict": max(most - len(first), 0)}
            self.server.write(body | rest, gathered.take)
        return gathered.draft(notes=notes)

    def _first(self, body: dict[str, Any]) -> tuple[list[int], str]:
        """The first character of a response that must not be empty, in as many tokens as it takes."""
        tokens: list[int] = []
        text = _HALF_READ
        while text.endswith(_HALF_READ) and len(tokens) < _LONG_CHARACTER:
            bias = [*body["logit_bias"], [self._end, False]]
            tokens.append(self.server.next_token(body | {"prompt": [*body["prompt"], *tokens], "logit_bias": bias}))
            text = self.server.text(tokens)
        return tokens, text

    def _saying(self) -> dict[str, Any]:
        """Options of every generation: special tokens are banned, and the end token stops it."""
        with self._lock:
            if self._written is None:
                text = self._spelling.way == "text"
                marks = [str(token) for token in self.shape.grammar.indicators] if text else []
                end = self.server.text([self._end])
                self._written = {
                    "temperature": 0.0,
                    "logprobs": 1,
                    "cache_prompt": True,
                    "stream_options": {"include_usage": True},
                    "logit_bias": [[token, False] for token in self._silent()],
                    # an end that the server does not know for one is text to it, at which it stops
                    "preserved_tokens": [] if self._end == self._next.end else [end],
                    "stop": marks if self._end == self._next.end else [*marks, end],
                }
            return dict(self._written)

    def _silent(self) -> list[int]:
        """The special tokens, which no text contains."""
        if self._spelling.way == "text":
            return []
        single = {ids[0] for ids in self._spelling.ids.values() if len(ids) == 1}
        return sorted(single & set(self.vocabulary.reserved) - {self._end})

    # both

    def _one_by_one(self, requests: Sequence[Any], call: Callable[[Any], Any]) -> list[Any]:
        """One turn at a time: a pass keeps all processors busy, and a second turn would only wait."""
        if requests:
            self.server.load()
        return each(requests, call, threading.Event(), workers=1)

    def _forget(self) -> None:
        with self._lock:
            self._said.clear()
            self._slots.clear()
            self._encode.cache_clear()


def _expected(chances: Mapping[int, float]) -> float:
    """E[s] = sum over tenths of p(s) s."""
    return min(1.0, math.fsum(chance * tenths for tenths, chance in chances.items()) / STEPS)


def _refuse_other_runtimes(part: Part, shape: TreeShape, spelling: Spelling) -> None:
    """Raise an error for a part that only torch can run."""
    obstacle = ""
    if shape.layout == "paper":
        obstacle = "its response sees several branches at once (layout paper)"
    elif spelling.way == "rows":
        obstacle = "its special tokens are new rows, which the base has not"
    elif ADAPTER not in part.files:
        obstacle = f"it has no {ADAPTER}"
    if obstacle:
        raise WeightsError(
            f"The part '{part.folder}' cannot run in llama.cpp: {obstacle}.", remedy='Set runtime = "torch".'
        )
