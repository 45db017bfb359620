"""The suites for gates, planners, readers and critics."""

from __future__ import annotations

from dragoman.core.protocols import Critic, Gate, Planner, Reader
from dragoman.core.values import Draft, Evidence, Plan, ReadTask, Verdict
from dragoman.sources.graph import SourceGraph
from dragoman.testing.samples import CONTEXTS, EVIDENCE, SOURCES, is_probability


class GateConformance:
    """Give a fixture `gate`."""

    def test_is_a_gate(self, gate: Gate) -> None:
        assert isinstance(gate, Gate), "a gate has decide(turns, evidence=None)"

    def test_answers_every_turn_with_a_probability(self, gate: Gate) -> None:
        verdicts = gate.decide(CONTEXTS)
        assert len(verdicts) == len(CONTEXTS), "one verdict for each turn"
        for verdict in verdicts:
            assert isinstance(verdict, Verdict), f"{verdict!r} is not a Verdict"
            assert is_probability(verdict.probability), f"{verdict.probability} is not a probability"

    def test_takes_evidence(self, gate: Gate) -> None:
        verdicts = gate.decide(CONTEXTS[:2], [EVIDENCE, ()])
        assert len(verdicts) == 2, "one verdict for each turn, with evidence too"

    def test_batch_equals_one_by_one(self, gate: Gate) -> None:
        together = [verdict.retrieve for verdict in gate.decide(CONTEXTS)]
        alone = [gate.decide([context])[0].retrieve for context in CONTEXTS]
        assert together == alone, "a turn's verdict must not depend on the batch around it"

    def test_repeats_itself(self, gate: Gate) -> None:
        first = [verdict.retrieve for verdict in gate.decide(CONTEXTS)]
        assert [verdict.retrieve for verdict in gate.decide(CONTEXTS)] == first, "running must leave no state behind"

    def test_empty_batch(self, gate: Gate) -> None:
        assert len(gate.decide([])) == 0, "no turns, no verdicts"


class PlannerConformance:
    """Give a fixture `planner`; set `legal = False` where plans are a model's own words, for the agent to check."""

    legal = True

    def test_is_a_planner(self, planner: Planner) -> None:
        assert isinstance(planner, Planner), "a planner has plan(turns, sources)"

    def test_answers_every_turn(self, planner: Planner) -> None:
        plans = planner.plan(CONTEXTS, SOURCES)
        assert len(plans) == len(CONTEXTS), "one plan for each turn"
        for plan in plans:
            assert isinstance(plan, Plan), f"{plan!r} is not a Plan"
            assert isinstance(plan.steps, tuple), "steps are a tuple"
            assert all(isinstance(step, tuple) and step for step in plan.steps), "a step is a tuple, never empty"
            assert all(is_probability(value) for value in plan.probabilities.values()), "probabilities in [0, 1]"

    def test_plans_are_legal(self, planner: Planner) -> None:
        if self.legal:
            graph = SourceGraph(SOURCES)
            for plan in planner.plan(CONTEXTS, SOURCES):
                graph.check(plan)

    def test_takes_sources_it_has_not_seen(self, planner: Planner) -> None:
        for plan in planner.plan(CONTEXTS, SOURCES[:1]):
            if self.legal:
                SourceGraph(SOURCES[:1]).check(plan)

    def test_batch_equals_one_by_one(self, planner: Planner) -> None:
        together = [plan.steps for plan in planner.plan(CONTEXTS, SOURCES)]
        alone = [planner.plan([context], SOURCES)[0].steps for context in CONTEXTS]
        assert together == alone, "a turn's plan must not depend on the batch around it"

    def test_empty_batch(self, planner: Planner) -> None:
        assert len(planner.plan([], SOURCES)) == 0, "no turns, no plans"


class ReaderConformance:
    """Give a fixture `reader`."""

    plan = Plan((("PERSONA",), ("DOCUMENTS",)))

    def tasks(self) -> list[ReadTask]:
        tasks = [ReadTask(context, self.plan, EVIDENCE) for context in CONTEXTS]
        return [*tasks, *(ReadTask(context) for context in CONTEXTS), ReadTask(CONTEXTS[1], self.plan, ())]

    def test_is_a_reader(self, reader: Reader) -> None:
        assert isinstance(reader, Reader), "a reader has read(tasks) and stream(task)"

    def test_answers_every_task(self, reader: Reader) -> None:
        tasks = self.tasks()
        drafts = reader.read(tasks)
        assert len(drafts) == len(tasks), "one draft for each task"
        for task, draft in zip(tasks, drafts, strict=True):
            assert isinstance(draft, Draft), f"{draft!r} is not a Draft"
            assert draft.text.strip(), f"nothing was said to {task.context.last[:40]!r}"
            assert is_probability(draft.confidence), f"{draft.confidence} is not a probability"
            ids = {piece.id for piece in task.evidence}
            assert set(draft.quoted) <= ids, "a draft quotes only what it was given"

    def test_stream_is_the_draft_in_pieces(self, reader: Reader) -> None:
        for task in self.tasks():
            *pieces, draft = reader.stream(task)
            assert isinstance(draft, Draft), "the last thing streamed is the whole draft"
            assert all(isinstance(piece, str) for piece in pieces), "everything before it is text"
            assert "".join(map(str, pieces)) == draft.text, "the pieces add up to the draft"
            assert draft.text == reader.read([task])[0].text, "stream says what read says"

    def test_batch_equals_one_by_one(self, reader: Reader) -> None:
        tasks = self.tasks()
        together = [draft.text for draft in reader.read(tasks)]
        assert together == [reader.read([task])[0].text for task in tasks], "drafts must not depend on the batch"

    def test_empty_batch(self, reader: Reader) -> None:
        assert len(reader.read([])) == 0, "no tasks, no drafts"


class CriticConformance:
    """Give a fixture `critic`."""

    def pairs(self) -> list[tuple[Evidence, str]]:
        texts = ("It costs 34 francs.", "It costs 64 francs.", "", "票价三十四法郎。", EVIDENCE[0].text)
        return [(piece, text) for piece in EVIDENCE for text in texts]

    def test_is_a_critic(self, critic: Critic) -> None:
        assert isinstance(critic, Critic), "a critic has consistency(pairs)"

    def test_answers_every_pair_with_a_probability(self, critic: Critic) -> None:
        pairs = self.pairs()
        probabilities = critic.consistency(pairs)
        assert len(probabilities) == len(pairs), "one number for each pair"
        assert all(is_probability(value) for value in probabilities), f"probabilities in [0, 1], not {probabilities}"

    def test_a_text_is_more_consistent_with_itself_than_with_something_else(self, critic: Critic) -> None:
        same, other = critic.consistency([(EVIDENCE[0], EVIDENCE[0].text), (EVIDENCE[0], "Cats sleep all day long.")])
        assert same > other, f"the same text has {same}, another one {other}"

    def test_batch_equals_one_by_one(self, critic: Critic) -> None:
        pairs = self.pairs()
        for value, pair in zip(critic.consistency(pairs), pairs, strict=True):
            alone = critic.consistency([pair])[0]
            assert abs(value - alone) < 0.01, f"{value} in a batch, {alone} alone"

    def test_empty_batch(self, critic: Critic) -> None:
        assert len(critic.consistency([])) == 0, "no pairs, no numbers"
