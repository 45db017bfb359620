"""How a dialogue becomes the text that a trained part reads: the same when it is trained and when it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from dragoman.core.errors import WeightsError
from dragoman.core.values import Context, Turn

_LABELS = {"en": ("User: ", "Agent: "), "zh": ("用户：", "系统：")}


@dataclass(frozen=True, slots=True)
class View:
    """The last `turns` turns (0: all), newest or oldest first, with or without the speakers' labels.

    Newest first is for encoders, which read the beginning of what is too long.
    """

    turns: int = 4
    order: Literal["newest", "oldest"] = "newest"
    labels: bool = True
    language: str = "en"

    def text(self, context: Context) -> str:
        turns = context.turns[-self.turns :] if self.turns else context.turns
        if self.order == "newest":
            turns = turns[::-1]
        return " ".join(self.line(turn) for turn in turns)

    def line(self, turn: Turn) -> str:
        """One turn of the text."""
        text = " ".join(turn.text.split())
        if not self.labels:
            return text
        user, agent = _LABELS.get(self.language, _LABELS["en"])
        return f"{user if turn.speaker == 'user' else agent}{text}"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, table: Mapping[str, Any]) -> View:
        """The view that a part was trained with; one that this version does not know would read something else."""
        try:
            view = cls(**table)
            if isinstance(view.turns, int) and view.turns >= 0 and view.order in ("newest", "oldest"):
                return view
        except TypeError:  # a key that is not known: told below
            pass
        raise WeightsError(
            f"A part's view of a dialogue cannot be read: {dict(table)}.",
            remedy="Train the part again with this version, or run it with the one that made it.",
        )
