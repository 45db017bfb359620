"""Critics: is a text consistent with the evidence?"""

from dragoman.critic.nli import NliCritic
from dragoman.critic.overlap import OverlapCritic

__all__ = ["NliCritic", "OverlapCritic"]
