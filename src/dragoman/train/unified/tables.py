"""Recipe tables of the unified model: input, losses, base and its training."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from dragoman.models.unified.model import LayoutName
from dragoman.train.recipe_tables import RecipeTable, ViewTable


class UnifiedInput(ViewTable):
    """Input of a turn: fields, maximal lengths, and what is drawn at random in each epoch."""

    turns: int = Field(default=0, ge=0)
    order: Literal["newest", "oldest"] = "oldest"
    window: int = Field(default=1024, ge=64)
    candidate: int = Field(default=96, ge=4)
    response: int = Field(default=128, ge=4)
    candidates: int = Field(default=24, ge=2)
    """The most candidates of a turn that are judged in one epoch; right ones always are."""
    distractors: int = Field(default=2, ge=0)
    """The most wrong pieces of evidence that a response is learned with."""
    noise: int = Field(default=2, ge=0, le=10)
    """By how many tenths the similarities before a response are off."""
    epoch: int = Field(default=0, ge=0)
    """The turns of an epoch, drawn by chance; 0: all."""
    share: float = Field(default=1.0, gt=0, le=1)
    """Of this share of an epoch's turns all is learned, of the others the plan alone, which costs little."""
    sources: dict[str, str] = Field(default_factory=dict)
    """Sources by another name, {USER = "MEMORY"}: sets that call the same differently teach the same tokens."""
    relevance: str | tuple[str, ...] = ()
    """Label files of `dragoman label relevance` for training turns, looked for as data is, also below $DRAGOMAN_DATA;
    gold alone is learned where none is given."""
    unlabelled: Literal["refuse", "gold"] = "refuse"
    """What to do with a turn that no label file has: nothing, or learn from the evidence that it says is right."""


class LossTable(RecipeTable):
    """Weights of the losses: Eq. 7's three, the plan after reading, and lists of candidates."""

    plan: float = Field(default=1.0, ge=0)
    similarity: float = Field(default=1.0, ge=0)
    response: float = Field(default=1.0, ge=0)
    check: float = Field(default=1.0, ge=0)
    listwise: float = Field(default=1.0, ge=0)
    soft: bool = False
    """Share a similarity between the two tenths around it, where labels are finer than tenths."""
    over: Literal["vocabulary", "options"] = "vocabulary"
    """Plans and similarities are learned among all words, or among those that may stand there."""


class UnifiedModelTable(RecipeTable):
    """The base model, the spelling of its tokens, its trained weights, and the batches."""

    base: str = "smollm2-135m-instruct"
    style: Literal["unims", "safari"] = "unims"
    layout: LayoutName = "tree"
    tokens: Literal["rows", "reserved", "text"] = "reserved"
    weights: Literal["lora", "full"] = "lora"
    quantise: Literal["auto", "4bit", "none"] = "none"
    rank: int = Field(default=16, ge=1)
    alpha: int = Field(default=32, ge=1)
    dropout: float = Field(default=0.0, ge=0, lt=1)
    targets: Literal["all-linear"] | tuple[str, ...] = "all-linear"
    layers: int = Field(default=0, ge=0)
    """The adapter is on the last so many layers, which trains faster; 0: on all."""
    checkpointing: bool = False
    """Compute activations again instead of keeping them: slower, for bases that do not fit otherwise."""
    attention: Literal["auto", "sdpa", "flex"] = "auto"
    compiled: bool = False
    """Compile the layers, on a GPU with FlexAttention: faster steps after half a minute, for long trainings."""
    runs: int = Field(default=1, ge=1)
    """So many trainings from the same weights, each with its own order and chance; the part is their mean."""
    batch_tokens: int = Field(default=8192, ge=64)
    """The most tokens of a batch; `train.batch` is the most turns. FlexAttention's rows are as wide as this, so that it
    is best near what so many turns have."""
    measured: int = Field(default=0, ge=0)
    """Dev's turns that are read, drawn once: after each epoch, and for offsets and calibration; 0: all."""
    whole: int = Field(default=0, ge=0)
    """Of so many of these the candidates and the response are read too, of the others the plan alone; 0: of all."""
    candidates: int = Field(default=0, ge=0)
    """The most candidates of a dev turn, drawn once; 0: all."""
    endings: int = Field(default=0, ge=0)
    """Dev turns (at least 256, where dev has them) on which a bias on the end of responses is fitted; it stays 0 where
    the 95 % interval of responses' length to people's includes 1. 0: not fitted."""
    light: Literal["none", "f32", "f16", "q8_0"] = "f16"
    """Write the adapter for llama.cpp too, with numbers of so many bits, where that can run the model."""
    loss: LossTable = LossTable()
