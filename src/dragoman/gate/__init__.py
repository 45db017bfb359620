"""Gates: should this turn look anything up?"""

from dragoman.gate.fixed import AlwaysGate, NeverGate, RandomGate
from dragoman.gate.prompted import PromptedGate
from dragoman.gate.similarity import SimilarityGate
from dragoman.gate.uncertainty import UncertaintyGate

__all__ = ["AlwaysGate", "NeverGate", "PromptedGate", "RandomGate", "SimilarityGate", "UncertaintyGate"]
