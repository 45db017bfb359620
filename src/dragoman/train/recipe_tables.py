"""Typed values of a learner's own recipe tables, `[input]` and `[model]`, with the view of a turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dragoman.core.errors import ConfigError
from dragoman.core.toml import explained
from dragoman.text.view import View
from dragoman.train.contract import Job
from dragoman.train.spec import BalanceSpec

if TYPE_CHECKING:
    from dragoman.models.torch.trunk import Tokens, Trunk

T = TypeVar("T", bound=BaseModel)


class RecipeTable(BaseModel):
    """Strict base of tables: an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ViewTable(RecipeTable):
    """Options of the dialogue's text; `language` defaults to that of the training set."""

    turns: int = Field(default=4, ge=0)
    order: Literal["newest", "oldest"] = "newest"
    labels: bool = True
    language: str | None = None

    def view(self, job: Job) -> View:
        language = self.language or next((dataset.language for dataset in job.train.sets), "en")
        return View(self.turns, self.order, self.labels, language)


class TrunkTable(RecipeTable):
    """Pre-trained encoder: name, layers, and pooling of a text into one vector."""

    base: str = "all-minilm-l6-v2"
    layers: int | None = Field(default=None, ge=1)
    """Number of first layers that are kept; default: all."""
    pooling: Literal["mean", "cls"] = "mean"
    max_tokens: int = Field(default=128, ge=8)
    dropout: float = Field(default=0.1, ge=0, lt=1)
    fixed: int = Field(default=0, ge=0)
    """Number of first layers that stay frozen, with the embeddings; 0 trains everything."""

    def open(self, heads: Mapping[str, int], *, seed: int) -> tuple[Trunk, Tokens]:
        """Load the encoder with new heads, and freeze the first layers if set."""
        from dragoman.models.torch.trunk import load_trunk

        trunk, tokens = load_trunk(
            self.base,
            heads,
            max_tokens=self.max_tokens,
            pooling=self.pooling,
            layers=self.layers,
            dropout=self.dropout,
            seed=seed,
        )
        trunk.refuse_longer(self.max_tokens)
        if self.fixed:
            trunk.freeze(layers=self.fixed)
        return trunk, tokens


def typed(model: type[T], table: Mapping[str, Any], where: str) -> T:
    """Validate a recipe's table as the learner's type; the error names the first fault in the file's terms."""
    try:
        return model.model_validate(dict(table))
    except ValidationError as error:
        raise explained(error, f"[{where}] of the recipe", model) from error


def refuse_focal(balance: BalanceSpec, who: str) -> None:
    """Reject a focal loss, which scikit-learn's logistic regression does not support."""
    if balance.focal:
        raise ConfigError(
            f"{who} is learned without a focal loss, and balance.focal is {balance.focal:g}.",
            remedy="Set balance.focal = 0; balance.weight says how much a yes counts.",
        )
