"""Fields by which a request controls its turn: whether to search, memory, sources, and whether anything is kept."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from dragoman.core.control import TurnControl, checked_date

Retrieve: TypeAlias = Annotated[
    Literal["auto", "always", "never"], Field(description="Whether to search; `auto` asks the agent's gate.")
]
MemoryUse: TypeAlias = Annotated[
    Literal["on", "read", "off"],
    Field(description="`on` reads and writes facts about the user, `read` only reads them, `off` does neither."),
]
Keep: TypeAlias = Annotated[bool, Field(description="False: a private turn, of which nothing is stored.")]
Sources: TypeAlias = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=200)]] | None,
    Field(max_length=200, description="Names of the sources that may be searched, with those that they need."),
]
Since: TypeAlias = Annotated[
    str,
    Field(
        max_length=40,
        description="A date (2026-05-03): only documents dated from then on, and facts told from then on.",
    ),
]
Until: TypeAlias = Annotated[
    str, Field(max_length=40, description="A date: only documents dated before it, and facts told before it.")
]
ModelName: TypeAlias = Annotated[
    str, Field(max_length=200, description="A language model that the server allows, instead of the agent's.")
]


class ControlFields(BaseModel):
    """Control of one turn. Unknown fields are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    retrieve: Retrieve = "auto"
    memory: MemoryUse = "on"
    keep: Keep = True
    sources: Sources = None
    since: Since = ""
    until: Until = ""
    model: ModelName = ""

    @property
    def control(self) -> TurnControl:
        sources = None if self.sources is None else tuple(self.sources)
        period = checked_date("since", self.since), checked_date("until", self.until)
        return TurnControl(self.retrieve, self.memory, self.keep, sources, *period)
