"""Planners: which sources, in which order?"""

from dragoman.planner.fixed import AllPlanner
from dragoman.planner.prompted import PromptedPlanner
from dragoman.planner.similarity import SimilarityPlanner

__all__ = ["AllPlanner", "PromptedPlanner", "SimilarityPlanner"]
