"""Which retriever, which query? Prints hit@1, hit@10 and nDCG@10 on the dev dialogues of DSTC11.

    DRAGOMAN_DATA=... python benchmarks/retrieval.py [--weights NAME_OR_FOLDER]

Candidates are the passages of the question's own entities, or all passages there are, with or without the
entity's name as title. The query is the last turn, the last two, the whole history, or ours (`standalone`).
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from unittest.mock import patch

import numpy as np
from _dialogues import WHOLE, Question, Remembering, data_folder, dstc11_passages, dstc11_questions, store_of

from dragoman.core.protocols import Retriever
from dragoman.core.values import Context, Passage, Request, Source
from dragoman.models.onnx import OnnxEncoder
from dragoman.retriever import search
from dragoman.retriever.dense import DenseRetriever
from dragoman.retriever.hybrid import HybridRetriever
from dragoman.retriever.sparse import SparseRetriever
from dragoman.stores.in_memory import InMemoryStore
from dragoman.text.analyse import analyse
from dragoman.text.query import SearchText, standalone

QUERIES: dict[str, Callable[[Context], SearchText]] = {
    "last turn": lambda context: plain(context.last),
    "last two": lambda context: plain(" ".join(turn.text for turn in context.turns[-2:])),
    "history": lambda context: plain(" ".join(turn.text for turn in context.turns)),
    "standalone": standalone,
}


def plain(text: str) -> SearchText:
    """A text searched as it is: the baselines must not pass through the rules that they are compared with."""
    return SearchText(text, turn=text)


def measures(ranking: Sequence[str], gold: frozenset[str]) -> tuple[float, float, float]:
    """hit@1, hit@10, nDCG@10 of one ranking."""
    hits = [key in gold for key in ranking[:10]]
    gain = sum(1 / math.log2(place + 2) for place, hit in enumerate(hits) if hit)
    best = sum(1 / math.log2(place + 2) for place in range(min(10, len(gold))))
    return float(hits[:1] == [True]), float(any(hits)), gain / best


def run(retriever: Retriever, questions: Sequence[Question], query: str, *, whole: bool) -> np.ndarray:
    requests = [
        Request(question.context, (WHOLE,) if whole else tuple(Source(name) for name in question.gold), k=10)
        for question in questions
    ]
    with patch.object(search, "standalone", QUERIES[query]):
        found = retriever.retrieve(requests)
    rows = [
        measures([evidence.id for evidence in row], question.ids)
        for row, question in zip(found, questions, strict=True)
    ]
    return np.mean(rows, axis=0)


def retrievers(store: InMemoryStore, encoder: Remembering) -> dict[str, Retriever]:
    return {
        "bm25": SparseRetriever(store=store, analyse=analyse),
        "tfidf": SparseRetriever(store=store, analyse=analyse, weighting="tfidf"),
        "dense": DenseRetriever(store=store, encoder=encoder, analyse=analyse),
        "fusion": HybridRetriever(store=store, encoder=encoder, analyse=analyse, order="fusion"),
        "hybrid": HybridRetriever(store=store, encoder=encoder, analyse=analyse),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", default="all-minilm-l6-v2-int8")
    folder = data_folder()
    encoder = Remembering(OnnxEncoder(weights=parser.parse_args().weights), "minilm")
    questions = [question for question in dstc11_questions(folder, "dev") if question.needs_knowledge]
    print(f"{len(questions)} questions of DSTC11 dev; hit@1 hit@10 nDCG@10, in %\n")
    for named in (True, False):
        entities = dstc11_passages(folder, named=named)
        everything: list[Passage] = [
            replace(passage, source=WHOLE.name) for rows in entities.values() for passage in rows
        ]
        for whole in (False, True):
            store = store_of({WHOLE.name: everything} if whole else entities, encoder)
            candidates = f"{'whole corpus' if whole else 'own entities'}, {'with' if named else 'without'} name"
            print(f"{candidates:28}" + "".join(f"{query:>20}" for query in QUERIES))
            for name, retriever in retrievers(store, encoder).items():
                scores = [run(retriever, questions, query, whole=whole) for query in QUERIES]
                print(
                    f"  {name:26}" + "".join("     " + " ".join(f"{100 * x:4.1f}" for x in row) for row in scores),
                    flush=True,
                )
            print()
    encoder.save()


if __name__ == "__main__":
    main()
