"""Data sets: labelled dialogues from files, one turn at a time."""

from dragoman.datasets.loaders.convai2 import ConvAi2
from dragoman.datasets.loaders.dstc11 import Dstc11
from dragoman.datasets.loaders.dulemon import Dulemon
from dragoman.datasets.loaders.focus import Focus
from dragoman.datasets.loaders.jsonl import Jsonl
from dragoman.datasets.loaders.kbp import Kbp
from dragoman.datasets.loaders.ketod import Ketod
from dragoman.datasets.loaders.ketod_gate import KetodGate
from dragoman.datasets.pairs import Pairs
from dragoman.datasets.toy import ToyDataset

__all__ = ["ConvAi2", "Dstc11", "Dulemon", "Focus", "Jsonl", "Kbp", "Ketod", "KetodGate", "Pairs", "ToyDataset"]
