"""The loop of a turn: gate, plan, retrieve, read, refine. A batch goes stage by stage; one turn is a batch of one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, tzinfo
from time import perf_counter
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from dragoman.agent.stage import Stage, TurnState, require
from dragoman.agent.time_filter import TimeFilter
from dragoman.core.errors import ConfigError, PlanError, SourceError
from dragoman.core.trace import Note, Refinement, Reply, Retrieval, Role
from dragoman.core.values import (
    NULL_PLAN,
    Context,
    Draft,
    Evidence,
    Passage,
    Plan,
    ReadTask,
    Request,
    Scope,
    Source,
    SourceName,
    Verdict,
)
from dragoman.models.metering import metered, metered_pieces
from dragoman.reader.history import recollection_reply
from dragoman.reader.obey import shaped, wish_reply
from dragoman.reader.phrases import deletion_reply, spoken, unchanged_memory
from dragoman.reader.recency import asks_for_latest, older_note, older_versions
from dragoman.retriever.told import TOLD
from dragoman.sources.graph import SourceGraph
from dragoman.text.form import asks_for_everything
from dragoman.text.wishes import wishing

if TYPE_CHECKING:
    from dragoman.agent.refine import Refiner
    from dragoman.core.protocols import Critic, Gate, Planner, Reader, Retriever

Fallback: TypeAlias = Literal["all", "none", "error"]
Steps: TypeAlias = tuple[tuple[Source, ...], ...]

_ALL_FACTS = 200
_REMEMBERED_PLANS = 1024
_BY_CALLER = "control"
"""The component of a gate's note where the caller decided, and not the gate."""
_SEARCH = Verdict(True, 1.0, "asked to search")
_NO_SEARCH = Verdict(False, 0.0, "asked not to search")
_NO_SOURCE = Verdict(False, 0.0, "no source allowed")
_WISH = Verdict(False, 0.0, "a standing wish")


class LegalPlan(NamedTuple):
    """A plan's sources as the loop needs them, computed once for all turns that have the same plan."""

    steps: Steps
    names: tuple[SourceName, ...] = ()
    personal: tuple[bool, ...] = ()
    """For each step, whether it searches facts about the user."""


class Agent:
    """Answers turns from declared sources. Holds no store and no state: the same turn gives the same reply."""

    def __init__(
        self,
        *,
        gate: Gate,
        planner: Planner,
        retriever: Retriever,
        reader: Reader,
        sources: Sequence[Source],
        critic: Critic | None = None,
        refiner: Refiner | None = None,
        k: int = 3,
        fallback: Fallback = "all",
        names: Mapping[str, str] | None = None,
        language: str = "en",
        date_of: Callable[[Scope, Passage], str] | None = None,
        zone_of: Callable[[Scope], tzinfo] = lambda _: UTC,
    ) -> None:
        if k < 1:
            raise ConfigError(f"k must be at least 1, not {k}.", remedy="Set retriever.k to the passages wanted.")
        if fallback not in ("all", "none", "error"):
            raise ConfigError(f"Unknown fallback '{fallback}'.", remedy="Use all, none or error.")
        self.gate = gate
        self.planner = planner
        self.retriever = retriever
        self.reader = reader
        self.sources = tuple(sources)
        self.critic = critic
        self.refiner = refiner
        self.k = k
        self.fallback = fallback
        self.language = language
        self._date_of = date_of
        roles = {"gate": gate, "planner": planner, "retriever": retriever, "reader": reader, "refiner": refiner}
        self.names = {role: type(part).__name__ for role, part in roles.items()} | dict(names or {})
        self._model_words = bool(getattr(reader, "words_replies", getattr(reader, "follows_instructions", False)))
        self._graph = SourceGraph(self.sources)
        self._by_name = {source.name: source for source in self.sources}
        self._times = TimeFilter(self._by_name, date_of, zone_of)
        self.user_source = next((source.name for source in self.sources if source.about == "user"), "")
        self._legal: dict[tuple[tuple[SourceName, ...], ...], LegalPlan] = {(): LegalPlan(())}
        self._describe: Callable[[Request], str] | None = getattr(retriever, "describe", None)
        self.notices: Callable[[Sequence[SourceName]], tuple[str, ...]] = lambda names: ()
        """Gives what users should know of the state of some sources, for the trace."""

    def run(self, contexts: Sequence[Context]) -> list[Reply]:
        """The replies to a batch of turns, in order."""
        turns = [TurnState(context, index) for index, context in enumerate(contexts)]
        if not turns:
            return []
        with metered(turns=len(turns)):
            for _ in self._look(turns):
                pass
            self._read(turns)
            for _ in self._refine(turns):
                pass
        return [turn.reply() for turn in turns]

    def stream(self, context: Context) -> Iterator[Note | str | Reply]:
        """The same turn piece by piece: notes as they are decided, the text as it is written, the reply last.

        A draft that will be refined is sent after the refinement, since its text may still change.
        """
        return metered_pieces(self._stream(context))

    def _stream(self, context: Context) -> Iterator[Note | str | Reply]:
        turn = TurnState(context, 0)
        for _ in self._look([turn]):
            yield from turn.fresh()
        if self._is_refined(turn):
            self._read([turn])
            for _ in self._refine([turn]):
                yield from turn.fresh()
            yield from turn.fresh()
            if turn.draft.text:
                yield turn.draft.text
        else:
            yield from self._read_aloud(turn)
            yield from turn.fresh()
        yield turn.reply()

    def _look(self, turns: list[TurnState]) -> Iterator[None]:
        """Run all stages before the reader; yield after each, so that a caller can show its decision."""
        for turn in turns:
            if turn.context.recollection is not None:
                turn.recollect(self.names, self.user_source)
        turns = [turn for turn in turns if turn.context.recollection is None]
        if not turns:
            yield
            return
        self._decide(turns)
        yield
        retrieving = [turn for turn in turns if turn.verdict.retrieve]
        if not retrieving:
            return
        self._plan(retrieving)
        yield
        retrieving = [turn for turn in retrieving if turn.steps]
        for index in range(max((len(turn.steps) for turn in retrieving), default=0)):
            self._retrieve([turn for turn in retrieving if len(turn.steps) > index], index)
            yield
        if retrieving and getattr(self.gate, "reads_evidence", False):
            self._decide(retrieving, again=True)
            yield

    def _stage(self, role: Role, turns: Sequence[TurnState]) -> Stage:
        return Stage(role, self.names[role], turns)

    def _decide(self, turns: list[TurnState], *, again: bool = False) -> None:
        turns = [turn for turn in turns if not self._is_decided(turn, again=again)]
        if not turns:
            return
        contexts = [turn.context for turn in turns]
        with self._stage("gate", turns) as stage, metered() as meter:
            verdicts = self.gate.decide(contexts, [turn.evidence for turn in turns] if again else None)
            require(verdicts, turns, stage)
        role, component, share = stage.header
        for turn, verdict in zip(turns, verdicts, strict=True):
            turn.verdict = verdict
            turn.notes.append(Note(role, component, share, verdict, *meter.share(len(turns))))
            if again and not verdict.retrieve:
                turn.close()

    @staticmethod
    def _is_decided(turn: TurnState, *, again: bool) -> bool:
        """Whether a turn needs no gate, since its caller decides about searching or it only states wishes."""
        control = turn.context.control
        if _states_wishes(turn.context):
            verdict = _WISH
        elif control.sources == ():
            verdict = _NO_SOURCE
        elif control.retrieve == "auto":
            return False
        else:
            verdict = _SEARCH if control.retrieve == "always" else _NO_SEARCH
        if not again:
            turn.verdict = verdict
            turn.notes.append(Note("gate", _BY_CALLER, 0.0, verdict))
        return True

    def _plan(self, turns: list[TurnState]) -> None:
        with self._stage("planner", turns) as stage, metered() as meter:
            plans = self.planner.plan([turn.context for turn in turns], self.sources)
            require(plans, turns, stage)
        role, component, share = stage.header
        for turn, plan in zip(turns, plans, strict=True):
            legal = self._legal.get(plan.steps)
            if legal is None:
                plan, legal = self._checked(plan, turn)  # noqa: PLW2901 - the plan that is carried out
            plan, legal = self._allowed(plan, legal, turn.context)  # noqa: PLW2901 - likewise
            plan = self._times.planned(plan, turn.context)  # noqa: PLW2901 - likewise
            turn.plan = plan if legal.steps else NULL_PLAN
            turn.steps, turn.sources, turn.personal = legal
            turn.notes.append(Note(role, component, share, plan, *meter.share(len(turns))))

    def _checked(self, plan: Plan, turn: TurnState) -> tuple[Plan, LegalPlan]:
        """Return the plan and its sources; replace a plan that the source graph rejects, as `fallback` says."""
        try:
            self._graph.check(plan)
        except SourceError as error:
            if self.fallback == "error":
                remedy = error.remedy or "Set planner.fallback to all or none to go on without it."
                raise PlanError(error.message, remedy=remedy, role="planner", turn=turn.index) from error
            names = tuple(self._by_name) if self.fallback == "all" else ()
            replacement = self._graph.plan(names).steps if names else ()
            reason = f"fell back to {self.fallback}: {error.message}"
            plan = Plan(replacement, plan.probabilities, reason)
        steps = tuple(tuple(self._by_name[name] for name in step) for step in plan.steps)
        legal = _legal(steps, plan)
        if len(self._legal) < _REMEMBERED_PLANS:
            self._legal[plan.steps] = legal
        return plan, legal

    def _allowed(self, plan: Plan, legal: LegalPlan, context: Context) -> tuple[Plan, LegalPlan]:
        """Limit a plan to the sources that the caller allows; if none is left but a search is due, use all of them."""
        control = context.control
        if control.sources is None and control.retrieve != "always":
            return plan, legal
        steps = tuple(tuple(source for source in step if control.allows(source)) for step in legal.steps)
        steps = tuple(step for step in steps if step)
        if not steps and (legal.steps or control.retrieve == "always"):
            steps = tuple((source,) for source in self._graph.order if control.allows(source))
        names = tuple(tuple(source.name for source in step) for step in steps)
        plan = plan if names == plan.steps else Plan(names, plan.probabilities, plan.reason)
        return plan, _legal(steps, plan)

    def _retrieve(self, turns: list[TurnState], index: int) -> None:
        requests = [
            Request(
                turn.context,
                turn.steps[index],
                self._most(turn) if turn.personal[index] else self.k,
                turn.evidence,
                frozenset([piece.id for piece in turn.evidence]),
                turn.sources,
            )
            if index
            else Request(
                turn.context, turn.steps[0], self._most(turn) if turn.personal[0] else self.k, plan=turn.sources
            )
            for turn in turns
        ]
        with self._stage("retriever", turns) as stage, metered() as meter:
            results = self._times.retrieve(self.retriever, requests, [turn.plan for turn in turns])
            require(results, turns, stage)
            queries = [self._describe(request) for request in requests] if self._describe else [""] * len(requests)
        role, component, share = stage.header
        for turn, evidence, query in zip(turns, results, queries, strict=True):
            pieces = self._readable(evidence, turn.context)
            turn.evidence += pieces
            warnings = (*getattr(evidence, "warnings", ()), *self.notices(turn.plan.steps[index]))
            retrieval = Retrieval(turn.plan.steps[index], pieces, query, warnings)
            turn.notes.append(Note(role, component, share, retrieval, *meter.share(len(turns))))

    def _readable(self, evidence: Sequence[Evidence], context: Context) -> tuple[Evidence, ...]:
        """Drop evidence that the caller's control excludes, in case the retriever returned some."""
        control = context.control
        if not (control.limits_sources or control.since or control.until):
            return tuple(evidence)
        return tuple(
            piece
            for piece in evidence
            if TOLD in piece.passage.meta
            or (
                control.reads(self._by_name[piece.source])
                and (
                    self._by_name[piece.source].about != "user" or piece.passage.is_within(control.since, control.until)
                )
            )
        )

    def _most(self, turn: TurnState) -> int:
        """How many user facts a step retrieves: all of them for "What do you know about me?"."""
        return max(self.k, _ALL_FACTS) if asks_for_everything(turn.context.last) else self.k

    def _read(self, turns: list[TurnState]) -> None:
        turns = [turn for turn in turns if not self._in_fixed_words(turn)]
        if not turns:
            return
        with self._stage("reader", turns) as stage:
            drafts = self.reader.read([self._task(turn) for turn in turns])
            require(drafts, turns, stage)
        role, component, share = stage.header
        for turn, draft in zip(turns, drafts, strict=True):
            turn.draft = shaped(self._with_older(turn, draft), turn.context.wishes, turn.context.last)
            turn.notes.append(Note(role, component, share, turn.draft))

    def _task(self, turn: TurnState) -> ReadTask:
        """Build the reader's task; a question for the latest drops documents that newer ones contradict."""
        if self._date_of is None or len(turn.evidence) < 2 or not asks_for_latest(turn.context.last):
            return turn.task()
        days = {}
        for piece in turn.evidence:
            source = self._by_name.get(piece.source)
            if source is not None and source.about == "world":
                days[piece.id] = self._date_of(source.scope(turn.context.scope), piece.passage)
        turn.older = older_versions(turn.context.last, turn.evidence, days)
        gone = {version.evidence.id for version in turn.older}
        return replace(turn.task(), evidence=tuple(piece for piece in turn.evidence if piece.id not in gone))

    def _with_older(self, turn: TurnState, draft: Draft) -> Draft:
        """Add a sentence that says that an older document differs."""
        if not turn.older or not draft.quoted:
            return draft
        note = older_note(turn.older, spoken(turn.context.last, self.language))
        return replace(
            draft, text=draft.text + note, quoted=(*draft.quoted, *(version.evidence.id for version in turn.older))
        )

    def _in_fixed_words(self, turn: TurnState) -> bool:
        """Answer with a fixed phrase instead of the reader, where exact wording matters.

        Such turns state only standing wishes, concern a deletion or its confirmation, ask for a change of memory that
        is switched off, or ask about the history of the user's facts, whose dates come from memory.
        """
        context = turn.context
        recollection = context.recollection
        if _states_wishes(context):
            return self._say(turn, wish_reply(context.learned, spoken(context.last, self.language), self._model_words))
        if recollection is None and context.learned.is_empty and context.control.writes_memory:
            return False
        language = spoken(context.last, self.language)
        if recollection is not None:
            text = recollection_reply(recollection, language)
            grounds = (*recollection.facts, *(recollection.current if recollection.kind == "why" else ()))
            turn.draft = Draft(text, 1.0, "said", tuple(row.id for row in grounds))
            turn.notes.append(Note("reader", self.names["reader"], 0.0, turn.draft))
            return True
        if context.learned.is_empty:
            answer = unchanged_memory(context.last, context.control, language)
        else:
            answer = deletion_reply(context.learned, language)
        if answer is None:
            return False
        return self._say(turn, answer)

    def _say(self, turn: TurnState, text: str) -> bool:
        turn.draft = Draft(text, 1.0, "said")
        turn.notes.append(Note("reader", self.names["reader"], 0.0, turn.draft))
        return True

    def _read_aloud(self, turn: TurnState) -> Iterator[str]:
        if self._in_fixed_words(turn):
            yield turn.draft.text
            return
        if turn.context.wishes:  # wishes about length apply to the whole draft only
            self._read([turn])
            yield turn.draft.text
            return
        draft: Draft | None = None
        with self._stage("reader", [turn]) as stage:
            for piece in self.reader.stream(self._task(turn)):
                if isinstance(piece, Draft):
                    draft = self._with_older(turn, piece)
                    if draft.text != piece.text:
                        yield draft.text[len(piece.text) :]
                else:
                    before = perf_counter()
                    yield piece
                    stage.started += perf_counter() - before  # do not count the time that the listener takes
            require((draft,) if draft else (), [turn], stage)
        if draft:
            turn.draft = draft
            turn.notes.append(Note(*stage.header, draft))

    def _is_refined(self, turn: TurnState) -> bool:
        return self.refiner is not None and bool(turn.evidence) and not turn.older and turn.context.recollection is None

    def _refine(self, turns: list[TurnState]) -> Iterator[None]:
        turns = [turn for turn in turns if self._is_refined(turn)]
        if self.refiner is None or not turns:
            return
        rounds = self.refiner.rounds([turn.task() for turn in turns], [turn.draft for turn in turns], self.sources)
        while True:
            with self._stage("refiner", turns) as stage:
                refinements = next(rounds, None)
            if refinements is None:
                return
            stage.turns = [turn for turn, refinement in zip(turns, refinements, strict=True) if refinement]
            for turn, refinement in zip(turns, refinements, strict=True):
                self._take(turn, refinement, stage)
            yield

    @staticmethod
    def _take(turn: TurnState, refinement: Refinement | None, stage: Stage) -> None:
        if refinement is not None:
            turn.evidence = refinement.evidence
            turn.draft = shaped(refinement.draft, turn.context.wishes, turn.context.last)
            turn.notes.append(Note(*stage.header, refinement))


def _states_wishes(context: Context) -> bool:
    """Whether a turn only states or ends standing wishes."""
    return bool(context.learned.wishes or context.learned.ended_wishes) and not wishing(context.last).is_empty


def _legal(steps: Steps, plan: Plan) -> LegalPlan:
    personal = tuple(any(source.about == "user" and source.private for source in step) for step in steps)
    return LegalPlan(steps, plan.sources, personal)
