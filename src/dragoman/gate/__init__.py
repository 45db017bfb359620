"""Gates: should this turn look anything up?"""

from dragoman.gate.attention import AttentionGate
from dragoman.gate.encoder import EncoderGate
from dragoman.gate.fixed import AlwaysGate, NeverGate, RandomGate
from dragoman.gate.linear import LinearGate
from dragoman.gate.prompted import PromptedGate
from dragoman.gate.similarity import SimilarityGate
from dragoman.gate.together import TogetherGate
from dragoman.gate.tuned import TunedGate
from dragoman.gate.uncertainty import UncertaintyGate

__all__ = [
    "AlwaysGate",
    "AttentionGate",
    "EncoderGate",
    "LinearGate",
    "NeverGate",
    "PromptedGate",
    "RandomGate",
    "SimilarityGate",
    "TogetherGate",
    "TunedGate",
    "UncertaintyGate",
]
