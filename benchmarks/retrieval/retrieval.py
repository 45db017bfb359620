"""Which retriever, which query? Prints hit@1, hit@10 and nDCG@10 on the dev dialogues of DSTC11.

    DRAGOMAN_DATA=... python benchmarks/retrieval/retrieval.py [--weights NAME_OR_FOLDER | --part FOLDER] [--limit N]

Candidates are the passages of the question's own entities, or all passages there are, with or without the
entity's name as title. The query is the last turn, the last two, the whole history in its order, or ours
(`standalone`). `--part` is a static encoder's (`dragoman train encoder-static --data train=dstc11/train --out FOLDER`
fits one to these passages); `--queries table` lets it read questions too.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from _dialogues import WHOLE, Question, data_folder, dstc11_passages, dstc11_questions, encoder_of, store_of

from dragoman.core.protocols import Encoder, Retriever
from dragoman.core.values import Context, Passage, Request, Source, Turn
from dragoman.evaluate.metrics.ranking import hit, ndcg
from dragoman.models.static_encoder import StaticEncoder
from dragoman.retriever.dense import DenseRetriever
from dragoman.retriever.hybrid import HybridRetriever
from dragoman.retriever.search import QueryKind
from dragoman.retriever.sparse import SparseRetriever
from dragoman.stores.in_memory import InMemoryStore
from dragoman.text.analyse import analyse

PLACES = 10
QUERIES: dict[str, tuple[QueryKind, int]] = {
    "last turn": ("last", 1),
    "last two": ("last", 2),
    "history": ("last", 0),
    "standalone": ("standalone", 1),
}
"""The retriever's `query`, and how many turns from the end are put together as the last one; 0: all."""


def asked(context: Context, query: str) -> Context:
    """The dialogue as a baseline sees it: its last turns, in their order, said as one."""
    option, number = QUERIES[query]
    if option == "standalone":
        return context
    turns = context.turns[-number:]
    return replace(context, turns=(Turn("user", " ".join(turn.text for turn in turns)),))


def run(retriever: Retriever, questions: Sequence[Question], query: str, *, whole: bool) -> list[float]:
    """hit@1, hit@10 and nDCG@10."""
    requests = [
        Request(
            asked(question.context, query),
            (WHOLE,) if whole else tuple(Source(name) for name in question.gold),
            k=PLACES,
        )
        for question in questions
    ]
    right = np.zeros((len(questions), PLACES), dtype=bool)
    for row, question, found in zip(right, questions, retriever.retrieve(requests), strict=True):
        ranked = [evidence.id in question.ids for evidence in found[:PLACES]]
        row[: len(ranked)] = ranked
    total = [len(question.ids) for question in questions]
    return [float(measure(right, total, k).mean()) for measure, k in ((hit, 1), (hit, PLACES), (ndcg, PLACES))]


def retrievers(store: InMemoryStore, encoder: Encoder, query: QueryKind) -> dict[str, Retriever]:
    return {
        "bm25": SparseRetriever(store=store, analyse=analyse, query=query),
        "tfidf": SparseRetriever(store=store, analyse=analyse, query=query, weighting="tfidf"),
        "dense": DenseRetriever(store=store, encoder=encoder, analyse=analyse, query=query),
        "fusion": HybridRetriever(store=store, encoder=encoder, analyse=analyse, query=query, order="fusion"),
        "hybrid": HybridRetriever(store=store, encoder=encoder, analyse=analyse, query=query),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", default="all-minilm-l6-v2-int8")
    parser.add_argument("--part", help="a static encoder instead")
    parser.add_argument("--queries", choices=("teacher", "table"), default="teacher", help="who reads the questions")
    parser.add_argument("--retriever", action="append", help="only this one; may be repeated")
    parser.add_argument("--query", action="append", choices=QUERIES, help="only this one; may be repeated")
    parser.add_argument("--limit", type=int, help="dialogues, for a quick look")
    arguments = parser.parse_args()
    folder = data_folder()
    static = arguments.part and StaticEncoder(part=arguments.part, queries=arguments.queries)
    encoder = static or encoder_of(arguments.weights)
    questions = [question for question in dstc11_questions(folder, "dev", arguments.limit) if question.needs_knowledge]
    asking = {name: QUERIES[name] for name in arguments.query or QUERIES}
    print(f"{len(questions)} questions of DSTC11 dev; hit@1 hit@10 nDCG@10, in %\n")
    for named in (True, False):
        entities = dstc11_passages(folder, named=named)
        everything: list[Passage] = [
            replace(passage, source=WHOLE.name) for rows in entities.values() for passage in rows
        ]
        for whole in (False, True):
            store = store_of({WHOLE.name: everything} if whole else entities, encoder)
            candidates = f"{'whole corpus' if whole else 'own entities'}, {'with' if named else 'without'} name"
            print(f"{candidates:28}" + "".join(f"{query:>20}" for query in asking))
            made = {option: retrievers(store, encoder, option) for option, _ in asking.values()}
            for name in arguments.retriever or next(iter(made.values())):
                scores = [
                    run(made[option][name], questions, query, whole=whole) for query, (option, _) in asking.items()
                ]
                print(
                    f"  {name:26}" + "".join("     " + " ".join(f"{100 * x:4.1f}" for x in row) for row in scores),
                    flush=True,
                )
            print()


if __name__ == "__main__":
    main()
