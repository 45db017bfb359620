"""Retrievers: what is taken from a source, with calibrated relevance."""

from dragoman.retriever.dense import DenseRetriever
from dragoman.retriever.hybrid import HybridRetriever
from dragoman.retriever.okapi import OkapiRetriever
from dragoman.retriever.prompted import PromptedRetriever
from dragoman.retriever.sparse import SparseRetriever
from dragoman.text.query import SearchText, standalone

__all__ = [
    "DenseRetriever",
    "HybridRetriever",
    "OkapiRetriever",
    "PromptedRetriever",
    "SearchText",
    "SparseRetriever",
    "standalone",
]
