"""Conformance suite of stores: subclass `StoreConformance` in a test and give it a fixture `store`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dragoman.agent.turns import exchanges, last_turns
from dragoman.core.clock import use_clock
from dragoman.core.errors import InputError, StoreTwiceError
from dragoman.core.protocols import Store
from dragoman.core.values import Answered, Hit, Passage, Query, Receipt, Scope, Turn

ANA = Scope("acme", "ana")
BEN = Scope("acme", "ben")
OTHER_ANA = Scope("other", "ana")
FERRY = Passage("ferry", "NOTES", "The ferry leaves at nine.", title="Harbour", headings=("Times",), origin="a.md")
MUSEUM = Passage("museum", "NOTES", "The museum opens at ten.", parent="ferry", position=1, origin="b.md")
TRAM = Passage("tram", "NOTES", "The tram runs all night.", meta={"line": "4"}, position=2, origin="b.md")
ALL = (FERRY, MUSEUM, TRAM)
VECTORS = np.array([[1, 0, 0], [0.8, 0.6, 0], [0, 0, 2]], dtype=np.float32)


def words(scope: Scope, *tokens: str, k: int = 10, **filters: frozenset[str] | str) -> Query:
    """A lexical query."""
    return Query(scope, "NOTES", k, tokens=tokens, **filters)  # type: ignore[arg-type]  # filters


def near(scope: Scope, *vector: float, k: int = 10, **filters: frozenset[str] | str) -> Query:
    """A query by vector."""
    return Query(scope, "NOTES", k, vector=vector, **filters)  # type: ignore[arg-type]  # filters


def ids(hits: Sequence[Hit]) -> list[str]:
    return [hit.passage.id for hit in hits]


def refuses(store: Store, scope: Scope, passages: Sequence[Passage]) -> bool:
    """Whether the store says that it cannot take these passages."""
    try:
        store.put(scope, passages)
    except InputError:
        return True
    return False


def is_refused(store: Store, dialogue: str, under: Receipt) -> bool:
    """Whether the store says that the turns of a request are there already."""
    try:
        store.append(ANA, dialogue, [Turn("user", "again"), Turn("agent", "no")], ["other"], under=under)
    except StoreTwiceError:
        return True
    return False


class StoreConformance:
    """The store's `analyse` must lower-case words and split at spaces and full stops, at least."""

    def test_a_passage_comes_back_as_it_was_put(self, store: Store) -> None:
        assert store.put(ANA, ALL, VECTORS) == 3
        assert list(store.get(ANA, ["tram", "nobody", "ferry"])) == [TRAM, None, FERRY]

    def test_putting_the_same_content_again_does_nothing(self, store: Store) -> None:
        store.put(ANA, ALL, VECTORS)
        assert store.put(ANA, ALL, VECTORS) == 0
        assert store.put(ANA, ALL) == 0
        assert ids(store.nearest([near(ANA, 1, 0, 0, k=1)])[0]) == ["ferry"]

    def test_a_passage_given_twice_in_one_call_counts_once(self, store: Store) -> None:
        assert store.put(ANA, [FERRY, FERRY], VECTORS[:2]) == 1
        assert np.isclose(store.nearest([near(ANA, 0.8, 0.6, 0)])[0][0].score, 1.0), "the last vector stays"

    def test_changed_content_replaces_the_row_in_its_place(self, store: Store) -> None:
        store.put(ANA, ALL, VECTORS)
        assert store.put(ANA, [Passage("ferry", "NOTES", "No boats today."), TRAM]) == 1
        assert next(passage.text for passage in store.passages(ANA, "NOTES")) == "No boats today."
        assert ids(store.lexical([words(ANA, "ferry")])[0]) == []
        assert ids(store.lexical([words(ANA, "boats")])[0]) == ["ferry"]

    def test_changed_content_without_a_vector_loses_the_old_one(self, store: Store) -> None:
        store.put(ANA, ALL, VECTORS)
        store.put(ANA, [Passage("ferry", "NOTES", "No boats today.")])
        assert "ferry" not in ids(store.nearest([near(ANA, 1, 0, 0)])[0])

    def test_a_vector_can_be_added_later(self, store: Store) -> None:
        store.put(ANA, ALL)
        assert store.nearest([near(ANA, 1, 0, 0)])[0] == []
        assert store.put(ANA, ALL, VECTORS) == 3
        assert ids(store.nearest([near(ANA, 1, 0, 0)])[0]) == ["ferry", "museum", "tram"]

    def test_rows_come_in_order_of_insertion_and_by_origin(self, store: Store) -> None:
        store.put(ANA, [TRAM])
        store.put(ANA, [FERRY, MUSEUM])
        assert [passage.id for passage in store.passages(ANA, "NOTES")] == ["tram", "ferry", "museum"]
        assert [passage.id for passage in store.passages(ANA, "NOTES", origin="b.md")] == ["tram", "museum"]
        assert list(store.passages(ANA, "NOTES", origin="c.md")) == []

    def test_scopes_never_see_each_other(self, store: Store) -> None:
        store.put(ANA, ALL, VECTORS)
        store.append(ANA, "d", [Turn("user", "hello"), Turn("agent", "hi")], ["trace"])
        store.keep(ANA, "key", "value")
        for scope in (BEN, OTHER_ANA, ANA.shared):
            assert list(store.get(scope, ["ferry"])) == [None]
            assert list(store.passages(scope, "NOTES")) == []
            assert store.count(scope, "NOTES") == 0
            assert store.lexical([words(scope, "ferry")])[0] == []
            assert store.nearest([near(scope, 1, 0, 0)])[0] == []
            assert store.frequencies(scope, "NOTES", ["ferry"]) == (0, {"ferry": 0})
            assert list(store.dialogue(scope, "d")) == [] and list(store.dialogues(scope)) == []
            assert store.trace(scope, "d") is None
            assert store.kept(scope, "key") is None
            assert store.remove(scope, ["ferry"]) == 0
            assert store.forget(scope) == 0
        assert store.count(ANA, "NOTES") == 3

    def test_one_id_lives_in_each_scope_on_its_own(self, store: Store) -> None:
        store.put(ANA, [FERRY])
        store.put(BEN, [Passage("ferry", "NOTES", "Mine.")])
        assert store.remove(BEN, ["ferry"]) == 1
        assert list(store.get(ANA, ["ferry"])) == [FERRY]

    def test_sources_are_searched_apart(self, store: Store) -> None:
        store.put(ANA, [FERRY, Passage("other", "DIARY", "The ferry was late.")], VECTORS[:2])
        assert ids(store.lexical([words(ANA, "ferry")])[0]) == ["ferry"]
        assert ids(store.nearest([near(ANA, 1, 0, 0)])[0]) == ["ferry"]
        assert (store.count(ANA, "NOTES"), store.count(ANA, "DIARY")) == (1, 1)

    def test_words_find_only_rows_that_share_one(self, store: Store) -> None:
        store.put(ANA, ALL)
        results = store.lexical([words(ANA, "museum", "ten"), words(ANA, "zeppelin"), words(ANA)])
        assert [ids(hits) for hits in results] == [["museum"], [], []]
        assert results[0][0].score > 0

    def test_the_title_and_headings_are_searched_too(self, store: Store) -> None:
        store.put(ANA, ALL)
        assert ids(store.lexical([words(ANA, "harbour")])[0]) == ["ferry"]

    def test_a_rarer_word_counts_more(self, store: Store) -> None:
        store.put(ANA, ALL)
        assert ids(store.lexical([words(ANA, "at", "night")])[0])[0] == "tram"

    def test_nearest_gives_cosines_best_first(self, store: Store) -> None:
        store.put(ANA, ALL, VECTORS)
        hits = store.nearest([near(ANA, 5, 0, 0)])[0]
        assert ids(hits) == ["ferry", "museum", "tram"]
        assert np.allclose([hit.score for hit in hits], [1.0, 0.8, 0.0], atol=1e-6)

    def test_no_more_than_k_are_found(self, store: Store) -> None:
        store.put(ANA, ALL, VECTORS)
        assert len(store.nearest([near(ANA, 1, 0, 0, k=2)])[0]) == 2
        assert len(store.lexical([words(ANA, "the", k=2)])[0]) == 2
        assert store.nearest([near(ANA, 1, 0, 0, k=0)])[0] == []

    def test_filters_hold(self, store: Store) -> None:
        store.put(ANA, ALL, VECTORS)
        under, without = frozenset({"ferry"}), frozenset({"ferry", "museum"})
        assert ids(store.nearest([near(ANA, 1, 0, 0, parents=under)])[0]) == ["museum"]
        assert ids(store.lexical([words(ANA, "the", parents=under)])[0]) == ["museum"]
        assert ids(store.nearest([near(ANA, 1, 0, 0, without=without)])[0]) == ["tram"]
        assert ids(store.lexical([words(ANA, "the", without=without)])[0]) == ["tram"]
        assert store.lexical([words(ANA, "the", parents=frozenset())])[0] == []

    def test_a_period_keeps_the_rows_of_its_time(self, store: Store) -> None:
        fact = replace(FERRY, meta={"said_at": "2024-03-01T10:00:00Z", "date": "1999-01-01", "value": '"date": "x"'})
        dated = replace(MUSEUM, meta={"date": "2025-06-30", "note": "\x00"})
        undated = replace(TRAM, meta={"said_at": "", "text": '"said_at": "2024-05-05"'})
        store.put(ANA, [fact, dated, undated], VECTORS)
        for since, until, wanted in (
            ("2024", "", ["ferry", "museum"]),
            ("2025-01-01", "2026-01-01", ["museum"]),
            ("", "2025-06-30", ["ferry"]),
            ("2025-06-30", "", ["museum"]),
            ("2026", "", []),
        ):
            assert ids(store.nearest([near(ANA, 1, 0, 0, since=since, until=until)])[0]) == wanted
            assert sorted(ids(store.lexical([words(ANA, "the", since=since, until=until)])[0])) == wanted
        assert ids(store.nearest([near(ANA, 1, 0, 0, k=1, since="2025")])[0]) == ["museum"]
        store.supersede(ANA, "ferry", "museum", meta={"valid_until": "2025-01-01"})
        assert ids(store.nearest([near(ANA, 1, 0, 0, since="2024", until="2025")])[0]) == []

    def test_a_superseded_row_is_kept_and_not_found(self, store: Store) -> None:
        store.put(ANA, ALL, VECTORS)
        store.supersede(ANA, "ferry", "museum")
        assert ids(store.nearest([near(ANA, 1, 0, 0)])[0]) == ["museum", "tram"]
        assert ids(store.lexical([words(ANA, "ferry")])[0]) == []
        assert store.count(ANA, "NOTES") == 2
        assert store.frequencies(ANA, "NOTES", ["ferry", "the"]) == (2, {"ferry": 0, "the": 2})
        assert list(store.passages(ANA, "NOTES", superseded=True)) == [FERRY]
        assert list(store.get(ANA, ["ferry"])) == [FERRY]

    def test_a_superseded_row_that_is_put_again_is_live_again(self, store: Store) -> None:
        store.put(ANA, ALL, VECTORS)
        store.supersede(ANA, "ferry", "museum")
        assert store.put(ANA, [FERRY]) == 1
        assert ids(store.nearest([near(ANA, 1, 0, 0, k=1)])[0]) == ["ferry"]
        assert store.count(ANA, "NOTES") == 3

    def test_superseding_adds_to_the_meta_of_the_row(self, store: Store) -> None:
        store.put(ANA, [FERRY, MUSEUM])
        store.supersede(ANA, "ferry", "museum", meta={"valid_until": "2026-05-03T12:00:00Z"})
        (old,) = store.passages(ANA, "NOTES", superseded=True)
        assert old == replace(FERRY, meta={**FERRY.meta, "valid_until": "2026-05-03T12:00:00Z"})
        assert store.put(ANA, [old]) == 1 and store.put(ANA, [old]) == 0

    def test_frequencies_count_rows(self, store: Store) -> None:
        store.put(ANA, ALL)
        assert store.frequencies(ANA, "NOTES", ["the", "at", "zeppelin"]) == (3, {"the": 3, "at": 2, "zeppelin": 0})

    def test_a_removed_row_is_gone(self, store: Store) -> None:
        store.put(ANA, ALL, VECTORS)
        assert store.remove(ANA, ["ferry", "nobody", "ferry"]) == 1
        assert list(store.get(ANA, ["ferry"])) == [None]
        assert ids(store.lexical([words(ANA, "the")])[0]) == ["museum", "tram"]
        assert "ferry" not in ids(store.nearest([near(ANA, 1, 0, 0)])[0])
        assert store.count(ANA, "NOTES") == 2

    def test_a_batch_is_written_whole_or_not_at_all(self, store: Store) -> None:
        assert refuses(store, ANA, [FERRY, Passage("bad", "NOTES", "\ud800")])
        assert refuses(store, ANA, [FERRY, Passage("ferry", "NOTES", "another")])
        assert refuses(store, ANA, [FERRY, Passage("", "NOTES", "no id")])
        assert store.count(ANA, "NOTES") == 0

    def test_an_id_belongs_to_one_source(self, store: Store) -> None:
        store.put(ANA, [FERRY])
        assert refuses(store, ANA, [MUSEUM, Passage("ferry", "DIARY", "The ferry was late.")])
        assert list(store.get(ANA, ["ferry", "museum"])) == [FERRY, None]

    def test_any_unicode_text_survives(self, store: Store) -> None:
        passage = Passage("雨", "NOTES", "渡轮 \x00 \x07 🚢 e\u0301 \u202e", headings=("a'b", '"'), meta={"🚢": "\n"})
        store.put(ANA, [passage])
        assert list(store.get(ANA, ["雨"])) == [passage]
        assert list(store.passages(ANA, "NOTES")) == [passage]

    def test_dialogues_keep_their_turns_and_the_last_trace(self, store: Store) -> None:
        first, second = Turn("user", "hello"), Turn("agent", "hi\nthere")
        store.append(ANA, "b", [first, second], {"gate": [1, 2.5, None, "雨"]})
        store.append(ANA, "a", [first])
        store.append(ANA, "b", [first])
        assert list(store.dialogue(ANA, "b")) == [first, second, first]
        assert list(store.dialogues(ANA)) == ["b", "a"]
        assert store.trace(ANA, "b") == {"gate": [1, 2.5, None, "雨"]}
        assert store.trace(ANA, "a") is None
        store.append(ANA, "b", [second])
        assert store.trace(ANA, "b") is None
        assert list(store.traces(ANA, "b")) == [None, {"gate": [1, 2.5, None, "雨"]}, None, None]
        assert list(store.traces(BEN, "b")) == []

    def test_turns_keep_the_time_at_which_they_were_said(self, store: Store) -> None:
        with use_clock("2026-05-03T12:30:00Z"):
            store.append(ANA, "d", [Turn("user", "hello", "2024-02-29T23:59:59Z"), Turn("agent", "hi")])
        assert [turn.said_at for turn in store.dialogue(ANA, "d")] == ["2024-02-29T23:59:59Z", "2026-05-03T12:30:00Z"]

    def test_turns_stay_in_order_when_the_clock_goes_back(self, store: Store) -> None:
        for year in (2026, 2024):
            with use_clock(f"{year}-05-03T12:30:00Z"):
                store.append(ANA, "d", [Turn("user", str(year))])
        assert [turn.text for turn in store.dialogue(ANA, "d")] == ["2026", "2024"]

    def test_turns_under_a_request_are_added_once(self, store: Store) -> None:
        turns, more = [Turn("user", "hello"), Turn("agent", "hi")], [Turn("user", "and?"), Turn("agent", "no more")]
        assert store.answered(ANA, "r1") is None
        store.append(ANA, "d", turns, {"n": 1}, under=Receipt("r1"))
        store.append(ANA, "d", more, {"n": 2}, under=Receipt("r2"))
        for dialogue in ("d", "another"):
            assert is_refused(store, dialogue, Receipt("r1"))
        assert list(store.dialogue(ANA, "d")) == [*turns, *more] and list(store.dialogues(ANA)) == ["d"]
        assert store.answered(ANA, "r1") == Answered("d", 1, "hello", {"n": 1})
        assert store.answered(ANA, "r2") == Answered("d", 3, "and?", {"n": 2})
        store.append(ANA, "d", turns, {"n": 3})
        store.append(ANA, "d", turns, {"n": 4}, under=Receipt())

    def test_a_request_is_its_scopes_own_and_goes_with_its_dialogue(self, store: Store) -> None:
        turns = [Turn("user", "hello"), Turn("agent", "hi")]
        for scope in (ANA, BEN, OTHER_ANA):
            store.append(scope, "d", turns, {}, under=Receipt("r"))
        store.erase_turns(ANA, "d")
        store.forget(OTHER_ANA)
        assert store.answered(ANA, "r") is None and store.answered(OTHER_ANA, "r") is None
        store.append(ANA, "d", turns, {}, under=Receipt("r"))
        store.redact(ANA, ["HELLO"])
        assert store.answered(ANA, "r") == Answered("d", 1, "", {}) and is_refused(store, "d", Receipt("r"))
        assert store.answered(BEN, "r") == Answered("d", 1, "hello", {})

    def test_the_end_and_the_exchanges_of_a_dialogue_are_those_of_the_whole(self, store: Store) -> None:
        said = [Turn("agent" if place % 2 else "user", str(place)) for place in range(700)]  # more than is read at once
        for begin, end in ((0, 2), (2, 4), (4, 700)):
            store.append(ANA, "d", said[begin:end], {"end": end})
            store.append(BEN, "d", [Turn("user", "other")])
        for dialogue, most, last, whole in (("d", 3, said[-3:], 700), ("d", 0, [], 700), ("other", 3, [], 0)):
            turns, count = last_turns(store, ANA, dialogue, most)
            assert list(turns) == last and count == whole
        assert list(exchanges(store, ANA, "d")) == list(
            zip(store.dialogue(ANA, "d"), store.traces(ANA, "d"), strict=True)
        )
        assert list(exchanges(store, ANA, "other")) == []

    def test_redacting_blanks_turns_and_drops_traces_that_hold_a_text(self, store: Store) -> None:
        store.append(ANA, "a", [Turn("user", "I live in Basel."), Turn("agent", "Noted.")], {"learned": ["basel 雨"]})
        store.append(ANA, "b", [Turn("user", "Hello"), Turn("agent", "Hi")], ["nothing"])
        store.append(BEN, "a", [Turn("user", "I live in Basel.")])
        assert store.redact(ANA, ["in BASEL", "  "]) == 1
        assert store.redact(ANA, ["basel 雨"]) == 1
        assert list(store.dialogue(ANA, "a")) == [Turn("user", ""), Turn("agent", "Noted.")]
        assert store.trace(ANA, "a") is None
        assert store.trace(ANA, "b") == ["nothing"]
        assert list(store.dialogue(BEN, "a")) == [Turn("user", "I live in Basel.")]

    def test_a_dialogue_is_erased_whole_or_at_some_places(self, store: Store) -> None:
        for scope in (ANA, BEN):
            for name in ("a", "b"):
                store.append(scope, name, [Turn("user", "Hello"), Turn("agent", "Hi")], {"gate": name})
        assert store.erase_turns(ANA, "b", [1, 1, 7, -1]) == 1
        assert list(store.dialogue(ANA, "b")) == [Turn("user", "Hello"), Turn("agent", "")]
        assert list(store.traces(ANA, "b")) == [None, None]
        assert store.erase_turns(ANA, "a") == 2 and store.erase_turns(ANA, "a") == 0
        assert list(store.dialogues(ANA)) == ["b"] and store.trace(ANA, "a") is None
        assert list(store.dialogues(BEN)) == ["a", "b"] and store.trace(BEN, "b") == {"gate": "b"}

    def test_a_kept_value_is_the_last_one(self, store: Store) -> None:
        store.keep(ANA, "seen", "one")
        store.keep(ANA, "seen", "two")
        assert store.kept(ANA, "seen") == "two"
        assert store.kept(ANA, "unseen") is None

    def test_forgetting_a_scope_leaves_the_others(self, store: Store) -> None:
        for scope in (ANA, BEN, ANA.shared):
            store.put(scope, ALL, VECTORS)
            store.append(scope, "d", [Turn("user", "hello"), Turn("agent", "hi")], "trace")
            store.keep(scope, "key", "value")
        assert store.forget(ANA) == 6
        assert store.count(ANA, "NOTES") == 0 and list(store.dialogues(ANA)) == [] and store.kept(ANA, "key") is None
        assert store.lexical([words(ANA, "the")])[0] == [] and store.nearest([near(ANA, 1, 0, 0)])[0] == []
        for scope in (BEN, ANA.shared):
            assert store.count(scope, "NOTES") == 3 and store.trace(scope, "d") == "trace"
            assert len(store.nearest([near(scope, 1, 0, 0)])[0]) == 3
        assert store.forget(ANA) == 0

    def test_a_forgotten_scope_can_be_used_again(self, store: Store) -> None:
        store.put(ANA, ALL, VECTORS)
        store.nearest([near(ANA, 1, 0, 0)])
        store.forget(ANA)
        assert store.put(ANA, [TRAM], VECTORS[2:]) == 1
        assert ids(store.nearest([near(ANA, 1, 0, 0)])[0]) == ["tram"]

    def test_many_queries_are_answered_in_order(self, store: Store) -> None:
        store.put(ANA, ALL, VECTORS)
        store.put(BEN, [TRAM], VECTORS[2:])
        results = store.nearest([near(BEN, 1, 0, 0), near(ANA, 0, 0, 1, k=1), near(ANA, 1, 0, 0, k=1)])
        assert [ids(hits) for hits in results] == [["tram"], ["tram"], ["ferry"]]

    def test_closing_twice_is_fine(self, store: Store) -> None:
        store.put(ANA, [FERRY])
        store.close()
        store.close()
