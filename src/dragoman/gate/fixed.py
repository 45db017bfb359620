"""Gates that ignore the turn: the papers' baselines Aug-All, No-Aug and Random-Aug."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from dragoman.core.errors import ConfigError
from dragoman.core.registry import gates
from dragoman.core.values import Context, Evidence, Verdict


@gates.register("always.v1")
class AlwaysGate:
    """Gate that is open for every turn."""

    def decide(
        self, turns: Sequence[Context], evidence: Sequence[Sequence[Evidence]] | None = None
    ) -> Sequence[Verdict]:
        return [Verdict(True, 1.0, "always")] * len(turns)


@gates.register("never.v1")
class NeverGate:
    """Gate that is closed for every turn."""

    def decide(
        self, turns: Sequence[Context], evidence: Sequence[Sequence[Evidence]] | None = None
    ) -> Sequence[Verdict]:
        return [Verdict(False, 0.0, "never")] * len(turns)


@gates.register("random.v1")
class RandomGate:
    """Gate that opens for a share of turns, chosen by a hash of the dialogue: the same turn gets the same verdict."""

    def __init__(self, *, probability: float = 0.5, seed: int = 0) -> None:
        if not 0.0 <= probability <= 1.0:
            raise ConfigError(f"gate.random: probability {probability} is outside [0, 1].")
        self._probability = probability
        self._seed = seed

    def decide(
        self, turns: Sequence[Context], evidence: Sequence[Sequence[Evidence]] | None = None
    ) -> Sequence[Verdict]:
        return [Verdict(self._draw(context) < self._probability, self._probability, "random") for context in turns]

    def _draw(self, context: Context) -> float:
        digest = hashlib.blake2b(digest_size=8, key=str(self._seed).encode())
        for turn in context.turns:
            digest.update(f"{turn.speaker}\x00{turn.text}\x00".encode())
        return int.from_bytes(digest.digest()) / 2**64
