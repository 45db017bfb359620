"""The papers as short compositions of registered parts: no algorithms here.

They use the prompted, weight-free variants; the trained ones take their places when they exist.
"""

from dragoman.systems.pkicr import pkicr
from dragoman.systems.ragate import ragate
from dragoman.systems.safari import safari
from dragoman.systems.unims import unims

__all__ = ["pkicr", "ragate", "safari", "unims"]
