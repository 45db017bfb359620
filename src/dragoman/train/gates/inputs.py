"""What a gate reads besides the dialogue, for training: gold replies, drafted ones, what a plain search finds.

Drafts are written once and kept in the training folder, by what was asked of whom, so that a training that goes on
drafts only what is missing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from dragoman import prompts
from dragoman.core.errors import TrainingError
from dragoman.core.examples import Example
from dragoman.core.protocols import LanguageModel
from dragoman.core.values import Context
from dragoman.gate.inputs import Given, Inputs, drafted
from dragoman.train.contract import Corpus, Progress, Report
from dragoman.train.gates.bm25_evidence import found_knowledge

DRAFTS = "drafts.jsonl"
_AT_ONCE = 32


def gathered(corpus: Corpus, inputs: Inputs, drafts: Mapping[str, str] | None = None) -> list[Given]:
    """The examples as a gate reads them. `resp` is the gold reply, `know` what a plain search finds; `drafts` go by the
    dialogue's key."""
    found: Sequence[tuple[str, ...]] = [()] * len(corpus.examples)
    if inputs.reads_evidence:
        found = found_knowledge(corpus, inputs.k, language=inputs.view.language)
    return [
        Given(
            example.context,
            reply=gold_reply(example) if "resp" in inputs.fields else "",
            synthetic=(drafts or {})[draft_key(example.context)] if "syn-resp" in inputs.fields else "",
            evidence=evidence,
            sources=example.sources,
        )
        for example, evidence in zip(corpus.examples, found, strict=True)
    ]


def kept_drafts(
    examples: Sequence[Example],
    language_model: LanguageModel,
    folder: Path,
    *,
    drafter: str,
    language: str,
    max_tokens: int,
    report: Report,
) -> dict[str, str]:
    """A draft without evidence for every example, by its dialogue's key; those that the folder has are not redone."""
    of = f"{drafter} {max_tokens} {prompts.get('chat.v1', language).sha256}"
    found = _read(folder / DRAFTS, of)
    contexts = {draft_key(example.context): example.context for example in examples}
    missing = [key for key in contexts if key not in found]
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / DRAFTS).open("a", encoding="utf-8") as file:
        for start in range(0, len(missing), _AT_ONCE):
            report(Progress("Drafting", start, len(missing)))
            keys = missing[start : start + _AT_ONCE]
            texts = drafted(language_model, [contexts[key] for key in keys], language, max_tokens)
            for key, text in zip(keys, texts, strict=True):
                found[key] = text
                file.write(json.dumps({"of": of, "key": key, "draft": text}, ensure_ascii=False) + "\n")
            file.flush()
    return {key: found[key] for key in contexts}


def draft_key(context: Context) -> str:
    """A dialogue by its words."""
    told = json.dumps([(turn.speaker, turn.text) for turn in context.turns])
    return hashlib.sha256(told.encode()).hexdigest()[:32]


def _read(file: Path, of: str) -> dict[str, str]:
    if not file.is_file():
        return {}
    found = {}
    with file.open("rb+") as opened:
        whole = 0
        for line in opened:
            if not line.endswith(b"\n"):
                break  # a kill in the middle of a line: what is left of it goes
            whole += len(line)
            try:
                row = json.loads(line)
            except ValueError as error:
                raise TrainingError(
                    f"'{file}' cannot be read: {error}.", remedy="Remove it: it is made anew."
                ) from error
            if row["of"] == of:
                found[row["key"]] = row["draft"]
        opened.truncate(whole)
    return found


def gold_reply(example: Example) -> str:
    """What `resp` is in training: the reply that the set gives."""
    if example.gold.reply is None:
        raise TrainingError(
            f"The turn '{example.id}' has no reply, and the gate is to read 'resp'.",
            remedy='Give a set with replies, or take "syn-resp" instead.',
            example=example.id,
        )
    return example.gold.reply
