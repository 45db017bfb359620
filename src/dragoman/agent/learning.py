"""Let memory learn from a turn before it is answered, and build the context that the agent answers."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from functools import cache
from time import perf_counter
from typing import TYPE_CHECKING

from dragoman.agent.turns import last_turns
from dragoman.agent.why import reason
from dragoman.core.clock import moment_of
from dragoman.core.trace import Note, reply_from_json
from dragoman.core.values import (
    NOTHING_LEARNED,
    Context,
    Draft,
    Fact,
    Learned,
    Passage,
    Recollection,
    Scope,
    Turn,
)
from dragoman.memory.people import with_kinds
from dragoman.memory.recall.question_forms import asks_for_own_fact
from dragoman.memory.recall.whom import speaks_of_somebody, with_names
from dragoman.memory.reconcile import fact_of
from dragoman.memory.wishes import StandingWishes, instructions_of
from dragoman.models.metering import metered
from dragoman.text.ask_back import ASKS, SAID_TO_APPLY, Resumed, resumed, supplied
from dragoman.text.form import asks_for_everything, form
from dragoman.text.parts import told_and_asked
from dragoman.text.question_kind import question_kind
from dragoman.text.quotations import own_words
from dragoman.text.reference import leaning, names_within
from dragoman.text.same_question import (
    about_another,
    after_correction,
    told_after,
    with_another_thing,
    with_another_value,
    with_condition,
    with_same_thing,
)
from dragoman.text.second_person import second_person
from dragoman.text.sentences import sentences
from dragoman.text.spelling import spelt
from dragoman.text.wishes import NOTHING_WISHED, Wishing, wishing

if TYPE_CHECKING:
    from dragoman.agent.agent import Agent
    from dragoman.core.protocols import Memory, Store

_MARKS = " .,:;!?…\n\t。，：；！？*-"


_OF_SOMEBODY = ("polar", "amount")


def latest(turns: Sequence[Turn], most: int) -> Sequence[Turn]:
    """The last turns of a dialogue, at most so many."""
    return turns[-most:] if most else ()


@dataclass(frozen=True, slots=True)
class TurnLearning:
    """Memory's step of a turn: learn from the user's words, and complete the question to answer.

    `history` is how many turns of a dialogue the agent reads. Unless it `learns`, turns are answered as they are.
    """

    agent: Agent
    store: Store
    memory: Memory | None
    history: int
    learns: bool = True

    def learn(
        self, contexts: list[Context], holds: Sequence[AbstractContextManager[object]]
    ) -> tuple[list[Context], list[Note | None]]:
        """Return the contexts with what memory learned from their last turns, and a note for each change."""
        if self.memory is None or not self.learns:
            return contexts, [None] * len(contexts)
        started = perf_counter()
        resumptions = [resumed(context) for context in contexts]
        everything, proven = [NOTHING_LEARNED] * len(contexts), set[int]()
        writing = [nth for nth, context in enumerate(contexts) if context.control.writes_memory]
        refresh = getattr(self.memory, "refresh", None)
        for context in contexts:  # expired facts must not be read either
            if refresh is not None and not context.control.writes_memory and context.control.keep:
                refresh(context.scope)
        with ExitStack() as held:
            for nth in writing:
                held.enter_context(holds[nth])
            wishings = [_own_wishes(contexts[nth].last) for nth in writing]
            proven = {nth for nth in writing if resumptions[nth] is not None and self._has_asked(contexts[nth])}
            stating = [
                self._to_learn(_stated(contexts[nth], resumptions[nth] if nth in proven else None), wished)
                for nth, wished in zip(writing, wishings, strict=True)
            ]
            asked = [context for context in stating if context is not None]
            with metered() as meter:
                changes = iter(self.memory.learn(asked) if asked else ())
            for nth, statement, wished in zip(writing, stating, wishings, strict=True):
                learned = NOTHING_LEARNED if statement is None else next(changes)
                everything[nth] = self._with_wishes(contexts[nth], learned, wished)
        share = (perf_counter() - started) / max(1, len(contexts))
        component = self.agent.names.get("memory", type(self.memory).__name__)
        notes = [
            None
            if learned.is_empty
            else Note("memory", component, share, _without_deleted_text(learned), *meter.share(len(writing)))
            for learned in everything
        ]
        answering = [
            self._to_answer(context, learned, again, is_proven=nth in proven)
            for nth, (context, learned, again) in enumerate(zip(contexts, everything, resumptions, strict=True))
        ]
        return [self._wishful(context) for context in answering], notes

    def _has_asked(self, context: Context) -> bool:
        """Whether this turn answers a question that the agent asked itself, according to the store.

        A question that came from a document, a model or a caller's history does not count: a "Yes." to it must not turn
        its words into a fact of the user's.
        """
        trace = self.store.trace(context.scope, context.dialogue) if context.history else None
        if trace is None:
            return False
        reply, said = reply_from_json(trace), context.history[-1].text
        drafts = [note.value for note in reply.trace if isinstance(note.value, Draft) and ASKS in note.value.notes]
        return reply.text == said and any(said.endswith(str(draft.notes[ASKS])) for draft in drafts)

    def _to_learn(self, context: Context, wished: Wishing) -> Context | None:
        """The turn as memory reads it: without its standing wishes, and without what others say in it.

        A quotation, a pasted text or somebody else's words never reach the memory, except in a turn that itself asks
        to remember or to forget. None where nothing is left.
        """
        rest = self._without_wishes(context, wished)
        if rest is None or form(rest.last).act == "forget":  # whose quotations name the fact
            return rest
        own = own_words(rest.last)
        if own == rest.last or (form(rest.last).act == "remember" and own.split()[:1] == rest.last.split()[:1]):
            return rest  # keep an order whose object is quoted: 'Remember "the locker is 12"'
        return replace(rest, turns=(*rest.history, replace(rest.turns[-1], text=own))) if own.strip(_MARKS) else None

    def _without_wishes(self, context: Context, wished: Wishing) -> Context | None:
        """Return the turn without its standing wishes; None if it says nothing else.

        "Call me Sam" also says what the user's name is, where nobody knows it yet.
        """
        if wished.is_empty:
            return context
        text = wished.rest
        called = next((wish for wish in wished.wished if wish.kind == "address"), None)
        if called is not None and not self._knows_name(context.scope):
            text = f"{text} {called.said}".strip()
        return replace(context, turns=(*context.history, replace(context.turns[-1], text=text))) if text else None

    def _knows_name(self, scope: Scope) -> bool:
        recall = getattr(self.memory, "recall", None)
        return recall is not None and any(row.meta.get("slot") in ("name", "名字") for row in recall(scope))

    def _with_wishes(self, context: Context, learned: Learned, wished: Wishing) -> Learned:
        """Add standing wishes to what a turn changed."""
        if wished.is_empty or learned.erased is not None:
            return learned
        added, ended = StandingWishes(self.store).change(context.scope, wished, moment_of(context.said_at))
        return replace(learned, wishes=added, ended_wishes=ended)

    def _wishful(self, context: Context) -> Context:
        """The context with the user's standing wishes; they reach a model that words the reply as instructions."""
        if context.control.memory == "off" or context.learned.erased is not None:
            return context
        rows = StandingWishes(self.store).all(context.scope)
        instructions_text = "\n".join(filter(None, (context.instructions, instructions_of(rows))))
        return replace(context, wishes=rows, instructions=instructions_text) if rows else context

    def recollected(self, context: Context) -> Context:
        """Add memory's answer to a question about the history of the user's facts; other contexts stay unchanged."""
        recollect = getattr(self.memory, "recollect", None)
        if recollect is None or not context.learned.is_empty or context.control.memory == "off":
            return context
        if wishing(context.last).shows:
            return replace(context, recollection=Recollection("wishes", context.wishes))
        recollection = reason(context, self.store, self.agent.user_source) or recollect(context)
        return context if recollection is None else replace(context, recollection=recollection)

    def _to_answer(self, context: Context, learned: Learned, again: Resumed | None, *, is_proven: bool) -> Context:
        """Return the context to answer; the reply to a question back resumes the user's earlier question.

        `is_proven` says that the agent asked it itself, so that memory learned the answer as a statement.
        """
        is_held = context.control.writes_memory and (
            again is None or (is_proven and not again.statement.startswith(SAID_TO_APPLY))
        )
        if again is None and learned.added:
            again = supplied(context) or after_correction(context, [old.text for old in learned.superseded])
        again = again or self._changed_answer(context, learned)
        if again is not None and learned.added and self._is_about_facts(context, again.question):
            again = None  # the acknowledgement of the new fact is the answer
        if again is not None and not learned.forgotten:
            *earlier, question = again.turns
            # Where memory does not hold the answer, it stands before the question.
            answer = () if is_held else (Turn("user", again.statement),)
            context = replace(context, turns=(*earlier, *answer, replace(question, said_at=context.said_at)))
        wished = wishing(context.last) if learned.wishes or learned.ended_wishes else NOTHING_WISHED
        if wished.rest:  # store the wish and answer the rest of the turn
            context = replace(context, turns=(*context.history, replace(context.turns[-1], text=wished.rest)))
        if context.turns:
            context = replace(context, turns=(*context.history, *self._asked(context)))
        if learned.is_empty:
            return context
        if learned.forgotten or learned.blanked:  # the earlier turns contain the deleted text
            turns, _ = last_turns(self.store, context.scope, context.dialogue, self.history)
            context = replace(context, turns=(*turns, context.turns[-1]))
        return replace(context, learned=learned)

    def _is_about_facts(self, context: Context, question: str) -> bool:
        """Whether memory itself answers a question: "How old is Rex?"."""
        recollect = getattr(self.memory, "recollect", None)
        if recollect is not None and asks_for_own_fact(question):
            return True
        return recollect is not None and recollect(replace(context, turns=(Turn("user", question),))) is not None

    def _changed_answer(self, context: Context, learned: Learned) -> Resumed | None:
        """Return the question before the last reply, if a fact of this turn changes its answer."""
        again = told_after(context)
        if again is None or learned.forgotten or learned.pending is not None or asks_for_everything(again.question):
            return None
        reply = self.agent.run([replace(context, turns=again.turns)])[0].text
        statements = [*(fact.text for fact in learned.added), *sentences(spelt(again.statement))]
        is_reason = any(second_person(text).strip(" .!").casefold() in reply.casefold() for text in statements)
        return again if is_reason and reply != context.turns[-2].text else None

    def _asked(self, context: Context) -> tuple[Turn, ...]:
        """The last turn for answering, with typing errors corrected and references completed.

        The store keeps it as typed. What it says about the user becomes a turn before the question.
        """
        turn = context.turns[-1]
        if turn.speaker != "user":
            return (turn,)
        recall = getattr(self.memory, "recall", None) if context.control.memory != "off" else None

        @cache
        def known() -> Sequence[Fact]:
            return [fact_of(row) for row in recall(context.scope)] if recall else []

        whole = about_another(context, lambda: [fact.text for fact in known()])
        whole = (
            whole
            or with_same_thing(context)
            or with_condition(context)
            or with_another_value(context)
            or with_another_thing(context)
        )
        text = spelt(turn.text) if whole is None else whole
        both = told_and_asked(text)
        history = context.history if both is None else (*context.history, replace(turn, text=both[0]))
        asked = text if both is None else both[1]
        # Permissions and prices depend on who asks; a question about sights does not.
        if form(asked).act == "question" and question_kind(asked) in _OF_SOMEBODY and speaks_of_somebody(asked):
            asked = with_names(asked, history, known())
        if both is not None and leaning(asked) is not None:  # the question needs the statement to be understood
            return (replace(turn, text=with_kinds(text, known()) if names_within(text) else text),)
        asked = with_kinds(asked, known()) if names_within(asked) else asked
        return (*history[len(context.history) :], replace(turn, text=asked))


def _own_wishes(text: str) -> Wishing:
    """The standing wishes that a turn states in the user's own words."""
    wished, own = wishing(text), own_words(text)
    if wished.is_empty or own == text:
        return wished
    of_own = wishing(own)
    same = [wish.text for wish in of_own.wished] == [wish.text for wish in wished.wished]
    return wished if same and len(of_own.ended) == len(wished.ended) else of_own


def _stated(context: Context, again: Resumed | None) -> Context:
    """Return the context for memory, with an answer to a question back written as a full statement."""
    if again is None:
        return context
    return replace(context, turns=(*context.history, replace(context.turns[-1], text=again.statement)))


def _without_deleted_text(learned: Learned) -> Learned:
    """Return the change for the trace: deleted facts by id, without their words."""
    return replace(learned, forgotten=tuple(Passage(row.id, row.source, "") for row in learned.forgotten), mentions=())
