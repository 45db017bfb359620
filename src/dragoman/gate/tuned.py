"""RAGate-PEFT: a language model with a low-rank adapter trained to answer True or False."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from dragoman import prompts
from dragoman.core.protocols import LanguageModel, Reader
from dragoman.core.registry import gates
from dragoman.core.values import Context, Evidence, Prompt, Source, Verdict
from dragoman.gate.inputs import GateInput, Inputs
from dragoman.gate.verdicts import AWAITS_EVIDENCE, by_threshold
from dragoman.models.adapter_chooser import Chooser
from dragoman.models.part import open_part

KIND = "gate.tuned"
HEAD = "gate"
LABEL = "retrieve"
OPTIONS = ("True", "False")
PROMPT = "gate-tuned.v1"
_TITLES = {
    "en": {
        "contx": "Dialogue:",
        "resp": "Reply:",
        "syn-resp": "A reply without outside knowledge:",
        "ner": "Names and numbers in it:",
        "know": "Knowledge:",
        "source": "Sources:",
    },
    "zh": {
        "contx": "对话：",
        "resp": "回复：",
        "syn-resp": "不查资料时的回复：",
        "ner": "其中的名称和数字：",
        "know": "资料：",
        "source": "来源：",
    },
}
_NOTHING = "NULL"


@gates.register("tuned.v1")
class TunedGate:
    """Gate with a part of `dragoman train gate-tuned`: the calibrated probability of True against False.

    The part names its input fields. `resp` needs a `reader`; `syn-resp` needs a reader or the agent's language model.
    With `know` the gate opens first and decides on the second call, with evidence. `threshold` replaces the part's,
    `base` the path of the language model in training; `runtime` "auto" uses llama.cpp if the part has its adapter in
    that format, otherwise torch.
    """

    def __init__(
        self,
        *,
        part: str,
        reader: Reader | None = None,
        language_model: LanguageModel | None = None,
        sources: tuple[Source, ...] = (),
        threshold: float | None = None,
        base: str | None = None,
        runtime: Literal["auto", "torch", "llamacpp"] = "auto",
        device: Literal["auto", "cpu", "cuda"] = "auto",
        folder: Path | None = None,
    ) -> None:
        self._part = part
        self._reader = reader
        self._language_model = language_model
        self._sources = sources
        self._threshold = threshold
        self._base = base
        self._runtime: Literal["auto", "torch", "llamacpp"] = runtime
        self._device: Literal["auto", "cpu", "cuda"] = device
        self._folder = folder
        self._lock = threading.Lock()
        self._opened: tuple[Chooser, Inputs] | None = None

    @property
    def threshold(self) -> float:
        """The probability at which the gate opens."""
        return self._open()[0].part.head(HEAD).threshold(LABEL) if self._threshold is None else self._threshold

    @property
    def reads_evidence(self) -> bool:
        """Whether the agent must call `decide` again with evidence."""
        return self._open()[1].reads_evidence

    def warm_up(self) -> None:
        """Load the weights."""
        self._open()[0].warm_up()

    def close(self) -> None:
        """Free the weights."""
        if self._opened is not None:
            self._opened[0].close()

    def decide(
        self, turns: Sequence[Context], evidence: Sequence[Sequence[Evidence]] | None = None
    ) -> Sequence[Verdict]:
        if not turns:
            return []
        chooser, inputs = self._open()
        if inputs.reads_evidence and evidence is None:
            return [AWAITS_EVIDENCE] * len(turns)
        gate_inputs = inputs.gather(
            turns, evidence, reader=self._reader, language_model=self._language_model, sources=self._sources
        )
        threshold = self.threshold
        probabilities = chooser.probabilities(
            tuned_prompts(inputs, gate_inputs, str(chooser.part.options["prompt"])), HEAD
        )
        return [by_threshold(probability, threshold) for probability in probabilities]

    def _open(self) -> tuple[Chooser, Inputs]:
        with self._lock:
            if self._opened is None:
                part = open_part(self._part, kind=KIND, folder=self._folder)
                chooser = Chooser(part, base=self._base, runtime=self._runtime, device=self._device)
                self._opened = chooser, Inputs.from_json(part.options["inputs"])
            return self._opened


def tuned_prompts(inputs: Inputs, turns: Sequence[GateInput], name: str = PROMPT) -> list[Prompt]:
    """Return the prompts of turns: each input field under its title, then the question."""
    language = inputs.view.language
    template = prompts.get(name, language)
    titles = _TITLES.get(language, _TITLES["en"])
    gate_prompts = []
    for one in turns:
        blocks = [f"{titles[field]}\n{text or _NOTHING}" for field, text in inputs.texts(one).items()]
        gate_prompts.append(template.format(inputs="\n\n".join(blocks)))
    return gate_prompts
