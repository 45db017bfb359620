"""Training inputs of a gate besides the dialogue: gold replies, drafted replies, and passages of a BM25 search.

Drafts are cached in the training folder by model and prompt, so that a resumed training writes only missing ones.
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
from dragoman.gate.inputs import GateInput, Inputs, synthetic_replies
from dragoman.train.contract import Corpus, Progress, Report
from dragoman.train.gates.bm25_evidence import found_knowledge

DRAFTS = "drafts.jsonl"
_AT_ONCE = 32


def gate_examples(corpus: Corpus, inputs: Inputs, drafts: Mapping[str, str] | None = None) -> list[GateInput]:
    """The examples as a gate reads them. `resp` is the gold reply, `know` the passages of a BM25 search; `drafts` are
    by the dialogue's key."""
    knowledge: Sequence[tuple[str, ...]] = [()] * len(corpus.examples)
    if inputs.reads_evidence:
        knowledge = found_knowledge(corpus, inputs.k, language=inputs.view.language)
    return [
        GateInput(
            example.context,
            reply=gold_reply(example) if "resp" in inputs.fields else "",
            synthetic=(drafts or {})[draft_key(example.context)] if "syn-resp" in inputs.fields else "",
            evidence=evidence,
            sources=example.sources,
        )
        for example, evidence in zip(corpus.examples, knowledge, strict=True)
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
    """A draft without evidence for every example, by its dialogue's key; the folder caches them."""
    of = f"{drafter} {max_tokens} {prompts.get('chat.v1', language).sha256}"
    drafts = _read(folder / DRAFTS, of)
    contexts = {draft_key(example.context): example.context for example in examples}
    missing = [key for key in contexts if key not in drafts]
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / DRAFTS).open("a", encoding="utf-8") as file:
        for start in range(0, len(missing), _AT_ONCE):
            report(Progress("Drafting", start, len(missing)))
            keys = missing[start : start + _AT_ONCE]
            texts = synthetic_replies(language_model, [contexts[key] for key in keys], language, max_tokens)
            for key, text in zip(keys, texts, strict=True):
                drafts[key] = text
                file.write(json.dumps({"of": of, "key": key, "draft": text}, ensure_ascii=False) + "\n")
            file.flush()
    return {key: drafts[key] for key in contexts}


def draft_key(context: Context) -> str:
    """The key of a dialogue: a hash of its turns."""
    text = json.dumps([(turn.speaker, turn.text) for turn in context.turns])
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _read(file: Path, of: str) -> dict[str, str]:
    if not file.is_file():
        return {}
    drafts = {}
    with file.open("rb+") as opened:
        whole = 0
        for line in opened:
            if not line.endswith(b"\n"):
                break  # drop a line that a kill cut short
            whole += len(line)
            try:
                row = json.loads(line)
            except ValueError as error:
                raise TrainingError(
                    f"'{file}' cannot be read: {error}.", remedy="Remove it: it is made anew."
                ) from error
            if row["of"] == of:
                drafts[row["key"]] = row["draft"]
        opened.truncate(whole)
    return drafts


def gold_reply(example: Example) -> str:
    """The field `resp` in training: the dataset's reply."""
    if example.gold.reply is None:
        raise TrainingError(
            f"The turn '{example.id}' has no reply, and the gate is to read 'resp'.",
            remedy='Give a set with replies, or take "syn-resp" instead.',
            example=example.id,
        )
    return example.gold.reply
