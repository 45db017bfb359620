"""Chinese text that was released with spaces between words."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from dragoman.core.errors import ConfigError
from dragoman.core.examples import Label
from dragoman.datasets.reading import OneFile

Spaces: TypeAlias = Literal["remove", "keep"]

# Space stays where it stands between two words of English or two numbers, with their punctuation.
_SPACE = re.compile(r"((?<=[A-Za-z0-9.,!?;:)'\"%])\s+(?=[A-Za-z0-9('\"$]))|\s+")


def without_spaces(text: str) -> str:
    """Return the text without spaces between Chinese words; those between ASCII words stay."""
    return _SPACE.sub(lambda space: " " if space[1] else "", text.strip())


def spaced(text: str, spaces: Spaces) -> str:
    """Return the text with spaces joined or kept, by option."""
    return without_spaces(text) if spaces == "remove" else text


class SpacedFile(OneFile):
    """Base of Chinese sets whose files have spaces between words; `spaces` says whether they stay."""

    name: str
    language = "zh"
    labels: frozenset[Label] = frozenset({"retrieve", "plan", "evidence", "reply"})

    def __init__(self, *, file: Path, spaces: Spaces = "remove") -> None:
        if spaces not in get_args(Spaces):
            raise ConfigError(
                f"dataset.{self.name}: spaces = '{spaces}' is not known.", remedy="Use 'remove' or 'keep'."
            )
        super().__init__(file)
        self._spaces: Spaces = spaces
