"""The suite for data sets."""

from __future__ import annotations

from collections import defaultdict

from dragoman.core.examples import Dataset, Example, Problem
from dragoman.core.values import Passage, Scope
from dragoman.sources.graph import SourceGraph


class DatasetConformance:
    """Give a fixture `dataset` over a file with at least one usable turn.

    Set `whole = False` where contexts do not hold the whole dialogue so far, `complete = False` where gold evidence
    may be missing from the candidates on purpose, because finding them is part of the task.
    """

    whole = True
    complete = True

    def test_is_a_dataset(self, dataset: Dataset) -> None:
        assert isinstance(dataset, Dataset), "a set has name, language, sources, labels, files, examples(), passages()"
        assert dataset.name.strip(), "a set has a name"
        assert dataset.language in ("en", "zh"), f"'{dataset.language}' is no language of ours"

    def test_yields_examples_and_problems(self, dataset: Dataset) -> None:
        for outcome in dataset.examples():
            assert isinstance(outcome, Example | Problem), f"{outcome!r} is neither an Example nor a Problem"
        assert _examples(dataset), "a set has at least one usable turn"

    def test_reading_twice_gives_the_same(self, dataset: Dataset) -> None:
        assert list(dataset.examples()) == list(dataset.examples()), "running must leave no state behind"
        assert list(dataset.passages()) == list(dataset.passages()), "shared passages too"

    def test_sources_fit_together(self, dataset: Dataset) -> None:
        graph = SourceGraph(dataset.sources)
        for example in _examples(dataset):
            assert example.sources, f"{example.id} has no sources"
            named = {source.name for source in example.sources}
            assert named <= set(graph.names), f"{example.id} has the sources {named}, the set {graph.names}"

    def test_ids_are_unique(self, dataset: Dataset) -> None:
        ids = [example.id for example in _examples(dataset)]
        assert len(set(ids)) == len(ids), "two turns have the same id"
        shared = [passage.id for passage in dataset.passages()]
        assert len(set(shared)) == len(shared), "two shared passages have the same id"
        for example in _examples(dataset):
            names = [passage.id for passage in example.candidates]
            assert len(set(names)) == len(names), f"two candidates of {example.id} have the same id"

    def test_a_turn_ends_with_the_user(self, dataset: Dataset) -> None:
        for example in _examples(dataset):
            turns = example.context.turns
            assert turns and turns[-1].speaker == "user", f"{example.id} does not end with a user turn"
            assert turns[-1].text.strip(), f"the user says nothing in {example.id}"
            assert example.context.dialogue, f"{example.id} names no dialogue"

    def test_positions_count_the_agents_turns(self, dataset: Dataset) -> None:
        last: dict[str, int] = {}
        for example in _examples(dataset):
            before = sum(turn.speaker == "agent" for turn in example.context.turns)
            assert example.position >= before, f"{example.id} is at {example.position}, after {before} agent turns"
            if self.whole:
                assert example.position == before, f"{example.id} is at {example.position}, not {before}"
            earlier = last.get(example.context.dialogue, -1)
            assert example.position > earlier, f"{example.id} is at {example.position}, the turn before at {earlier}"
            last[example.context.dialogue] = example.position

    def test_equal_scopes_have_equal_candidates(self, dataset: Dataset) -> None:
        pools: dict[Scope, tuple[Passage, ...]] = {}
        for example in _examples(dataset):
            pool = pools.setdefault(example.context.scope, example.candidates)
            assert pool == example.candidates, f"{example.id} has other candidates than another turn of its scope"

    def test_candidates_lie_in_private_sources_and_the_corpus_in_shared_ones(self, dataset: Dataset) -> None:
        private = {source.name: source.private for source in dataset.sources}
        for example in _examples(dataset):
            for passage in example.candidates:
                assert private.get(passage.source), f"{passage.id} of {example.id} is in no private source"
                assert passage.text.strip(), f"{passage.id} of {example.id} is empty"
        for passage in dataset.passages():
            assert private.get(passage.source) is False, f"{passage.id} of the corpus is in no shared source"

    def test_gold_evidence_is_among_the_candidates(self, dataset: Dataset) -> None:
        corpus = {passage.id for passage in dataset.passages()}
        for example in _examples(dataset):
            reachable = corpus.union(passage.id for passage in example.candidates)
            missing = set(example.gold.evidence or ()) - reachable
            assert not (self.complete and missing), f"{example.id} has gold that cannot be found: {sorted(missing)}"

    def test_gold_agrees_with_itself(self, dataset: Dataset) -> None:
        graph = SourceGraph(dataset.sources)
        corpus = {passage.id: passage.source for passage in dataset.passages()}
        for example in _examples(dataset):
            gold = example.gold
            if gold.plan is not None:
                legal = tuple(source.name for source in graph.close(gold.plan))
                assert set(legal) == set(gold.plan), f"the plan {gold.plan} of {example.id} lacks a source it needs"
                assert len(set(gold.plan)) == len(gold.plan), f"{example.id} asks a source twice"
                assert gold.retrieve in (None, bool(gold.plan)), f"{example.id}: gate {gold.retrieve}, plan {gold.plan}"
                held = corpus | {passage.id: passage.source for passage in example.candidates}
                asked = {held[name] for name in gold.evidence or () if name in held}
                assert asked <= set(gold.plan), f"{example.id} has evidence of {asked}, but the plan {gold.plan}"
            assert gold.reply is None or gold.reply.strip(), f"{example.id} has an empty reply"

    def test_labels_are_those_that_turns_have(self, dataset: Dataset) -> None:
        counts: dict[str, int] = defaultdict(int)
        for example in _examples(dataset):
            for label in ("retrieve", "plan", "evidence", "reply"):
                counts[label] += getattr(example.gold, label) is not None
        carried = {label for label, count in counts.items() if count}
        assert dataset.labels == carried, f"the set says it has {set(dataset.labels)}, its turns have {carried}"

    def test_files_are_there(self, dataset: Dataset) -> None:
        for file in dataset.files:
            assert file.is_file(), f"{file} is no file"


def _examples(dataset: Dataset) -> list[Example]:
    return [outcome for outcome in dataset.examples() if isinstance(outcome, Example)]
