"""Planners: which sources, in which order?"""

from dragoman.planner.acting import ActingPlanner
from dragoman.planner.classifier import ClassifierPlanner
from dragoman.planner.fixed import AllPlanner, FixedPlanner
from dragoman.planner.prompted import PromptedPlanner
from dragoman.planner.similarity import SimilarityPlanner

__all__ = ["ActingPlanner", "AllPlanner", "ClassifierPlanner", "FixedPlanner", "PromptedPlanner", "SimilarityPlanner"]
