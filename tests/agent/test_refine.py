"""UniMS-RAG, Algorithm 1, by hand."""

from __future__ import annotations

import pytest

from dragoman.agent.refine import Refiner
from dragoman.core.errors import ConfigError
from dragoman.core.trace import Found
from dragoman.core.values import Context, Draft, Evidence, Passage, Plan, ReadTask, Source
from dragoman.testing.stubs import StubCritic, StubReader, StubRetriever

PERSONA, DOCUMENTS = Source("PERSONA"), Source("DOCUMENTS", needs=("PERSONA",))
SOURCES = (PERSONA, DOCUMENTS)
PLAN = Plan((("PERSONA",), ("DOCUMENTS",)))
POOL = [Passage(f"p{i}", "PERSONA", f"persona {i}") for i in range(4)]
POOL += [Passage(f"d{i}", "DOCUMENTS", f"document {i}") for i in range(4)]
BY_ID = {passage.id: passage for passage in POOL}


def task(**relevance):
    return ReadTask(Context.of("?"), PLAN, tuple(Evidence(BY_ID[key], value) for key, value in relevance.items()))


def refine(tasks, consistency, *, pool=POOL, relevance=None, **options):
    retriever, reader = StubRetriever(pool, relevance=relevance), StubReader()
    refiner = Refiner(StubCritic(consistency), retriever, reader, **options)
    rounds = refiner.refine(tasks, [Draft("first")] * len(tasks), SOURCES)
    return rounds, retriever, reader


def ids(refinement):
    return [piece.id for piece in refinement.evidence]


def test_worked_example_of_algorithm_1():
    # Lines 1-6: S_nli = (0.9, 0.5, 0.2), S_c = (0.8, 0.6, 0.9), S = (0.72, 0.30, 0.18). Lines 7-8, alpha = 2: d0
    # (0.18), then p1 (0.30). Lines 10-14: the next novel of DOCUMENTS is d1, of PERSONA p2 (p0 and p1 are used).
    # Line 15: read again from p0, p2, d1.
    [[one]], retriever, reader = refine(
        [task(p0=0.8, p1=0.6, d0=0.9)], {"p0": 0.9, "p1": 0.5, "d0": 0.2}, mode="within-step", alpha=2
    )
    assert one.scores == (("p0", pytest.approx(0.72)), ("p1", pytest.approx(0.30)), ("d0", pytest.approx(0.18)))
    assert one.replaced == (("d0", "d1"), ("p1", "p2"))
    assert ids(one) == ["p0", "p2", "d1"]
    assert one.draft.text == "From p0 p2 d1."
    assert [request.without for request in retriever.requests] == [frozenset({"p0", "p1", "d0"})] * 2
    assert len(reader.tasks) == 1


def test_a_dependent_source_is_given_the_evidence_of_the_steps_before():
    _, retriever, _ = refine([task(p0=0.9, d0=0.5)], {"d0": 0.1})
    assert [piece.id for piece in retriever.requests[0].given] == ["p0"]


def test_multi_step_replaces_one_a_round_and_never_brings_one_back():
    [rounds], _, reader = refine([task(p0=0.9, p1=0.5)], {"p1": 0.1, "p2": 0.1, "p3": 0.1}, mode="multi-step", steps=2)
    assert [one.replaced for one in rounds] == [(("p1", "p2"),), (("p2", "p3"),)]
    assert ids(rounds[-1]) == ["p0", "p3"]
    assert len(reader.tasks) == 2


def test_the_new_draft_is_what_the_next_round_judges():
    heard = []

    class Listening(StubCritic):
        def consistency(self, pairs):
            heard.append(pairs[0][1])
            return super().consistency(pairs)

    critic = Listening()
    refiner = Refiner(critic, StubRetriever(POOL), StubReader(), mode="multi-step", steps=2)
    refiner.refine([task(p0=0.9, p1=0.5)], [Draft("first")], SOURCES)
    assert heard == ["first", "From p0 p2."]


def test_where_a_source_is_exhausted_the_old_evidence_stays():
    [[one]], _, reader = refine([task(p0=0.9, p1=0.5)], {}, pool=POOL[:2])
    assert (one.replaced, ids(one), one.draft) == ((), ["p0", "p1"], Draft("first"))
    assert reader.tasks == []


def test_a_source_with_too_few_left_replaces_the_worst_first():
    [[one]], _, _ = refine([task(p0=0.9, p1=0.5, p2=0.1)], {}, alpha=2)
    assert one.replaced == (("p2", "p3"),)
    assert ids(one) == ["p0", "p1", "p3"]


def test_an_exhausted_turn_is_not_tried_again():
    [rounds], retriever, _ = refine([task(p0=0.9, p1=0.5)], {}, pool=POOL[:3], mode="multi-step", steps=5)
    assert [one.replaced for one in rounds] == [(("p1", "p2"),), ()]
    assert len(retriever.requests) == 2


def test_null_is_never_refined():
    [rounds], retriever, reader = refine([ReadTask(Context.of("hi"))], {}, mode="multi-step", steps=3)
    assert (rounds, retriever.requests, reader.tasks) == ((), [], [])


def test_among_equals_the_later_evidence_goes_first():
    for _ in range(3):
        [[one]], _, _ = refine([task(p0=0.5, p1=0.5, d0=0.5)], {})
        assert one.replaced == (("d0", "d1"),)


def test_more_to_replace_than_there_is_replaces_all():
    [[one]], _, _ = refine([task(p0=0.5, d0=0.4)], {}, alpha=3)
    assert one.replaced == (("d0", "d1"), ("p0", "p1"))


def test_a_batch_is_refined_as_its_turns_one_by_one():
    tasks = [task(p0=0.9, p1=0.5), ReadTask(Context.of("hi")), task(p3=0.9, d0=0.8, d1=0.2), task(d3=1.0)]
    options = {"mode": "multi-step", "steps": 3}
    consistency = {"p1": 0.3, "d0": 0.9, "d1": 0.4}
    together, _, _ = refine(tasks, consistency, **options)
    assert together == [refine([one], consistency, **options)[0][0] for one in tasks]
    assert len(together[1]) == 0


def test_what_holds_stays_where_a_bound_is_given():
    # The scores of the worked example are 0.72, 0.30 and 0.18; two are to be replaced, and only d0 lies below 0.25.
    turn, consistency = task(p0=0.8, p1=0.6, d0=0.9), {"p0": 0.9, "p1": 0.5, "d0": 0.2}
    [[one]], _, reader = refine([turn], consistency, alpha=2, below=0.25)
    assert one.replaced == (("d0", "d1"),)
    assert (one.draft.text, len(reader.tasks)) == ("From p0 p1 d1.", 1)
    [[exact]], _, _ = refine([turn], consistency, alpha=2, below=0.30)
    assert exact.replaced == (("d0", "d1"),)  # a score that reaches the bound stays


def test_where_all_holds_nothing_is_asked_nor_read_again():
    [[one]], retriever, reader = refine([task(p0=0.8, p1=0.6)], {}, mode="multi-step", steps=3, below=0.5)
    assert (one.replaced, one.draft, ids(one)) == ((), Draft("first"), ["p0", "p1"])
    assert (retriever.requests, reader.tasks) == ([], [])


@pytest.mark.parametrize(
    "options",
    [
        {"below": 0.0},
        {"below": 1.1},
        {"alpha": 0},
        {"steps": 0},
        {"mode": "sometimes"},
        {"mode": "multi-step", "alpha": 2},
        {"mode": "within-step", "steps": 2},
    ],
)
def test_options_that_contradict_the_mode_are_refused(options):
    with pytest.raises(ConfigError):
        Refiner(StubCritic(), StubRetriever(), StubReader(), **options)


def test_what_depends_on_replaced_evidence_is_found_by_what_stands_in_its_place():
    # Alg. 1 line 9 takes p0 and d0 out before anything is retrieved: the document must be one of p1, not of p0.
    pool = [Passage(f"p{i}", "PERSONA", f"persona {i}") for i in range(2)]
    pool += [Passage(f"{name}{i}", "DOCUMENTS", name, parent=f"p{i}") for name in ("d", "e") for i in range(2)]
    rows = {passage.id: passage for passage in pool}

    class Children(StubRetriever):
        def retrieve(self, requests):
            given = [{piece.id for piece in request.given} for request in requests]
            found = super().retrieve(requests)
            return [
                [piece for piece in pieces if not ids or piece.passage.parent in ids][: request.k]
                for pieces, ids, request in zip(found, given, requests, strict=True)
            ]

    retriever = Children(pool)
    told = ReadTask(Context.of("?"), PLAN, (Evidence(rows["p0"], 0.5), Evidence(rows["d0"], 0.4)))
    refiner = Refiner(StubCritic({}), retriever, StubReader(), alpha=2)
    [[one]] = refiner.refine([told], [Draft("first")], SOURCES)
    assert [[piece.id for piece in request.given] for request in retriever.requests] == [[], ["p1"]]
    assert ids(one) == ["p1", "d1"]


def test_what_went_wrong_in_a_round_is_told():
    class Failing(StubRetriever):
        def retrieve(self, requests):
            return [Found(found, ["the tool 'tides' failed"]) for found in super().retrieve(requests)]

    refiner = Refiner(StubCritic({}), Failing(POOL), StubReader())
    [[one]] = refiner.refine([task(p0=0.5)], [Draft("first")], SOURCES)
    assert one.warnings == ("the tool 'tides' failed",)
