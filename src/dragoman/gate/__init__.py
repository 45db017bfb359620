"""Gates: should this turn look anything up?"""

from dragoman.gate.attention import AttentionGate
from dragoman.gate.encoder import EncoderGate
from dragoman.gate.ensemble import EnsembleGate
from dragoman.gate.fixed import AlwaysGate, NeverGate, RandomGate
from dragoman.gate.linear import LinearGate
from dragoman.gate.prompted import PromptedGate
from dragoman.gate.similarity import SimilarityGate
from dragoman.gate.tuned import TunedGate
from dragoman.gate.uncertainty import UncertaintyGate

__all__ = [
    "AlwaysGate",
    "AttentionGate",
    "EncoderGate",
    "EnsembleGate",
    "LinearGate",
    "NeverGate",
    "PromptedGate",
    "RandomGate",
    "SimilarityGate",
    "TunedGate",
    "UncertaintyGate",
]
