"""A learner's own tables of a recipe, `[input]` and `[model]`, as typed values; and the view of a turn among them."""

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
    """A table in which a wrong key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ViewTable(RecipeTable):
    """How a dialogue becomes text. `language` is the training set's where it is not given."""

    turns: int = Field(default=4, ge=0)
    order: Literal["newest", "oldest"] = "newest"
    labels: bool = True
    language: str | None = None

    def view(self, job: Job) -> View:
        language = self.language or next((dataset.language for dataset in job.train.sets), "en")
        return View(self.turns, self.order, self.labels, language)


class TrunkTable(RecipeTable):
    """A pre-trained encoder: which one, how much of it, and how a text becomes one vector."""

    base: str = "all-minilm-l6-v2"
    layers: int | None = Field(default=None, ge=1)
    """Keep the first so many layers; all where it is not given."""
    pooling: Literal["mean", "cls"] = "mean"
    max_tokens: int = Field(default=128, ge=8)
    dropout: float = Field(default=0.1, ge=0, lt=1)
    fixed: int = Field(default=0, ge=0)
    """Do not train the embeddings and the first so many layers; 0 trains everything."""

    def open(self, heads: Mapping[str, int], *, seed: int) -> tuple[Trunk, Tokens]:
        """The encoder with heads of its own, the first layers fixed where that is wanted."""
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
    """A recipe's table as its learner's type; the first thing wrong is said in the file's words."""
    try:
        return model.model_validate(dict(table))
    except ValidationError as error:
        raise explained(error, f"[{where}] of the recipe", model) from error


def refuse_focal(balance: BalanceSpec, who: str) -> None:
    """A regression of scikit-learn's knows weights of classes, and no focal loss."""
    if balance.focal:
        raise ConfigError(
            f"{who} is learned without a focal loss, and balance.focal is {balance.focal:g}.",
            remedy="Set balance.focal = 0; balance.weight says how much a yes counts.",
        )
