"""Labels by a prompted language model (UniMS-RAG Fig. 4): one candidate at a time by `choose`, or a list at once.

`choose` reads the model's own probabilities of the eleven scores, and nothing has to be parsed. The list is the paper's
way: one prompt a pool, cheap where a call costs money. Its answer is read strictly; one that cannot be read is shown to
the model again, since the same question would get the same answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from dragoman import prompts
from dragoman.core.codec import Json
from dragoman.core.values import Message, Passage, Prompt
from dragoman.models.base_weights import base_digest
from dragoman.retriever.prompted import SCORES, expected_score
from dragoman.train.relevance.answer_cache import AnswerCache
from dragoman.train.relevance.candidate_pools import CandidatePool
from dragoman.train.relevance.methods import Judged, Unanswered

CHOOSE, LIST, AGAIN = "relevance.v1", "relevance-list.v1", "relevance-list-again.v1"
_MOST_NOTES = 20
"""Most candidates in one prompt; larger pools take several."""
_MOST_TOKENS = 12 * (_MOST_NOTES + 1)
"""Equal for every prompt, since it is part of the cache key."""
_SHOWN = 600
"""Most characters of an answer that is shown to the model again."""
_BETWEEN = re.compile(r"[,，;；\n]")
_ENTRY = re.compile(r"\[(\d{1,4})\] ?[:：] ?(0(?:\.\d)?|1(?:\.0)?)")
_SPEED = frozenset({"timeout", "retries", "concurrency", "threads", "parallel", "batch", "device", "key_env"})
"""Options of a model that do not change its answers."""


class _PromptedLabels:
    """Base of labels by a language model: the model, the language of its prompts, and the turns that they show."""

    def __init__(self, answers: AnswerCache, *, model: Mapping[str, Json], language: str, turns: int = 3) -> None:
        self._answers = answers
        self._model = model
        self._language = language
        self._turns = turns

    @property
    def paid(self) -> int:
        """Prompts that went to the model so far."""
        return self._answers.paid

    def _about(self, ask: str, *names: str, **settings: Json) -> Mapping[str, Json]:
        return {
            "method": "prompted",
            "version": 1,
            "ask": ask,
            "turns": self._turns,
            **settings,
            "prompts": _hashes(self._language, *names),
            "model": dict(self._model),
        }


class ChosenLabels(_PromptedLabels):
    """The expected score over the model's probabilities of 0.0, 0.1 .. 1.0, as `retriever.prompted` has it."""

    @property
    def about(self) -> Mapping[str, Json]:
        return self._about("choose", CHOOSE)

    def judge(self, pools: Sequence[CandidatePool]) -> list[Judged]:
        prompts = [self._prompt(pool, passage) for pool in pools for passage in pool.candidates]
        answers = iter(self._answers.choose(prompts, SCORES))
        return [[expected_score(next(answers)) for _ in pool.candidates] for pool in pools]

    def _prompt(self, pool: CandidatePool, passage: Passage) -> Prompt:
        return prompts.get(CHOOSE, self._language).format(
            dialogue=prompts.dialogue(pool.example.context, self._language, last=self._turns),
            evidence=f"- {_line(passage)}",
        )


class ListedLabels(_PromptedLabels):
    """Scores that the model writes for a numbered list, with at most `retries` repetitions."""

    def __init__(
        self, answers: AnswerCache, *, model: Mapping[str, Json], language: str, turns: int = 3, retries: int = 2
    ) -> None:
        super().__init__(answers, model=model, language=language, turns=turns)
        self._retries = retries

    @property
    def about(self) -> Mapping[str, Json]:
        return self._about("list", LIST, AGAIN, retries=self._retries)

    def judge(self, pools: Sequence[CandidatePool]) -> list[Judged]:
        parts = [
            (nth, pool.candidates[start : start + _MOST_NOTES])
            for nth, pool in enumerate(pools)
            for start in range(0, len(pool.candidates), _MOST_NOTES)
        ]
        read = self._read([self._prompt(pools[nth], notes) for nth, notes in parts], [len(notes) for _, notes in parts])
        judged: list[list[float] | Unanswered] = [[] for _ in pools]
        for (nth, _), scores in zip(parts, read, strict=True):
            before = judged[nth]
            if not isinstance(before, Unanswered):
                judged[nth] = scores if isinstance(scores, Unanswered) else [*before, *scores]
        return list(judged)

    def _read(self, prompts: Sequence[Prompt], counts: Sequence[int]) -> list[list[float] | Unanswered]:
        """Return the scores of each prompt; unreadable answers are requested again together."""
        results: list[list[float] | Unanswered] = [Unanswered("not asked")] * len(prompts)
        waiting = dict(enumerate(prompts))
        for _ in range(self._retries + 1):
            texts = self._answers.generate(list(waiting.values()), max_tokens=_MOST_TOKENS)
            again: dict[int, Prompt] = {}
            for (place, prompt), text in zip(waiting.items(), texts, strict=True):
                results[place] = parse(text, counts[place])
                if isinstance(results[place], Unanswered):
                    again[place] = self._again(prompt, text, counts[place])
            waiting = again
            if not waiting:
                break
        return results

    def _prompt(self, pool: CandidatePool, notes: Sequence[Passage]) -> Prompt:
        return prompts.get(LIST, self._language).format(
            dialogue=prompts.dialogue(pool.example.context, self._language, last=self._turns),
            notes="\n".join(f"[{number}] {_line(note)}" for number, note in enumerate(notes, start=1)),
            count=str(len(notes)),
        )

    def _again(self, prompt: Prompt, text: str, count: int) -> Prompt:
        """Return the prompt with the unreadable answer and the expected form."""
        correction = prompts.get(AGAIN, self._language).format(count=str(count))
        answer = Message("assistant", prompts.neutral(text[:_SHOWN]) or "-")
        return Prompt((*prompt.messages, answer, *correction.messages), prompt.name)


def parse(text: str, count: int) -> list[float] | Unanswered:
    """`[1]: 0.2, [2]: 0.7` as scores in order: every number from 1 to `count` once, tenths only, nothing beside it."""
    shown = f"'{' '.join(text.split())[:80]}'"
    pieces = [piece.strip() for piece in _BETWEEN.split(text.strip().rstrip(".。"))]
    entries = [_ENTRY.fullmatch(piece) for piece in pieces if piece]
    scores = {int(entry[1]): float(entry[2]) for entry in entries if entry is not None}
    if not entries or None in entries:
        return Unanswered(f"the answer {shown} is not a list of scores")
    if len(entries) != count or set(scores) != set(range(1, count + 1)):
        return Unanswered(f"the answer {shown} does not score each of {count} notes once")
    return [scores[number] for number in range(1, count + 1)]


def identity(table: Mapping[str, Json]) -> dict[str, Json]:
    """Return the identity of a language model: options without those of speed, weights and adapter by name and hash."""
    options_by_name: dict[str, Json] = {}
    for name, value in sorted(table.items()):
        if name in ("weights", "adapter") and value:
            options_by_name[name] = {"name": Path(str(value)).name, "sha256": base_digest(str(value))}
        elif name not in _SPEED:
            options_by_name[name] = value
    return options_by_name


def _hashes(language: str, *names: str) -> Json:
    """Return the names of the prompts and the start of their hashes."""
    templates = [prompts.get(name, language) for name in names]
    return {f"{template.language}/{template.name}": template.sha256[:16] for template in templates}


def _line(passage: Passage) -> str:
    """Return a passage on one line with its title and headings."""
    return " ".join(passage.indexed.split())
