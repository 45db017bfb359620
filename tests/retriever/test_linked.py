"""The titles that a dialogue names, then what stands under them."""

import pytest

from dragoman.core.errors import ConfigError
from dragoman.core.values import Context, Passage, Request, Scope, Source
from dragoman.retriever import LinkedRetriever, SparseRetriever
from dragoman.retriever.linked import Titles
from dragoman.stores.in_memory import InMemoryStore
from dragoman.testing import RetrieverConformance, fill
from dragoman.text.analyse import analyse

REVIEWS = Source("REVIEWS")
ROWS = tuple(
    Passage(f"{name.split()[0].lower()}-{i}", "REVIEWS", text, title=name)
    for name in ("ACORN HOUSE", "ASHLEY HOTEL", "GONVILLE HOTEL")
    for i, text in enumerate(("The rooms are quiet.", "Breakfast is cheap."))
)
SCOPE = Scope("town", "ana")


class Counting(InMemoryStore):
    """Counts how often rows are read."""

    reads = 0

    def passages(self, *args, **options):
        self.reads += 1
        return super().passages(*args, **options)


@pytest.fixture
def store():
    store = Counting(analyse=analyse)
    store.put(SCOPE.shared, ROWS)
    return store


def build(store, **options):
    return LinkedRetriever(inner=SparseRetriever(store=store, analyse=analyse), store=store, **options)


def ask(retriever, *texts, **fields):
    [found] = retriever.retrieve([Request(Context.of(*texts, scope=SCOPE), (REVIEWS,), **fields)])
    return [piece.id for piece in found]


def test_only_what_stands_under_the_named_title_is_found(store):
    assert ask(build(store), "Is the Ashley Hotel quiet?", k=5) == ["ashley-0", "ashley-1"]


def test_the_title_may_have_been_named_before(store):
    found = ask(build(store), "I want the Gonville Hotel.", "Booked.", "Are the rooms quiet?", k=5)
    assert found == ["gonville-0", "gonville-1"]


def test_the_latest_mention_wins_unless_more_are_wanted(store):
    talk = ("The Acorn House?", "Full. How about the Ashley Hotel?", "Are the rooms quiet?")
    assert set(ask(build(store), *talk, k=5)) == {"ashley-0", "ashley-1"}
    assert {"acorn-0", "ashley-0"} <= set(ask(build(store, most=2), *talk, k=5))


def test_where_no_title_is_named_everything_is_searched(store):
    assert len(ask(build(store), "Are the rooms quiet?", k=5)) == 3


def test_what_is_excluded_stays_excluded(store):
    assert ask(build(store), "Is the Ashley Hotel quiet and cheap?", k=5, without=frozenset({"ashley-0"})) == [
        "ashley-1"
    ]


def test_shared_titles_are_read_once_and_anew_when_their_number_changes(store):
    retriever = build(store)
    ask(retriever, "Is the Ashley Hotel quiet?")
    ask(retriever, "Is the Ashley Hotel cheap?")
    assert store.reads == 1
    store.put(SCOPE.shared, [Passage("new-0", "REVIEWS", "The rooms are quiet.", title="KIRKWOOD LODGE")])
    assert ask(retriever, "Is the Kirkwood Lodge quiet?", k=5) == ["new-0"]
    assert store.reads == 2


def test_a_users_titles_are_not_kept(store):
    mine = Source("NOTES", private=True)
    store.put(SCOPE, [Passage("n", "NOTES", "Quiet.", title="ASHLEY HOTEL")])
    retriever = build(store)
    asked = Request(Context.of("Is the Ashley Hotel quiet?", scope=SCOPE), (mine,))
    retriever.retrieve([asked])
    retriever.retrieve([asked])
    assert store.reads == 2


def test_titles_know_what_is_inside_and_outside():
    titles = Titles(ROWS)
    assert titles.inside(["ACORN HOUSE"]) == {"acorn-0", "acorn-1"}
    assert titles.inside(["ACORN HOUSE"]) | titles.outside(["ACORN HOUSE"]) == {row.id for row in ROWS}
    assert not titles.inside(["ACORN HOUSE"]) & titles.outside(["ACORN HOUSE"])


def test_a_negative_number_of_turns_is_refused(store):
    with pytest.raises(ConfigError, match="most = -1"):
        build(store, most=-1)


class TestLinkedConformance(RetrieverConformance):
    @pytest.fixture
    def retriever(self):
        store = InMemoryStore(analyse=analyse)
        fill(store)
        return LinkedRetriever(inner=SparseRetriever(store=store, analyse=analyse), store=store)
