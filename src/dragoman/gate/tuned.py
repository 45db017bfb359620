"""RAGate-PEFT: a language model with a low-rank adapter that was trained to say True or False."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from dragoman import prompts
from dragoman.core.protocols import LanguageModel, Reader
from dragoman.core.registry import gates
from dragoman.core.values import Context, Evidence, Prompt, Source, Verdict
from dragoman.gate.inputs import Given, Inputs
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
    """Decides by a part that `dragoman train gate-tuned` made: the probability of True against False, calibrated.

    The part says what is read. For `resp` a `reader` is needed; `syn-resp` is its draft too, or else the agent's
    language model's. A part that reads `know` looks first and decides when it is asked again with the evidence.
    `threshold` stands in for the part's own, `base` for where the language model lay in training; `runtime` is
    llama.cpp where the part has its adapter in that format, else torch.
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
        """The probability from which something is looked up."""
        return self._open()[0].part.head(HEAD).threshold(LABEL) if self._threshold is None else self._threshold

    @property
    def reads_evidence(self) -> bool:
        """Whether the agent is to ask again when it has evidence."""
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
            return [Verdict(True, 1.0, "decides when it has seen the evidence")] * len(turns)
        given = inputs.gather(
            turns, evidence, reader=self._reader, language_model=self._language_model, sources=self._sources
        )
        threshold = self.threshold
        found = chooser.probabilities(tuned_prompts(inputs, given, str(chooser.part.options["prompt"])), HEAD)
        return [
            Verdict(probability >= threshold, probability, f"probability {probability:.2f}, threshold {threshold:.2f}")
            for probability in found
        ]

    def _open(self) -> tuple[Chooser, Inputs]:
        with self._lock:
            if self._opened is None:
                part = open_part(self._part, kind=KIND, folder=self._folder)
                chooser = Chooser(part, base=self._base, runtime=self._runtime, device=self._device)
                self._opened = chooser, Inputs.from_json(part.options["inputs"])
            return self._opened


def tuned_prompts(inputs: Inputs, given: Sequence[Given], name: str = PROMPT) -> list[Prompt]:
    """What the model is asked about some turns: the fields of the inputs, each under its title, then the question."""
    language = inputs.view.language
    template = prompts.get(name, language)
    titles = _TITLES.get(language, _TITLES["en"])
    asked = []
    for one in given:
        blocks = [f"{titles[field]}\n{text or _NOTHING}" for field, text in inputs.texts(one).items()]
        asked.append(template.format(inputs="\n\n".join(blocks)))
    return asked
