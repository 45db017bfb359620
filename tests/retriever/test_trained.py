"""What a trained bi-encoder's part changes in dense and hybrid search."""

import numpy as np
import pytest

from dragoman.core.errors import ConfigError, WeightsError
from dragoman.core.values import Context, Evidence, Request, Scope, Source
from dragoman.models.calibration import Logistic
from dragoman.models.part import Head, Part, write_part
from dragoman.retriever import DenseRetriever, HybridRetriever
from dragoman.retriever.search import search_text, searches
from dragoman.retriever.vectors import query_texts, query_vectors
from dragoman.text.analyse import analyse

ANA = Scope("harbour", "ana")
DOCUMENTS = Source("DOCUMENTS", needs=("PERSONA",))
KINDS = {"dense": DenseRetriever, "hybrid": HybridRetriever}


def part(folder, *, kind="retriever.bi", calibrations=None, **options):
    head = Head(("relevant",), calibrations or {"relevant": Logistic(4.0, -2.0)})
    write_part(Part(folder, kind, {"relevance": head}, options), ())
    return str(folder)


def ask(retriever, *texts, sources=(DOCUMENTS,), **fields):
    return retriever.retrieve([Request(Context.of(*texts, scope=ANA), sources, **fields)])[0]


@pytest.fixture(params=KINDS)
def kind(request):
    return KINDS[request.param]


def test_relevance_is_the_parts_probability_of_the_cosine(kind, store, encoder, tmp_path):
    retriever = kind(store=store, encoder=encoder, analyse=analyse, part=part(tmp_path))
    found = ask(retriever, "What does the museum cost?")
    for piece in found:
        assert piece.relevance == pytest.approx(Logistic(4.0, -2.0).probability(piece.scores["cosine"]))
    assert found[0].id == "d-museum"


def test_a_source_with_a_calibration_of_its_own_is_judged_by_it(kind, store, encoder, tmp_path):
    own = part(tmp_path, calibrations={"relevant": Logistic(4.0, -2.0), "DOCUMENTS": Logistic(1.0, 3.0)})
    [piece, *_] = ask(kind(store=store, encoder=encoder, analyse=analyse, part=own), "What does the museum cost?")
    assert piece.relevance == pytest.approx(Logistic(1.0, 3.0).probability(piece.scores["cosine"]))


def test_the_part_says_how_a_dependent_source_is_asked(kind, store, encoder, tmp_path):
    given = (Evidence(store.get(ANA.shared, ["p-tea"])[0], 0.9),)
    retriever = kind(store=store, encoder=encoder, analyse=analyse, part=part(tmp_path, dependency="filter"))
    found = ask(retriever, "What does it cost?", given=given, k=4)
    assert {piece.id for piece in found} <= {"d-tea", "d-museum"}, "children of the given persona, and parentless rows"


def test_an_option_goes_before_the_parts_own(kind, store, encoder, tmp_path):
    given = (Evidence(store.get(ANA.shared, ["p-tea"])[0], 0.9),)
    own = part(tmp_path, dependency="filter")
    retriever = kind(store=store, encoder=encoder, analyse=analyse, part=own, dependency="off")
    assert {"d-fare", "d-dog"} & {piece.id for piece in ask(retriever, "What does it cost?", given=given, k=4)}


def test_a_part_of_another_kind_is_refused(kind, store, encoder, tmp_path):
    retriever = kind(store=store, encoder=encoder, analyse=analyse, part=part(tmp_path, kind="retriever.cross"))
    with pytest.raises(WeightsError, match=r"retriever\.cross, not a retriever\.bi"):
        retriever.warm_up()


def test_an_unknown_query_of_a_part_is_refused(kind, store, encoder, tmp_path):
    retriever = kind(store=store, encoder=encoder, analyse=analyse, part=part(tmp_path, query="telepathy"))
    with pytest.raises(WeightsError, match="telepathy"):
        retriever.warm_up()


def test_constructors_open_nothing(kind, store, encoder):
    kind(store=store, encoder=encoder, analyse=analyse, part="/nowhere/at/all")


def test_a_mix_without_a_part_is_refused(kind, store, encoder):
    with pytest.raises(ConfigError, match="trained part"):
        kind(store=store, encoder=encoder, analyse=analyse, query="mix")


def test_a_mix_weighs_last_turn_history_and_given_evidence(store, encoder):
    """By hand: 0.5 v(last) + 0.3 v(history) + 0.2 v(given), at unit length."""
    persona = store.get(ANA.shared, ["p-ferry"])[0]
    context = Context.of("Is there a museum?", "Yes.", "What does it cost?", scope=ANA)
    request = Request(context, (DOCUMENTS,), given=(Evidence(persona, 0.9),))
    [search] = searches([request], analyse=analyse, dependency="query", query="mix")
    assert query_texts(search) == {
        "last": "What does it cost?",
        "history": "What does it cost? Yes. Is there a museum?",
        "given": "I keep the ferry desk.",
    }
    shares = {"last": 0.5, "history": 0.3, "given": 0.2}
    mixed = sum(share * encoder.encode([query_texts(search)[name]])[0] for name, share in shares.items())
    [vector] = query_vectors(encoder, [search], shares)
    assert vector == pytest.approx(mixed / np.linalg.norm(mixed), abs=1e-6)


def test_a_mix_has_no_given_part_where_dependency_filters(store):
    given = (Evidence(store.get(ANA.shared, ["p-ferry"])[0], 0.9),)
    request = Request(Context.of("a?"), (DOCUMENTS,), given=given)
    [search] = searches([request], analyse=analyse, dependency="filter", query="mix")
    assert set(query_texts(search)) == {"last", "history"}


def test_a_dense_search_with_a_mix_finds_what_the_history_speaks_of(store, encoder, tmp_path):
    shares = {"last": 0.5, "history": 0.5}
    own = part(tmp_path, query="mix", mix=shares, dependency="off")
    retriever = DenseRetriever(store=store, encoder=encoder, analyse=analyse, part=own)
    assert ask(retriever, "Is there a museum?", "Yes, a museum.", "What does it cost?", k=1)[0].id == "d-museum"


def test_a_history_runs_from_the_last_turn_back():
    context = Context.of("one", "two", "three")
    assert search_text(context, "history").text == "three two one"
    assert search_text(context, "last").text == "three"
    assert (search_text(context, "mix").turn, search_text(context, "mix").text) == ("three", "three two one")
