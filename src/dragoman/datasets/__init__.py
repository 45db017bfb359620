"""Data sets: labelled dialogues from files, one turn at a time."""

from dragoman.datasets.convai2 import ConvAi2
from dragoman.datasets.dstc11 import Dstc11
from dragoman.datasets.dulemon import Dulemon
from dragoman.datasets.focus import Focus
from dragoman.datasets.jsonl import Jsonl
from dragoman.datasets.kbp import Kbp
from dragoman.datasets.ketod import Ketod
from dragoman.datasets.ketod_gate import KetodGate
from dragoman.datasets.toy import ToyDataset

__all__ = ["ConvAi2", "Dstc11", "Dulemon", "Focus", "Jsonl", "Kbp", "Ketod", "KetodGate", "ToyDataset"]
