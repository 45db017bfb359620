"""Labels by trained parts are what the retrievers themselves hold relevant."""

import shutil

import numpy as np
import pytest

from dragoman.core.errors import WeightsError
from dragoman.core.values import Evidence, Request
from dragoman.models.calibration import Logistic
from dragoman.models.part import Head, Part, write_part
from dragoman.models.scripted import ScriptedEncoder
from dragoman.retriever import DenseRetriever, RerankRetriever, rerank
from dragoman.stores.in_memory import InMemoryStore
from dragoman.text.analyse import analyse
from dragoman.train.relevance import by_retriever
from dragoman.train.relevance.by_retriever import BiLabels, CrossLabels
from dragoman.train.relevance.candidate_pools import turn_to_label

HEAD = Head(("relevant",), {"relevant": Logistic(3.0, -1.0), "DOCUMENTS": Logistic(5.0, -2.0)})
FILES = ({"name": "t.jsonl", "sha256": "aa", "rows": 3}, {"name": "knowledge.json", "sha256": "bb", "rows": 0})


class Words:
    """Scores a pair by the words that it shares."""

    def __init__(self, part, **options):
        self.part = part

    def scores(self, texts, head):
        assert head == "relevance"
        shared = [len(set(analyse(query)) & set(analyse(passage))) for query, passage in texts]
        return np.array(shared, dtype=np.float32).reshape(-1, 1)


@pytest.fixture(autouse=True)
def without_weights(monkeypatch):
    monkeypatch.setattr(by_retriever, "OnnxEncoder", lambda **options: ScriptedEncoder())
    for module in (by_retriever, rerank):
        monkeypatch.setattr(module, "Scorer", Words)


@pytest.fixture
def toys(load_beside):
    return load_beside("relevance_toys")


@pytest.fixture
def pools(toys):
    return turn_to_label(toys.turn(), "plan").pools


@pytest.fixture
def part(tmp_path):
    """Makes a part without weights."""

    def make(kind, **options):
        folder = tmp_path / f"{kind}-{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        made = {"data": {"train": {"files": list(FILES)}}}
        write_part(Part(folder, kind, {"relevance": HEAD}, options, made=made), ())
        return folder

    return make


def found_by(retriever, pool):
    """What a retriever makes of a pool, given the right parent, by passage."""
    given = tuple(Evidence(piece, 1.0) for piece in pool.given)
    [found] = retriever.retrieve([Request(pool.example.context, (pool.source,), k=9, given=given)])
    return {piece.id: piece.relevance for piece in found}


def by_id(pool, judged):
    return dict(zip([passage.id for passage in pool.candidates], judged, strict=True))


@pytest.mark.parametrize(
    "options",
    [
        {"query": "last", "dependency": "query"},
        {"query": "history", "dependency": "prefer"},
        {"query": "mix", "dependency": "query", "mix": {"last": 0.7, "history": 0.2, "given": 0.1}},
    ],
    ids=lambda options: options["query"],
)
def test_a_bi_encoder_labels_as_the_dense_retriever_judges(part, toys, pools, options):
    folder, encoder, store = part("retriever.bi", **options), ScriptedEncoder(), InMemoryStore()
    vectors = encoder.encode([passage.indexed for passage in toys.POOL])
    store.put(pools[0].example.context.scope, list(toys.POOL), vectors)
    retriever = DenseRetriever(store=store, encoder=encoder, analyse=analyse, part=str(folder))
    for pool, judged in zip(pools, BiLabels(folder).judge(pools), strict=True):
        assert by_id(pool, judged) == pytest.approx(found_by(retriever, pool), abs=1e-5)
        assert len(set(judged)) > 1


@pytest.mark.parametrize("dependency", ["query", "prefer", "off"])
def test_a_cross_encoder_labels_as_the_reranker_judges(part, toys, pools, dependency):
    class Inner:
        def retrieve(self, requests):
            return [[Evidence(p, 0.5) for p in toys.POOL if p.source == r.sources[0].name] for r in requests]

    folder = part("retriever.cross", query="last", dependency=dependency)
    retriever = RerankRetriever(inner=Inner(), part=str(folder))
    for pool, judged in zip(pools, CrossLabels(folder).judge(pools), strict=True):
        assert by_id(pool, judged) == pytest.approx(found_by(retriever, pool))
        assert len(set(judged)) > 1


def test_a_source_with_a_calibration_of_its_own_is_judged_by_it(part, pools):
    """ "Where does tea grow?" shares tea and grow with "Tea grows on hills.": the logistic of 5 x 2 - 2."""
    (documents,) = CrossLabels(part("retriever.cross", query="last", dependency="off")).judge(pools[1:])
    assert documents[1] == pytest.approx(1 / (1 + np.exp(-8)))


def test_no_pools_are_no_work(part):
    assert BiLabels(part("retriever.bi")).judge([]) == []
    assert CrossLabels(part("retriever.cross")).judge([]) == []


def test_a_part_is_known_by_its_hash_wherever_it_lies(part, tmp_path):
    folder = part("retriever.bi")
    elsewhere = tmp_path / "elsewhere" / folder.name
    shutil.copytree(folder, elsewhere)
    assert BiLabels(folder).about == BiLabels(elsewhere).about
    assert BiLabels(folder).about["part"] != BiLabels(part("retriever.bi", query="last")).about["part"]


def test_a_part_of_another_kind_is_refused(part):
    with pytest.raises(WeightsError, match=r"is a retriever\.cross"):
        BiLabels(part("retriever.cross"))
    with pytest.raises(WeightsError, match=r"is a retriever\.bi"):
        CrossLabels(part("retriever.bi"))


def test_it_knows_which_files_it_was_trained_on(part):
    origin = [{"name": "mine", "sha256": "aa", "rows": 3}, {"name": "knowledge.json", "sha256": "bb", "rows": 0}]
    for method in (BiLabels(part("retriever.bi")), CrossLabels(part("retriever.cross"))):
        assert method.learned_from(origin) == ["mine"], "a corpus that other parts share says nothing"
