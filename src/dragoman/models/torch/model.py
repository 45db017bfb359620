"""A language model in torch, from a transformers folder or a GGUF file, with or without an adapter.

For models that llama.cpp does not run, and for adapters that were trained here; needs the extra `train`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dragoman.core.errors import ConfigError, MissingExtraError
from dragoman.core.registry import models
from dragoman.core.values import Draft, Prompt, Sampling, Usage
from dragoman.models.choice import END, Tokens, check_options, walk
from dragoman.models.metering import record, recorded
from dragoman.models.torch.answer import AnswerText

if TYPE_CHECKING:
    from torch import Tensor

    from dragoman.models.torch.causal_lm import Causal, Quantise

log = logging.getLogger(__name__)


@models.register("hf.v1")
class HfModel:
    """A causal model by path or catalogue name; `adapter` is a folder with a LoRA adapter for it.

    `device` is "cpu", "cuda" or "auto"; `quantise` loads four bits on a GPU with bitsandbytes. Prompts longer than
    `context_tokens` lose their oldest messages, never the system message or the last one.
    """

    takes_sampling = True

    def __init__(
        self,
        *,
        weights: str = "smollm2-135m-instruct",
        adapter: str | None = None,
        merge: bool = True,
        device: Literal["auto", "cpu", "cuda"] = "auto",
        quantise: Literal["auto", "4bit", "none"] = "none",
        precision: Literal["auto", "float32", "bfloat16"] = "auto",
        context_tokens: int = 2048,
        batch: int = 8,
        temperature: float = 0.0,
        seed: int = 0,
        folder: Path | None = None,
    ) -> None:
        if context_tokens < 128 or batch < 1 or temperature < 0:
            raise ConfigError(
                "The language model's context_tokens, batch or temperature is too small.",
                remedy="Give context_tokens of at least 128, batch of at least 1, temperature from 0.",
            )
        self._weights = weights
        self._adapter = adapter
        self._merge = merge
        self._device = device
        self._quantise: Quantise = quantise
        self._precision: Literal["auto", "float32", "bfloat16"] = precision
        self._context_tokens = context_tokens
        self._batch = batch
        self._temperature = temperature
        self._seed = seed
        self._folder = folder
        self._lock = threading.Lock()
        self._loaded: Causal | None = None

    def warm_up(self) -> None:
        """Load the weights, and fetch them first where they are missing."""
        self._load()

    def close(self) -> None:
        """Free the weights."""
        with self._lock:
            self._loaded = None

    def generate(self, prompts: Sequence[Prompt], *, max_tokens: int, stop: Sequence[str] = ()) -> Sequence[Draft]:
        if not prompts:
            return []
        causal = self._load()
        rows = [self._row(causal, prompt, max_tokens) for prompt in prompts]
        drafts: list[Draft] = [Draft("")] * len(rows)
        for sampling in dict.fromkeys(prompt.sampling for prompt in prompts):  # a batch is drawn in one way
            alike = [i for i, prompt in enumerate(prompts) if prompt.sampling == sampling]
            for places in by_length([rows[i] for i in alike], self._batch):
                choices = [alike[place] for place in places]
                writings = [AnswerText(len(rows[i]), stop) for i in choices]
                for _ in self._write(causal, [rows[i] for i in choices], writings, max_tokens, sampling):
                    pass
                for i, writing in zip(choices, writings, strict=True):
                    drafts[i] = writing.draft()
        return recorded(drafts)

    def stream(self, prompt: Prompt, *, max_tokens: int, stop: Sequence[str] = ()) -> Iterator[str | Draft]:
        """Text pieces, then the draft; closing the iterator stops the generation."""
        causal = self._load()
        row = self._row(causal, prompt, max_tokens)
        writing = AnswerText(len(row), stop)
        for _ in self._write(causal, [row], [writing], max_tokens, prompt.sampling):
            if piece := writing.fresh():
                yield piece
        if piece := writing.fresh(last=True):
            yield piece
        yield from recorded([writing.draft()])

    def choose(self, prompts: Sequence[Prompt], options: Sequence[str]) -> Sequence[Mapping[str, float]]:
        """Exact probabilities over the options: decoding is restricted to them at every token."""
        import torch

        check_options(options)
        if len(options) == 1 or not prompts:
            return [{options[0]: 1.0} for _ in prompts]
        causal = self._load()
        sequences = causal.answers(options)
        rows = [self._row(causal, prompt, _answer_room()) for prompt in prompts]
        choices: list[Mapping[str, float]] = [{}] * len(rows)
        with torch.inference_mode():
            for batch in by_length(rows, self._batch):
                first = causal.logits([rows[i] for i in batch]).cpu()  # (B, V)
                for i, logits in zip(batch, first, strict=True):
                    choices[i] = _choice(causal, rows[i], logits, sequences)
                    record(Usage(len(rows[i]), 1, 1))
        return choices

    def _row(self, causal: Causal, prompt: Prompt, answer_tokens: int) -> list[int]:
        room = max(self._context_tokens - answer_tokens, self._context_tokens // 2)
        return causal.encode(prompt.messages, room)

    def _write(
        self,
        causal: Causal,
        rows: Sequence[Sequence[int]],
        writings: Sequence[AnswerText],
        max_tokens: int,
        sampling: Sampling | None,
    ) -> Iterator[None]:
        """Decode one token at a time for all rows together and yield after each. Rows are padded on the left."""
        import torch

        longest = max(len(row) for row in rows)
        ids = torch.tensor([[0] * (longest - len(row)) + list(row) for row in rows])  # (B, T)
        mask = torch.tensor([[0] * (longest - len(row)) + [1] * len(row) for row in rows])
        sampling = sampling or Sampling()
        temperature = self._temperature if sampling.temperature is None else sampling.temperature
        chance = torch.Generator().manual_seed(self._seed if sampling.seed is None else sampling.seed)
        ends, cache = causal.ends, None
        for _ in range(max_tokens):
            places = (mask.cumsum(-1) - 1).clamp(min=0)[:, -ids.shape[1] :]
            with torch.inference_mode():
                output = causal.model(
                    input_ids=ids.to(causal.device),
                    attention_mask=mask.to(causal.device),
                    position_ids=places.to(causal.device),
                    past_key_values=cache,
                    use_cache=True,
                    logits_to_keep=1,
                )
                cache = output.past_key_values
                logits = output.logits[:, -1].float().cpu()  # (B, V)
                tokens = _next(logits, temperature, chance)
                logprobs = logits.log_softmax(-1).gather(-1, tokens[:, None])[:, 0]
            for writing, token, logprob in zip(writings, tokens.tolist(), logprobs.tolist(), strict=True):
                writing.take(token, logprob, ends, causal.text)
            yield
            if all(writing.finish for writing in writings):
                return
            ids = tokens[:, None]
            mask = torch.cat((mask, torch.ones_like(ids)), dim=-1)

    def _load(self) -> Causal:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._read()
            return self._loaded

    def _read(self) -> Causal:
        require_torch("A language model in torch")
        from dragoman.models.torch.causal_lm import load_causal

        device = pick_device(self._device)
        causal = load_causal(self._weights, device=device, quantise=self._quantise, precision=self._precision)
        if self._adapter is None:
            return causal
        from dragoman.models.torch.lora import load_adapter

        own = Path(self._adapter).expanduser()
        beside = self._folder / own if self._folder is not None else own
        return load_adapter(causal, own if own.is_dir() else beside, merge=self._merge and self._quantise == "none")


def by_length(rows: Sequence[Sequence[int]], batch: int) -> Iterator[list[int]]:
    """Batches of row numbers, rows of similar length together."""
    order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
    for start in range(0, len(order), batch):
        yield order[start : start + batch]


def pick_device(device: str) -> str:
    """ "auto" as what is there."""
    import torch

    if device == "cuda" and not torch.cuda.is_available():
        raise ConfigError("There is no CUDA device here.", remedy='Set device = "auto" or "cpu".')
    return ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device


def require_torch(what: str) -> None:
    """Raise an error that says what to install where torch, transformers or PEFT is missing."""
    try:
        import peft  # noqa: F401
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            f"{what} needs the package {error.name or 'torch'}.",
            remedy="Run: pip install 'dragoman[train]'",
            extra="train",
        ) from error


def _answer_room() -> int:
    from dragoman.models.torch.causal_lm import ANSWER_ROOM

    return ANSWER_ROOM


def _choice(causal: Causal, row: Sequence[int], first: Tensor, sequences: Mapping[str, Tokens]) -> dict[str, float]:
    """Probabilities of one prompt's options; `first` are the logits of its next token."""
    end = min(causal.ends, default=0)

    def logprobs(prefix: Tokens, among: Sequence[int]) -> Mapping[int, float]:
        logits = causal.logits([[*row, *prefix]])[0].cpu() if prefix else first
        return {token: float(logits[end if token == END else token]) for token in among}

    return walk(sequences, logprobs)


def _next(logits: Tensor, temperature: float, chance: Any) -> Tensor:
    """The next token of each row: the most probable one, or drawn at a temperature."""
    if not temperature:
        return logits.argmax(-1)
    import torch

    return torch.multinomial((logits / temperature).softmax(-1), 1, generator=chance)[:, 0]
