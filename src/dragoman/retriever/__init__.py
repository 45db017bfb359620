"""Retrievers: what is taken from a source, with calibrated relevance."""

from dragoman.retriever.dense import DenseRetriever
from dragoman.retriever.evaluating import EvaluatingRetriever
from dragoman.retriever.hybrid import HybridRetriever
from dragoman.retriever.joint import JointRetriever
from dragoman.retriever.linked import LinkedRetriever
from dragoman.retriever.okapi import OkapiRetriever
from dragoman.retriever.paired import PairedRetriever
from dragoman.retriever.prompted import PromptedRetriever
from dragoman.retriever.remote_rerank import RemoteRerankRetriever
from dragoman.retriever.rerank import RerankRetriever
from dragoman.retriever.sparse import SparseRetriever
from dragoman.text.query import SearchText, standalone

__all__ = [
    "DenseRetriever",
    "EvaluatingRetriever",
    "HybridRetriever",
    "JointRetriever",
    "LinkedRetriever",
    "OkapiRetriever",
    "PairedRetriever",
    "PromptedRetriever",
    "RemoteRerankRetriever",
    "RerankRetriever",
    "SearchText",
    "SparseRetriever",
    "standalone",
]
