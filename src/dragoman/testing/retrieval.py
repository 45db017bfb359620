"""The suites for retrievers and memories, which work over a store."""

from __future__ import annotations

from typing import Any

from dragoman.core.protocols import Encoder, Memory, Retriever, Store, by_about, passage_vectors
from dragoman.core.values import Context, Evidence, Learned, Request, Turn
from dragoman.testing.samples import (
    ANA,
    CONTEXTS,
    DOCUMENTS,
    MEMORY,
    PERSONA,
    PRIVATE_PASSAGES,
    SHARED_PASSAGES,
    SOURCES,
    TOM,
    is_probability,
)


def fill(store: Store, encoder: Encoder | None = None) -> None:
    """Write the passages that the retriever suite asks for: call it in the fixture."""
    rows = {ANA.shared: SHARED_PASSAGES, **PRIVATE_PASSAGES}
    for scope, passages in rows.items():
        for about, alike in by_about(passages, SOURCES).items():
            texts = [passage.indexed for passage in alike]
            store.put(scope, alike, passage_vectors(encoder, texts, about=about) if encoder else None)


class RetrieverConformance:
    """Give a fixture `retriever` over a store that `fill` has filled."""

    question = CONTEXTS[1]

    def hits(self, retriever: Retriever, **fields: Any) -> list[Evidence]:
        wanted: dict[str, Any] = {"context": self.question, "sources": (DOCUMENTS,), "k": 3}
        request = Request(**(wanted | fields))
        return list(retriever.retrieve([request])[0])

    def test_is_a_retriever(self, retriever: Retriever) -> None:
        assert isinstance(retriever, Retriever), "a retriever has retrieve(requests)"

    def test_finds_the_answer(self, retriever: Retriever) -> None:
        ids = [piece.id for piece in self.hits(retriever)]
        assert "d-price" in ids, f"'{self.question.last}' found {ids}"

    def test_relevance_is_a_probability(self, retriever: Retriever) -> None:
        for context in CONTEXTS:
            for source in SOURCES:
                relevance = [piece.relevance for piece in self.hits(retriever, context=context, sources=(source,))]
                assert all(is_probability(value) for value in relevance), f"relevance in [0, 1], not {relevance}"

    def test_gives_no_more_than_k_a_source(self, retriever: Retriever) -> None:
        for k in (1, 2):
            evidence = self.hits(retriever, sources=(PERSONA, DOCUMENTS), k=k)
            for source in (PERSONA, DOCUMENTS):
                count = sum(piece.source == source.name for piece in evidence)
                assert count <= k, f"{count} of {source.name} for k = {k}"

    def test_gives_only_the_sources_asked(self, retriever: Retriever) -> None:
        assert {piece.source for piece in self.hits(retriever)} <= {"DOCUMENTS"}, "other sources were not asked"

    def test_never_gives_what_is_to_be_left_out(self, retriever: Retriever) -> None:
        taken: set[str] = set()
        for _ in range(len(SHARED_PASSAGES) + 1):
            evidence = self.hits(retriever, k=1, without=frozenset(taken))
            assert not taken & {piece.id for piece in evidence}, "an id in `without` came back"
            taken.update(piece.id for piece in evidence)
        assert taken <= {passage.id for passage in SHARED_PASSAGES if passage.source == "DOCUMENTS"}

    def test_never_gives_another_users_row(self, retriever: Retriever) -> None:
        for scope, own in ((ANA, "m-ana"), (TOM, "m-tom")):
            context = Context((Turn("user", "Who is called Ferry?"),), scope)
            ids = {piece.id for piece in self.hits(retriever, context=context, sources=(MEMORY,), k=5)}
            assert ids <= {own}, f"{scope.user} was given {ids}"

    def test_takes_given_evidence(self, retriever: Retriever) -> None:
        persona_evidence = tuple(self.hits(retriever, sources=(PERSONA,)))
        evidence = self.hits(retriever, given=persona_evidence)
        assert {piece.source for piece in evidence} <= {"DOCUMENTS"}, "given evidence is not given back"

    def test_batch_equals_one_by_one(self, retriever: Retriever) -> None:
        requests = [Request(context, (source,)) for context in CONTEXTS for source in SOURCES]
        together = [[piece.id for piece in evidence] for evidence in retriever.retrieve(requests)]
        alone = [[piece.id for piece in retriever.retrieve([request])[0]] for request in requests]
        assert together == alone, "what is found must not depend on the batch"

    def test_empty_batch(self, retriever: Retriever) -> None:
        assert len(retriever.retrieve([])) == 0, "no requests, no answers"


class MemoryConformance:
    """Give a fixture `memory` over an empty store. A memory may also have remember, recall and forget."""

    small_talk = Context.of("Thank you!", scope=ANA)
    fact = "I am allergic to nuts."

    def test_is_a_memory(self, memory: Memory) -> None:
        assert isinstance(memory, Memory), "a memory has learn(turns)"

    def test_answers_every_turn(self, memory: Memory) -> None:
        learned = memory.learn(CONTEXTS)
        assert len(learned) == len(CONTEXTS), "one answer for each turn"
        assert all(isinstance(one, Learned) for one in learned), "each of them a Learned"

    def test_learns_nothing_from_small_talk(self, memory: Memory) -> None:
        assert memory.learn([self.small_talk])[0].is_empty, "thanks say nothing about the user"

    def test_empty_batch(self, memory: Memory) -> None:
        assert len(memory.learn([])) == 0, "no turns, no answers"

    def test_recalls_what_it_was_told_to_remember_until_it_forgets(self, memory: Any) -> None:
        if all(hasattr(memory, name) for name in ("remember", "recall", "forget")):
            memory.remember(ANA, self.fact)
            texts = [passage.text for passage in memory.recall(ANA, None)]
            assert any("nuts" in text for text in texts), f"remembered {texts}"
            assert list(memory.recall(TOM, None)) == [], "another user remembers nothing"
            memory.forget(ANA, "nuts")
            assert list(memory.recall(ANA, None)) == [], "forgotten is gone"

    def test_forgetting_one_user_leaves_the_other(self, memory: Any) -> None:
        if all(hasattr(memory, name) for name in ("remember", "recall", "forget")):
            memory.remember(ANA, self.fact)
            memory.remember(TOM, self.fact)
            memory.forget(ANA, None)
            assert list(memory.recall(ANA, None)) == [], "everything of one user is gone"
            assert len(list(memory.recall(TOM, None))) == 1, "the other keeps theirs"
