"""Disk cache of a language model's answers by hash of prompt and model, so that no prompt is paid for twice."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dragoman.core.codec import Json
from dragoman.core.environment import home
from dragoman.core.errors import StoreCorruptError, StoreError
from dragoman.core.protocols import LanguageModel
from dragoman.core.values import Prompt

_AT_ONCE = 16
"""Prompts per write to disk, and so the most that a kill can lose."""
_PATIENCE = 60.0


def default_file() -> Path:
    """Return the default file of the cache."""
    return home() / "answers.db"


class AnswerCache:
    """Model with cached answers. `identity` names the model; prompts are stored as hashes only.

    Several processes may use one file at a time.
    """

    def __init__(self, model: LanguageModel, file: Path, *, identity: Mapping[str, Json]) -> None:
        self._model = model
        self._file = file
        self._identity = identity
        self._database: sqlite3.Connection | None = None
        self.paid = 0
        """Number of prompts that went to the model."""

    def choose(self, prompts: Sequence[Prompt], options: Sequence[str]) -> list[Mapping[str, float]]:
        """Return the probabilities of `choose`, cached."""
        return self._answers(prompts, ["choose", list(options)], lambda new: list(self._model.choose(new, options)))

    def generate(self, prompts: Sequence[Prompt], *, max_tokens: int) -> list[str]:
        """Return the texts of `generate`, cached."""

        def ask(new: Sequence[Prompt]) -> list[str]:
            return [draft.text for draft in self._model.generate(new, max_tokens=max_tokens)]

        return self._answers(prompts, ["generate", max_tokens], ask)

    def close(self) -> None:
        """Close the file, not the model."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def _answers(self, prompts: Sequence[Prompt], how: Json, ask: Callable[[Sequence[Prompt]], list[Any]]) -> list[Any]:
        keys = [self._key(prompt, how) for prompt in prompts]
        with self._opened() as database:
            by_key = _read(database, keys)
            new = list({key: prompt for key, prompt in zip(keys, prompts, strict=True) if key not in by_key}.items())
            for start in range(0, len(new), _AT_ONCE):
                part = new[start : start + _AT_ONCE]
                answers = ask([prompt for _, prompt in part])
                self.paid += len(part)
                rows = {key: json.dumps(answer) for (key, _), answer in zip(part, answers, strict=True)}
                with database:  # one transaction
                    database.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?)", list(rows.items()))
                # read back as text: an answer of today must equal, to the last bit, what a later run will read
                by_key |= {key: json.loads(text) for key, text in rows.items()}
        return [by_key[key] for key in keys]

    def _key(self, prompt: Prompt, how: Json) -> str:
        messages = [[message.role, message.content] for message in prompt.messages]
        return hashlib.sha256(json.dumps([dict(self._identity), how, messages], sort_keys=True).encode()).hexdigest()

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        try:
            if self._database is None:
                self._file.parent.mkdir(parents=True, exist_ok=True)
                # no write-ahead log: a new file is switched to it under a lock that SQLite does not wait for
                self._database = sqlite3.connect(self._file, timeout=_PATIENCE)
                self._database.execute(
                    "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer TEXT NOT NULL)"
                )
            yield self._database
        except sqlite3.DatabaseError as error:
            kind = StoreError if isinstance(error, sqlite3.OperationalError) else StoreCorruptError
            raise kind(
                f"The file of answers {self._file} cannot be used: {error}.",
                remedy="Give another one with --cache, or remove it.",
            ) from error
        except OSError as error:
            raise StoreError(
                f"The file of answers {self._file} cannot be made: {error.strerror}.", remedy="Give --cache FILE."
            ) from error


def _read(database: sqlite3.Connection, keys: Sequence[str]) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    for key in dict.fromkeys(keys):
        row = database.execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
        if row is not None:
            answers[key] = json.loads(row[0])
    return answers
