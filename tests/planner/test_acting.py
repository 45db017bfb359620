"""The acting planner: legal orders with their probabilities, offsets, plans after reading, sources it does not know."""

from __future__ import annotations

import logging
import math
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import ConfigError
from dragoman.core.values import Context, Source
from dragoman.models.scripted import ScriptedEncoder
from dragoman.planner import ActingPlanner
from dragoman.planner.acting import legal_orders
from dragoman.sources.graph import SourceGraph
from dragoman.stores.in_memory import InMemoryStore
from dragoman.testing import PlannerConformance, StubRetriever, fill
from dragoman.testing.samples import CONTEXTS, DOCUMENTS, MEMORY, PERSONA, SHARED_PASSAGES, SOURCES
from dragoman.text.analyse import Analyser

TURN = CONTEXTS[1]
WEATHER = Source("WEATHER", "the weather and the tide", needs=("PERSONA",))


class Fixed:
    """A runtime that gives each order what it was told, evenly where it was told nothing."""

    def __init__(self, shape, plan=None, check=None):
        self.shape = shape
        self.asked = []
        self._plan, self._check = plan or {}, check or {}

    def plan(self, contexts, orders):
        return [self._shares(self._plan, orders) for _ in contexts]

    def check(self, asked, orders):
        self.asked += asked
        return [(self._shares(self._check, orders), [0.5] * len(one.candidates)) for one in asked]

    @staticmethod
    def _shares(told, orders):
        if not told:
            return {order: 1 / len(orders) for order in orders}
        return {order: told.get(order, 0.0) for order in orders}


@pytest.fixture(scope="module")
def shape(make_unified):
    return make_unified().shape


@pytest.fixture
def store():
    store = InMemoryStore(analyse=Analyser())
    fill(store)
    return store


def planned(lend_unified, runtime, *, sources=SOURCES, lent=None, **options):
    lend_unified(runtime, **(lent or {}))
    return ActingPlanner(part="lent", **options).plan([TURN], sources)[0]


class TestConforms(PlannerConformance):
    @pytest.fixture
    def planner(self, make_unified, lend_unified):
        lend_unified(make_unified())
        return ActingPlanner(part="lent")


class TestConformsAfterReading(PlannerConformance):
    @pytest.fixture
    def planner(self, make_unified, lend_unified, store):
        lend_unified(make_unified())
        return ActingPlanner(part="lent", aware=True, store=store)


def test_most_probable_order_is_the_plan_with_marginals_and_a_reason(lend_unified, shape):
    told = {(): 0.1, ("PERSONA",): 0.2, ("PERSONA", "DOCUMENTS"): 0.6, ("MEMORY", "PERSONA"): 0.1}
    plan = planned(lend_unified, Fixed(shape, told))
    assert plan.steps == (("PERSONA",), ("DOCUMENTS",))
    assert plan.probabilities == pytest.approx({"PERSONA": 0.9, "DOCUMENTS": 0.6, "MEMORY": 0.1})
    assert plan.reason == "PERSONA>DOCUMENTS 0.60, PERSONA 0.20, NULL 0.10, MEMORY>PERSONA 0.10"


def test_offsets_of_the_part_move_the_plan_and_can_be_left_out(lend_unified, shape):
    runtime = Fixed(shape, {(): 0.5, ("PERSONA",): 0.4, ("MEMORY",): 0.1})
    lent = {"offsets": {"context": {"": -1.0, "MEMORY": 0.5}}}
    plan = planned(lend_unified, runtime, lent=lent)
    assert plan.sources == ("PERSONA",)
    total = 0.5 * math.exp(-1.0) + 0.4 + 0.1 * math.exp(0.5)
    assert plan.probabilities["MEMORY"] == pytest.approx(0.1 * math.exp(0.5) / total)
    assert planned(lend_unified, runtime, lent=lent, offsets="none").is_null
    assert planned(lend_unified, runtime, lent=lent, offsets={"MEMORY": 5.0}).sources == ("MEMORY",)


def test_aware_plan_is_the_mean_of_both_and_reads_every_candidate_on_its_parent(lend_unified, shape, store):
    runtime = Fixed(shape, {(): 0.6, ("PERSONA",): 0.4}, {(): 0.1, ("PERSONA",): 0.9})
    plan = planned(lend_unified, runtime, aware=True, store=store)
    assert plan.probabilities["PERSONA"] == pytest.approx(0.65)
    (judging,) = runtime.asked
    found = {candidate.text.splitlines()[-1]: candidate for candidate in judging.candidates}
    assert len(found) == len(SHARED_PASSAGES) + 1  # and what Ana said herself
    ticket = found["A ferry ticket costs 34 francs."]
    assert judging.candidates[ticket.parent].text == "I look after the ferry desk."


@pytest.mark.parametrize(("average", "expected"), [(0.0, 0.9), (1.0, 0.4), (0.25, 0.775)])
def test_share_of_the_plan_before_reading(lend_unified, shape, store, average, expected):
    runtime = Fixed(shape, {(): 0.6, ("PERSONA",): 0.4}, {(): 0.1, ("PERSONA",): 0.9})
    plan = planned(lend_unified, runtime, aware=True, store=store, average=average)
    assert plan.probabilities["PERSONA"] == pytest.approx(expected)


def test_share_that_training_fitted(lend_unified, shape, store):
    runtime = Fixed(shape, {(): 0.6, ("PERSONA",): 0.4}, {(): 0.1, ("PERSONA",): 0.9})
    plan = planned(lend_unified, runtime, lent={"average": 0.2}, aware=True, store=store)
    assert plan.probabilities["PERSONA"] == pytest.approx(0.2 * 0.4 + 0.8 * 0.9)


def test_offsets_of_the_mean_are_added_to_the_mean_others_to_what_they_are_of(lend_unified, shape, store):
    even = {(): 0.5, ("PERSONA",): 0.5}
    runtime = Fixed(shape, even, even)
    options = {"aware": True, "store": store}
    own = {"context": {"": math.log(3)}, "check": {}}
    plan = planned(lend_unified, runtime, lent={"offsets": own}, **options)
    assert plan.probabilities["PERSONA"] == pytest.approx((0.25 + 0.5) / 2)
    plan = planned(lend_unified, runtime, lent={"offsets": {**own, "average": {"": math.log(3)}}}, **options)
    assert plan.probabilities["PERSONA"] == pytest.approx(0.25)
    other = {"offsets": {**own, "average": {"": math.log(3)}}, "average": 0.1}  # fitted for another share than is asked
    plan = planned(lend_unified, runtime, lent=other, average=0.5, **options)
    assert plan.probabilities["PERSONA"] == pytest.approx((0.25 + 0.5) / 2)


def test_candidates_of_a_large_source_are_the_retrievers(lend_unified, shape, store):
    runtime = Fixed(shape)
    inner = StubRetriever(SHARED_PASSAGES)
    planned(lend_unified, runtime, aware=True, store=store, retriever=inner, small=2, pool=1)
    assert [source.name for source in inner.requests[0].sources] == [
        "DOCUMENTS"
    ]  # four passages; the others have fewer
    texts = [candidate.text for candidate in runtime.asked[0].candidates if candidate.source == "DOCUMENTS"]
    assert texts == ["Ferry\nA ferry ticket costs 34 francs."]


@pytest.mark.parametrize("options", [{}, {"encoder": ScriptedEncoder(), "unknown": "never"}])
def test_unknown_source_is_named_warned_of_and_not_asked_without_encoder_or_wish(lend_unified, shape, caplog, options):
    runtime = Fixed(shape, {("PERSONA",): 1.0})
    with caplog.at_level(logging.WARNING, "dragoman"):
        plan = planned(lend_unified, runtime, sources=(*SOURCES, WEATHER), **options)
    assert plan.sources == ("PERSONA",)
    assert "WEATHER" not in plan.probabilities
    assert "not known to the part, so not asked: WEATHER" in plan.reason
    assert "not trained with the sources WEATHER: they are never asked until it is" in caplog.text


def test_unknown_source_is_asked_by_its_description_where_it_is_close(lend_unified, shape, caplog):
    lend_unified(Fixed(shape, {("PERSONA",): 1.0}))
    planner = ActingPlanner(part="lent", encoder=ScriptedEncoder())
    turns = [Context.of("the weather and the tide"), Context.of("who are you")]
    with caplog.at_level(logging.WARNING, "dragoman"):
        near, far = planner.plan(turns, (*SOURCES, WEATHER))
    assert "WEATHER: they are asked by their descriptions until it is" in caplog.text
    assert near.sources == ("PERSONA", "WEATHER")
    assert "asked by description: WEATHER 1.00" in near.reason
    assert far.sources == ("PERSONA",)
    SourceGraph((*SOURCES, WEATHER)).check(near)


def test_unknown_source_is_not_asked_without_what_it_needs(lend_unified, shape):
    lend_unified(Fixed(shape, {(): 1.0}))
    planner = ActingPlanner(part="lent", encoder=ScriptedEncoder())
    assert planner.plan([Context.of("the weather and the tide")], (*SOURCES, WEATHER))[0].is_null


def test_turns_that_found_no_room_are_told(make_unified, lend_unified):
    lend_unified(make_unified(window=120))
    long = Context.of(*(f"Turn number {n} of a dialogue that is long." for n in range(9)))
    plan = ActingPlanner(part="lent").plan([long], SOURCES)[0]
    assert "turns found no room" in plan.reason
    plan = ActingPlanner(part="lent").plan([Context.of("a long turn " * 200)], SOURCES)[0]
    assert "the beginning of the newest turn found no room" in plan.reason


@pytest.mark.parametrize("layout", ["paper", "plain"])
def test_layouts_without_a_check_refuse_to_plan_after_reading(make_unified, lend_unified, store, layout):
    lend_unified(make_unified(layout=layout))
    with pytest.raises(ConfigError, match="no plan after reading"):
        ActingPlanner(part="lent", aware=True, store=store).plan([TURN], SOURCES)


@pytest.mark.parametrize(
    "options", [{"aware": True}, {"average": 2.0}, {"aware": True, "runtime": "llamacpp", "pool": 0}]
)
def test_odd_options_are_refused(options):
    with pytest.raises(ConfigError):
        ActingPlanner(part="lent", **options)


def test_legal_orders_of_the_sample_sources():
    found = legal_orders(SourceGraph(SOURCES), {"PERSONA", "MEMORY", "DOCUMENTS"})
    assert found[0] == ()
    assert set(found) == {
        (),
        ("PERSONA",),
        ("MEMORY",),
        ("PERSONA", "MEMORY"),
        ("MEMORY", "PERSONA"),
        ("PERSONA", "DOCUMENTS"),
        *(
            order
            for order in permutations(("PERSONA", "MEMORY", "DOCUMENTS"))
            if order.index("PERSONA") < order.index("DOCUMENTS")
        ),
    }


def test_source_that_needs_an_unknown_one_is_in_no_order():
    assert legal_orders(SourceGraph((PERSONA, MEMORY, DOCUMENTS)), {"MEMORY", "DOCUMENTS"}) == ((), ("MEMORY",))


@given(st.integers(1, 9), st.randoms(use_true_random=False))
def test_orders_are_different_legal_and_not_too_many(size, chance):
    sources = [Source(f"s{i}", needs=tuple(f"s{j}" for j in range(i) if chance.random() < 0.2)) for i in range(size)]
    graph = SourceGraph(sources)
    found = legal_orders(graph, set(graph.names), most=60)
    assert () in found
    assert len(set(found)) == len(found) <= 60
    for order in found:
        for place, name in enumerate(order):
            assert set(graph[name].needs) <= set(order[:place])


def test_a_known_source_that_needs_an_unknown_one_is_planned_after_it(lend_unified, shape):
    sources = (PERSONA, Source("PROFILE", "what somebody likes"), Source("MEMORY", "told", needs=("PROFILE",)))
    runtime = Fixed(shape, {("MEMORY",): 0.9, (): 0.1})
    plan = planned(lend_unified, runtime, sources=sources, encoder=ScriptedEncoder())
    assert plan.sources == ("PROFILE", "MEMORY")
    assert "PROFILE" in plan.reason and "so not asked" not in plan.reason
    SourceGraph(sources).check(plan)
    assert planned(lend_unified, runtime, sources=sources, unknown="never").is_null
