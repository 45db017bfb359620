"""Readers: write the answer from the dialogue and the evidence."""

from dragoman.reader.extractive import ExtractiveReader
from dragoman.reader.grounded import GroundedReader
from dragoman.reader.prompted import PromptedReader
from dragoman.reader.unified import UnifiedReader

__all__ = ["ExtractiveReader", "GroundedReader", "PromptedReader", "UnifiedReader"]
