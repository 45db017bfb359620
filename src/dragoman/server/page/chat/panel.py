"""The chat panel: messages, replies as they are written, and the composer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from nicegui import background_tasks, ui

from dragoman.agent.turns import WITHHELD
from dragoman.core.control import DEFAULT_CONTROL, RetrieveMode, TurnControl
from dragoman.core.errors import DragomanError
from dragoman.server.data.chat_settings import control_of, keep_control
from dragoman.server.data.chat_versions import Variants, branch, variants
from dragoman.server.http.views import View
from dragoman.server.page.chat.composer import Composer, parse_search
from dragoman.server.page.chat.earlier_turns import FIRST, EarlierTurns
from dragoman.server.page.chat.live_turns import LiveTurn
from dragoman.server.page.chat.question import QuestionBubble
from dragoman.server.page.chat.running_reply import RunningReply
from dragoman.server.page.chat.turn_controls import TurnControls
from dragoman.server.page.chat.welcome import WELCOME, missing_chat, welcome
from dragoman.server.page.elements import (
    Phrases,
    el,
    error_text,
    errors_shown,
    notice,
)
from dragoman.server.page.reply.card import ReplyCard
from dragoman.server.page.session import PageSession, PageTurn, end_private, transcript
from dragoman.server.turns.turn_runner import CallerTurn

_MOST_REPLIES = 14
"""Replies that are on the page at once while a chat goes on; each makes every change of the page slower."""
_NEW = "new"
"""The name under which the browser keeps the draft of a chat that has no message yet."""


class ChatPanel:
    """The chat, left of the panels."""

    def __init__(
        self,
        page_session: PageSession,
        words: Phrases,
        *,
        select: Callable[[ReplyCard | None], None],
        command: Callable[[str], Awaitable[None]],
        look: Callable[[], Awaitable[None]],
    ) -> None:
        self.page_session = page_session
        self._words = words
        self._select = select
        self._selected: ReplyCard | None = None
        self._running = RunningReply(words, decided=self._decided, ended=self._ended)
        self._last = ""
        self._asking = ""
        self._cards: list[ReplyCard] = []
        self._length = 0
        self._variants: dict[int, Variants] = {}
        self._questions: list[QuestionBubble] = []
        self._earlier = EarlierTurns(words, self._draw_earlier)
        self.controls = TurnControls(
            words, changed=self._control, choose_model=self._choose_model, leave=self._leave_private
        )
        self.composer = Composer(
            words, ask=self.send, stop=self.stop, command=command, look=look, controls=self.controls
        )
        self.changed: Callable[[], Awaitable[None]] | None = None
        self.addressed: Callable[[str | None], None] | None = None
        self.open_sources: Callable[[], None] | None = None
        self.open_why: Callable[[], None] | None = None
        self.open_memory: Callable[[], None] | None = None
        self.begin_anew: Callable[[], Awaitable[None]] | None = None

    def build(self) -> None:
        """Create the elements."""
        words = self._words
        with el(
            "div", classes="chat-scroll", role="log", aria_label=words["chat.log"], aria_live="polite", tabindex="0"
        ):
            self._log = el("div", classes="log")
        self._into: ui.element = self._log
        self.composer.build()

    @property
    def is_running(self) -> bool:
        return self._running.is_on

    @property
    def selected(self) -> ReplyCard | None:
        return self._selected

    def begin(self, agent: View, *, dialogue: str = "", private: bool = False) -> None:
        """Show an empty chat: the agent's greeting and example questions."""
        self._clear()
        self.page_session.dialogue = dialogue or self.page_session.dialogue
        self._start(replace(DEFAULT_CONTROL, keep=not private))
        with self._log:
            welcome(agent, self._words, private=private, ask=self._try, open_sources=self.open_sources)
        self.composer.show(self._draft_name, busy=False)

    async def show(self, dialogue: str) -> bool:
        """Show a stored chat, and the turn that runs in it; returns whether there is such a chat."""
        turns = await self.page_session.do(transcript, dialogue)
        live = await self.page_session.running(dialogue)
        if not turns and live is None:
            return False
        self._variants = await self.page_session.do(variants, dialogue)
        control, model = await self.page_session.do(control_of, dialogue)
        self._clear()
        self.page_session.dialogue = dialogue
        self._start(control, model)
        start = self._earlier.begin(turns, self._log)
        last = self._draw_turns(turns[start:], start)
        self._length = len(turns)
        if live is not None:
            question = self._ask(live.question, None)
            self._last = live.question
            last = self._answer(ReplyCard(self.page_session, self._words))
            self._can_repeat(live.question, question, last)
            self._running.attach(last, live)
        self._choose(last)
        self.composer.show(dialogue, busy=live is not None, last=self._last)
        return True

    def _draw_turns(self, turns: Sequence[PageTurn], start: int) -> ReplyCard | None:
        """Show stored turns, the first of which has the place `start`; returns the last reply."""
        last: ReplyCard | None = None
        for place, stored in enumerate(turns, start=start):
            text = self._words["chat.forgotten"] if stored.is_withheld else stored.turn.text
            if stored.turn.speaker == "user":
                self._ask(text, None if stored.is_withheld else place)
                self._last = stored.turn.text
            else:
                last = self._stored(stored, text, place)
        return last

    def _draw_earlier(self, turns: Sequence[PageTurn], start: int, into: ui.element) -> None:
        """Show stored turns before those that are shown already."""
        questions, cards, last, asking = self._questions, self._cards, self._last, self._asking
        self._questions, self._cards, self._into = [], [], into
        self._draw_turns(turns, start)
        self._questions, self._cards = self._questions + questions, self._cards + cards
        self._last, self._asking, self._into = last, asking, self._log

    def show_missing(self) -> None:
        """Say that the address names no chat of this user."""
        self._clear()
        self._start(DEFAULT_CONTROL)
        with self._log:
            missing_chat(self._words, begin_anew=self.begin_anew)
        self.composer.show(_NEW, busy=False)

    async def catch_up(self) -> None:
        """Show what another tab has added to the chat, or that it was deleted there."""
        page_session = self.page_session
        if self.is_running or page_session.is_private or any(question.is_edited for question in self._questions):
            return
        with suppress(DragomanError):
            dialogue, length = page_session.dialogue, self._length
            turns = await page_session.do(transcript, dialogue)
            live = await page_session.running(dialogue)
            is_same = dialogue == page_session.dialogue and length == self._length and not self.is_running
            if is_same and (live is not None or len(turns) != length) and not await self.show(dialogue):
                self.show_missing()

    async def send(self, typed: str, *, retrieve: RetrieveMode | None = None) -> None:
        """Send a message and show its reply as it comes; `retrieve` overrides the chat's setting for this message."""
        text, wanted = parse_search(typed)
        if not text:
            return
        if self._running.is_on:  # the browser did not know yet
            self.composer.queue(typed)
            return
        retrieve = retrieve or wanted
        control = self.page_session.control
        control = control if retrieve is None else replace(control, retrieve=retrieve)
        for element in [child for child in self._log if WELCOME in child.classes]:
            element.delete()
        dialogue = self.page_session.dialogue
        question = self._ask(text, None)
        answer = self._answer(ReplyCard(self.page_session, self._words))
        self._can_repeat(typed, question, answer)
        self._last = text
        self._choose(answer)
        self.composer.show(dialogue, busy=True, last=typed)
        if self.addressed is not None:
            self.addressed(None if self.page_session.is_private else dialogue)
        background_tasks.create(self._fold())
        ask = CallerTurn(text, self.page_session.agent, dialogue, control=control, model=self.page_session.model)
        try:
            await self._running.start(answer, self.page_session.start(ask))
        except DragomanError as error:
            if not answer.box.is_deleted:  # another chat may be shown meanwhile
                answer.failed(error_text(error))
                self.composer.show(dialogue, busy=False, last=typed)

    async def _fold(self) -> None:
        """Leave the beginning of a chat that has grown long to a button."""
        dialogue, surplus = self.page_session.dialogue, len(self._cards) - FIRST // 2
        if (
            len(self._cards) <= _MOST_REPLIES
            or self.page_session.is_private
            or len(self._questions) != len(self._cards)
        ):
            return
        with suppress(DragomanError):
            turns = await self.page_session.do(transcript, dialogue)
            place = self._cards[surplus].place if len(self._cards) > surplus else None
            if dialogue != self.page_session.dialogue or place is None or place > len(turns):
                return
            for question, card in zip(self._questions[:surplus], self._cards[:surplus], strict=True):
                question.delete()
                card.box.delete()
            del self._questions[:surplus], self._cards[:surplus]
            self._earlier.fold(turns, place - 1)

    def stop(self) -> None:
        """Stop the running turn at once."""
        if not self._running.stop():
            self.composer.show(
                self.page_session.dialogue if self._length else self._draft_name, busy=False, last=self._last
            )

    def leave(self) -> None:
        """Watch the running turn no longer; it goes on for a while, so that a reload finds it."""
        self._running.leave()

    def focus(self) -> None:
        self.composer.focus()

    async def close(self) -> None:
        """End the page's part in a chat: a private one is dropped from memory."""
        self.leave()
        if self.page_session.is_private:
            await self._drop(self.page_session.dialogue)

    @property
    def last_reply(self) -> ReplyCard | None:
        """The newest finished reply of the chat."""
        finished = [card for card in self._cards if card.reply is not None and not card.box.is_deleted]
        return finished[-1] if finished else None

    # Controls

    @property
    def _draft_name(self) -> str:
        """The name under which the browser holds the draft of a chat that has no message yet."""
        return self.page_session.dialogue if self.page_session.is_private else _NEW

    def _start(self, control: TurnControl, model: str = "") -> None:
        """Take over the control and the language model of the chat that is shown now."""
        page_session = self.page_session
        page_session.control, page_session.model = control, model
        self.controls.show(control, page_session.sources, page_session.models, model)

    async def _control(self, control: TurnControl) -> None:
        """Change how the chat searches and uses memory."""
        self._start(control, self.page_session.model)
        await self._keep_control()

    async def _choose_model(self, model: str) -> None:
        """Change the language model that answers the chat."""
        self._start(self.page_session.control, model)
        await self._keep_control()

    async def _keep_control(self) -> None:
        """Remember the settings of a chat that has messages, unless it is private."""
        page_session = self.page_session
        if self._length and page_session.control.keep:
            control, model = page_session.control, page_session.model
            with errors_shown(self._words):
                await page_session.do(keep_control, page_session.dialogue, control, model=model)

    async def _leave_private(self) -> None:
        if self.begin_anew is not None:
            await self.begin_anew()

    async def search_after_all(self, answer: ReplyCard) -> None:
        """Answer the question of a reply again with a search, and keep as a label that it needed one."""
        place, question = answer.place, answer.question
        if place is None:  # private: nothing of it is stored
            await self.send(question, retrieve="always")
            return
        with errors_shown(self._words):
            await self.page_session.rate(place, needed=True)
            await self._branch(place - 1, question, retrieve="always")

    async def search_not_needed(self, answer: ReplyCard) -> None:
        """Keep as a label that a reply needed no search."""
        if answer.place is None:
            return
        with errors_shown(self._words):
            await self.page_session.rate(answer.place, needed=False)
            answer.label(needed=False)
            notice(self._words["chat.thanks"])

    def _clear(self) -> None:
        self.leave()
        if self.page_session.is_private:
            background_tasks.create(self._drop(self.page_session.dialogue))
        self._cards.clear()
        self._choose(None)
        self._log.clear()
        self._earlier.begin((), self._log)
        self._last, self._length = "", 0
        self._questions.clear()

    async def _drop(self, dialogue: str) -> None:
        with suppress(DragomanError):  # a private dialogue expires by itself
            await self.page_session.do(end_private, dialogue)

    async def _try(self, text: str) -> None:
        self.focus()  # the chip is removed, which would lose the keyboard focus
        await self.send(text)

    # A running turn

    def _ended(self, answer: ReplyCard, live: LiveTurn) -> None:
        """Finish a reply when its turn is over."""
        is_behind = False  # whether another tab has asked meanwhile
        match live.state:
            case "done" if live.done is not None:
                done = live.done
                is_behind = done.turn > self._length + 1 and not self.page_session.is_private
                answer.reply, answer.seconds = done.reply, done.seconds
                self._length = done.turn + 1
                if self.page_session.is_private:  # nothing is stored that a branch could begin with
                    answer.retry = partial(self.send, live.question)
                else:
                    answer.place = done.turn
                    answer.retry = partial(self._branch, done.turn - 1, live.question)
                self._complete(answer)
            case "failed" if live.error is not None:
                answer.failed(error_text(live.error))
            case _:
                answer.stopped()
        self._decided(answer)
        self.composer.show(self.page_session.dialogue, busy=False, last=live.question)
        if self.changed is not None:
            background_tasks.create(self._notify_changed(is_behind=is_behind))

    def _decided(self, answer: ReplyCard) -> None:
        """Show what was decided so far where the reply is selected."""
        if self._selected is answer:
            self._select(answer)

    async def _notify_changed(self, *, is_behind: bool) -> None:
        with self._log.client:
            if is_behind:
                await self._go()
            if self.changed is not None and not self._log.is_deleted:
                await self._keep_control()
                await self.changed()

    def _complete(self, answer: ReplyCard) -> None:
        """Finish a reply; the question before it can now be edited."""
        answer.finish()
        if answer.place is not None:
            self._questions[-1].make_editable(answer.place - 1)

    # Messages

    def _ask(self, text: str, place: int | None) -> QuestionBubble:
        """Show a question; with its place in the chat it can be edited."""
        self._asking = text
        question = QuestionBubble(text, self._words, versions=self._versions, go=self._go, branch=self._branch)
        self._questions.append(question)
        with self._into:
            question.build()
        if place is not None:
            question.make_editable(place)
        return question

    def _versions(self, place: int) -> Variants | None:
        return self._variants.get(place)

    async def _go(self, dialogue: str | None = None) -> None:
        """Show another version of the chat, or this one anew."""
        dialogue = dialogue or self.page_session.dialogue
        with errors_shown(self._words):
            await self.show(dialogue)
            if self.addressed is not None:
                self.addressed(dialogue)

    async def _branch(self, place: int, text: str, *, retrieve: RetrieveMode | None = None) -> None:
        """Ask a question anew in a branch of the chat; both are kept."""
        if not text.strip():
            return
        with errors_shown(self._words):
            version = await self.page_session.do(branch, self.page_session.dialogue, place)
            if not await self.show(version):
                self._clear()
                self.page_session.dialogue = version
            # Before the reply, which may come at once and shows the versions of its question.
            self._variants = await self.page_session.do(variants, version)
            self.focus()
            await self.send(text, retrieve=retrieve)

    def _can_repeat(self, text: str, question: QuestionBubble, answer: ReplyCard) -> None:
        """Offer to send a message again, as it is or changed, should its reply be stopped or fail."""
        answer.retry = partial(self._again, text, question, answer)
        answer.edit = partial(self._take_back, text, question, answer)

    async def _again(self, text: str, question: QuestionBubble, answer: ReplyCard) -> None:
        """Send a message again whose reply was stopped or failed: nothing of it is in the chat."""
        if not self.is_running:
            self._remove(question, answer)
            await self.send(text)

    async def _take_back(self, text: str, question: QuestionBubble, answer: ReplyCard) -> None:
        """Put a message whose reply was stopped or failed back into the field."""
        if not self.is_running:
            self._remove(question, answer)
            is_empty = all(card.box.is_deleted for card in self._cards)
            if is_empty and self.begin_anew is not None and not self.page_session.is_private:
                await self.begin_anew()
            self.composer.take_back(text)

    def _remove(self, question: QuestionBubble, answer: ReplyCard) -> None:
        """Take a message, and its reply that was not saved, off the page."""
        question.delete()
        if self._selected is answer:
            self._choose(self.last_reply)
        answer.box.delete()

    def _answer(self, answer: ReplyCard) -> ReplyCard:
        answer.explain = partial(self._explain, answer)
        answer.open_memory = self.open_memory
        answer.question = self._asking
        answer.search = partial(self.search_after_all, answer)
        answer.no_search = partial(self.search_not_needed, answer)
        self._cards.append(answer)
        with self._into:
            answer.build(partial(self._pick, answer))
        return answer

    def _stored(self, stored: PageTurn, text: str, place: int) -> ReplyCard:
        answer = ReplyCard(self.page_session, self._words, text=text, reply=stored.reply, place=place)
        answer.lost, answer.liked, answer.needed = stored.reply is None, stored.liked, stored.needed
        answer.is_withheld = stored.is_withheld
        if not stored.is_withheld and self._last not in (WITHHELD, ""):
            answer.retry = partial(self._branch, place - 1, self._last)
        self._answer(answer)
        answer.finish()
        return answer

    def _pick(self, answer: ReplyCard) -> None:
        """Select a clicked reply; keyboard users have the button below it."""
        if self._selected is not answer and not answer.box.is_deleted:
            self._choose(answer)

    def _explain(self, answer: ReplyCard) -> None:
        self._pick(answer)
        if self.open_why is not None:
            self.open_why()

    def _choose(self, answer: ReplyCard | None) -> None:
        if self._selected is not None and not self._selected.box.is_deleted:
            self._selected.box.classes(remove="selected")
        self._selected = answer
        if answer is not None:
            answer.box.classes("selected")
        self._select(answer)
