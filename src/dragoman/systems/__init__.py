"""The papers as short compositions of registered parts: no algorithms here.

Without a trained part they use the prompted or zero-shot variants.
"""

from dragoman.systems.pkicr import pkicr
from dragoman.systems.ragate import ragate
from dragoman.systems.safari import safari
from dragoman.systems.unims import unims

__all__ = ["pkicr", "ragate", "safari", "unims"]
