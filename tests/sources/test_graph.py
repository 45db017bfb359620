import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import PlanError, SourceError
from dragoman.core.values import NULL_PLAN, Plan, Source
from dragoman.sources.graph import SourceGraph

PERSONA = Source("PERSONA")
DOCUMENTS = Source("DOCUMENTS", needs=("PERSONA",))
NOTES = Source("NOTES", needs=("DOCUMENTS", "PERSONA"))
MEMORY = Source("MEMORY")


@st.composite
def graphs(draw):
    """Random acyclic sources, declared in a random order."""
    size = draw(st.integers(1, 7))
    names = [f"S{i}" for i in range(size)]
    sources = [
        Source(name, needs=tuple(draw(st.lists(st.sampled_from(names[:i]), unique=True))) if i else ())
        for i, name in enumerate(names)
    ]
    return SourceGraph(draw(st.permutations(sources)))


def test_order_puts_needed_sources_first_and_otherwise_keeps_the_declaration():
    graph = SourceGraph([NOTES, MEMORY, DOCUMENTS, PERSONA])
    assert [source.name for source in graph.order] == ["PERSONA", "DOCUMENTS", "NOTES", "MEMORY"]


def test_close_adds_what_is_needed():
    graph = SourceGraph([NOTES, MEMORY, DOCUMENTS, PERSONA])
    assert graph.close(["DOCUMENTS"]) == (PERSONA, DOCUMENTS)


def test_plan_has_one_source_a_step_in_legal_order():
    graph = SourceGraph([PERSONA, MEMORY, DOCUMENTS])
    assert graph.plan(["DOCUMENTS", "MEMORY"]).steps == (("PERSONA",), ("MEMORY",), ("DOCUMENTS",))


def test_plan_of_nothing_is_null():
    assert SourceGraph([PERSONA]).plan([]) == NULL_PLAN


def test_cycle_is_named():
    with pytest.raises(SourceError, match="A -> B -> A"):
        SourceGraph([Source("A", needs=("B",)), Source("B", needs=("A",))])


def test_source_that_needs_itself_is_a_cycle():
    with pytest.raises(SourceError, match="A -> A"):
        SourceGraph([Source("A", needs=("A",))])


def test_cycle_behind_an_innocent_source_names_only_the_circle():
    sources = [
        Source("X", needs=("A",)),
        Source("A", needs=("B",)),
        Source("B", needs=("C",)),
        Source("C", needs=("A",)),
    ]
    with pytest.raises(SourceError, match=r": A -> B -> C -> A\."):
        SourceGraph(sources)


def test_unknown_need_says_what_was_meant():
    with pytest.raises(SourceError, match=r"'DOCS' needs 'persona', which is not declared. Did you mean 'PERSONA'\?"):
        SourceGraph([PERSONA, Source("DOCS", needs=("persona",))])


def test_name_declared_twice_is_refused():
    with pytest.raises(SourceError, match="'PERSONA' is declared twice"):
        SourceGraph([PERSONA, Source("PERSONA")])


@pytest.mark.parametrize("name", ["", " ", "A:B", "A\n", " A", "null", "NULL", "A->B"])
def test_unusable_name_is_refused(name):
    with pytest.raises(SourceError):
        SourceGraph([Source(name)])


@pytest.mark.parametrize("name", ["PERSONA", "house rules", "文档", "a.b-c_2"])
def test_usable_name_is_accepted(name):
    assert name in SourceGraph([Source(name)])


def test_undeclared_source_in_close_and_plan_is_a_plan_error_with_a_suggestion():
    graph = SourceGraph([PERSONA, DOCUMENTS])
    for ask in (graph.close, graph.plan):
        with pytest.raises(PlanError, match="Did you mean 'DOCUMENTS'"):
            ask(["DOCUMENT"])


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ((("WEB",),), "'WEB' is not declared"),
        ((("DOCUMENTS",),), "without 'PERSONA'"),
        ((("DOCUMENTS",), ("PERSONA",)), "without 'PERSONA'"),
        ((("PERSONA",), ("PERSONA",)), "again"),
        ((("PERSONA", "PERSONA"),), "again"),
        (((),), "names no source"),
    ],
)
def test_check_refuses_a_plan_that_breaks_the_declaration(steps, reason):
    with pytest.raises(PlanError, match=reason):
        SourceGraph([PERSONA, DOCUMENTS, MEMORY]).check(Plan(steps))


def test_check_accepts_null_and_joint_steps_of_independent_sources():
    graph = SourceGraph([PERSONA, DOCUMENTS, MEMORY])
    graph.check(NULL_PLAN)
    graph.check(Plan((("PERSONA", "MEMORY"), ("DOCUMENTS",))))


def test_check_accepts_a_source_beside_what_it_needs():
    SourceGraph([PERSONA, DOCUMENTS, MEMORY]).check(Plan((("DOCUMENTS", "PERSONA"),)))


def test_legal_orders_are_all_orders_that_respect_needs():
    orders = list(SourceGraph([PERSONA, DOCUMENTS, MEMORY]).legal_orders())
    assert orders == [
        ("PERSONA", "DOCUMENTS", "MEMORY"),
        ("PERSONA", "MEMORY", "DOCUMENTS"),
        ("MEMORY", "PERSONA", "DOCUMENTS"),
    ]


def test_long_chain_does_not_exhaust_the_stack():
    chain = [Source("S0")] + [Source(f"S{i}", needs=(f"S{i - 1}",)) for i in range(1, 3000)]
    assert SourceGraph(reversed(chain)).order[0].name == "S0"


@given(graphs(), st.data())
def test_closure_respects_needs_and_adds_nothing_else(graph, data):
    asked = data.draw(st.lists(st.sampled_from(graph.names)))
    closed = graph.close(asked)
    names = [source.name for source in closed]
    assert set(asked) <= set(names)
    for source in closed:
        for need in source.needs:
            assert names.index(need) < names.index(source.name)
    wanted = set(asked).union(*(source.needs for source in closed))
    assert set(names) == wanted


@given(graphs(), st.data())
def test_every_plan_we_make_passes_our_check(graph, data):
    graph.check(graph.plan(data.draw(st.lists(st.sampled_from(graph.names)))))


@given(graphs())
def test_order_is_one_of_the_legal_orders(graph):
    assert tuple(source.name for source in graph.order) in set(graph.legal_orders())
