"""The chat panel: messages, streamed replies, thumbs and the input field."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from time import perf_counter

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from dragoman.core.errors import DragomanError
from dragoman.core.trace import Note, Reply
from dragoman.core.values import Draft, Plan
from dragoman.server.http.problems import CODES, problem_of
from dragoman.server.http.views import View
from dragoman.server.page.elements import Phrases, button, el, icon_button, on
from dragoman.server.page.plan_graph import seconds_text
from dragoman.server.page.session import PageSession, PageTurn, transcript
from dragoman.server.page.thumbs import Thumbs
from dragoman.server.page.turn_view import TurnPicture, reply_picture, turn_picture
from dragoman.server.service import CallerTurn
from dragoman.server.turns.events import Decided, Text, TurnDone
from dragoman.server.turns.turn_queue import RunningTurn

# Enter sends, but not while an input method is still putting a character together.
_ENTER = """(event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    emit(event.target.value);
}"""


_FOCUS = "if (matchMedia('(pointer: fine)').matches) document.querySelector('.composer textarea')?.focus()"
_OFTEN = 0.05
"""Seconds between two pictures of a text that is being written: the whole of it is sent each time."""


class ReplyCard:
    """A reply on the page, streamed or finished. `place` is its turn in the dialogue once it is stored.

    `checked` holds the critic's consistencies for the Why panel; None until they are requested.
    """

    def __init__(self, notes: list[Note], text: str, *, reply: Reply | None = None, place: int | None = None) -> None:
        self.notes = notes
        self.text = text
        self.reply = reply
        self.place = place
        self.seconds: float | None = None
        self.liked: bool | None = None
        self.checked: dict[str, float] | None = None
        self.lost = False
        self.box: TextElement
        self.body: TextElement
        self.under: TextElement

    @property
    def picture(self) -> TurnPicture | None:
        """The view of the turn for the Why panel; None if its trace is not stored."""
        if self.lost:
            return None
        return turn_picture(self.notes, self.text) if self.reply is None else reply_picture(self.reply)


class ChatPanel:
    """The chat, left of the panels."""

    def __init__(
        self, page_session: PageSession, words: Phrases, *, select: Callable[[ReplyCard | None], None]
    ) -> None:
        self.page_session = page_session
        self._words = words
        self._select = select
        self._selected: ReplyCard | None = None
        self._run: RunningTurn | None = None
        self._waiting = False
        self.changed: Callable[[], Awaitable[None]] | None = None
        self.open_sources: Callable[[], None] | None = None
        self.open_why: Callable[[], None] | None = None

    def build(self) -> None:
        """Create the elements."""
        words = self._words
        with el("div", classes="scroll", role="log", aria_label=words["chat.log"], aria_live="polite", tabindex="0"):
            self._log = el("div", classes="log")
        with el("div", classes="composer"):
            with el("div", classes="field"):
                self._input = ui.textarea(placeholder=words["chat.hint"]).props("autogrow borderless dense rows=1")
                self._input.props["input-class"] = "write"
                self._input.props["aria-label"] = words["chat.field"]
                self._input.on("keydown", js_handler=_ENTER, handler=lambda event: self.send(str(event.args or "")))
                self._send = icon_button("arrow_upward", words["chat.send"], self._pressed, "send")
            el("div", words["chat.keys"], "hint muted")

    @property
    def is_running(self) -> bool:
        return self._waiting

    def begin(self, agent: View) -> None:
        """Show an empty dialogue: the agent's greeting and example questions."""
        words = self._words
        self._choose(None)
        self._log.clear()
        with self._log, el("div", classes="welcome"):
            el("div", str(agent["title"]), "agent-name")
            if agent["greeting"]:
                el("p", str(agent["greeting"]), "greeting")
            el("p", words["chat.what"], "muted what")
            examples = [str(text) for text in agent["examples"]]
            el("p", words["chat.try"] if examples else words["chat.ask"], "muted")
            with el("div", classes="chips"):
                for text in examples:
                    button(text, partial(self._try, text), "chip")
            if any(source["writable"] for source in agent["sources"]) and self.open_sources is not None:
                with el("p", classes="muted also"):
                    el("span", words["chat.folder"])
                    button(words["chat.open_sources"], self.open_sources, "link")

    async def show(self, dialogue: str) -> bool:
        """Show a stored dialogue; returns whether it exists."""
        turns = await self.page_session.do(transcript, dialogue)
        if not turns:
            return False
        self.page_session.dialogue = dialogue
        self._choose(None)
        self._log.clear()
        last: ReplyCard | None = None
        for place, said in enumerate(turns):
            if said.turn.speaker == "user":
                self._user(self._kept(said))
            else:
                last = self._answer(ReplyCard([], self._kept(said), reply=said.reply, place=place))
                last.lost, last.liked = said.reply is None, said.liked
                self._finish(last)
        self._choose(last)
        return True

    async def _try(self, text: str) -> None:
        self.focus()  # the chip goes away, and the keyboard would be nowhere
        await self.send(text)

    def focus(self) -> None:
        """Focus the input field, except on touch screens, where the keyboard would cover half of the page."""
        ui.run_javascript(_FOCUS)

    async def send(self, text: str) -> None:
        """Send a message and show its reply."""
        text = text.strip()
        if not text or self._waiting:
            return
        self._input.set_value("")
        self._busy(True)
        for welcome in [child for child in self._log if "welcome" in child.classes]:
            welcome.delete()
        self._user(text)
        answer = self._answer(ReplyCard([], ""))
        self._choose(answer)
        try:
            await self._listen(answer, CallerTurn(text, self.page_session.agent, self.page_session.dialogue))
        except DragomanError as error:
            self._failed(answer, error)
        finally:
            self._run = None
            answer.box.props["aria-busy"] = "false"
            self._busy(False)
        if self.changed is not None and not self._log.is_deleted:
            await self.changed()

    def stop(self) -> None:
        """Cancel the running turn; the model stops at the next piece."""
        if self._run is not None:
            self._run.cancel()

    async def _listen(self, answer: ReplyCard, ask: CallerTurn) -> None:
        self._run = await self.page_session.begin(ask)
        done: TurnDone | None = None
        shown = 0.0
        async for event in self._run:
            match event:
                case Text(text):
                    answer.text += text
                    if perf_counter() - shown > _OFTEN:
                        shown = perf_counter()
                        answer.body.set_text(answer.text)
                        answer.body.classes(remove="waiting")
                case Decided(note=note):
                    answer.notes.append(note)
                    self._progress(answer, note)
                case TurnDone():
                    done = event
        if answer.box.is_deleted:
            return  # whoever asked has left, or looks at another dialogue
        if done is None:
            answer.lost = True
            with answer.box:
                el("p", self._words["chat.stopped"], "muted stopped")
            answer.body.classes(remove="waiting")
            answer.body.set_text(answer.text)
        else:
            answer.reply, answer.place, answer.seconds = done.reply, done.turn, done.seconds
            answer.text = done.reply.text
            self._finish(answer)
        self._shown(answer)

    def _progress(self, answer: ReplyCard, note: Note) -> None:
        """Update the Why panel after a note; until there is text, show which sources are searched."""
        if not answer.text and isinstance(note.value, Plan) and note.value.steps:
            places = ", ".join(note.value.sources)
            answer.body.set_text(self._words["chat.looking"].format(sources=places))
        self._shown(answer)

    def _failed(self, answer: ReplyCard, error: DragomanError) -> None:
        problem = problem_of(error)
        answer.lost = True
        answer.body.classes(remove="waiting")
        answer.body.set_text(answer.text)
        with answer.box, el("div", classes="failure", role="alert"):
            el("strong", self._words["error"])
            el("span", f"{problem.detail or CODES[problem.code][1]} {problem.remedy}".strip())
        self._shown(answer)

    def _user(self, text: str) -> None:
        with self._log, el("div", classes="turn user"):
            el("div", text, "bubble")

    def _answer(self, answer: ReplyCard) -> ReplyCard:
        with self._log, el("div", classes="turn agent") as answer.box:
            on(answer.box, "click", partial(self._pick, answer))
            answer.body = el("div", answer.text or self._words["chat.thinking"], "text")
            if not answer.text:
                answer.body.classes("waiting")
                answer.box.props["aria-busy"] = "true"  # read out when it is whole
            answer.under = el("div", classes="under")
        return answer

    def _finish(self, answer: ReplyCard) -> None:
        """Show a finished reply: its text, summary and thumbs."""
        answer.body.classes(remove="waiting")
        answer.body.set_text(answer.text)
        answer.under.clear()
        if answer.lost:
            return
        with answer.under:
            said = self._why(answer)
            label = f"{self._words['chat.why']}: {said}"
            with button("", partial(self._explain, answer), "why", aria_label=label):
                el("span", self._words["chat.why_short"], "ask")
                el("span", said)
            if answer.picture is not None and answer.picture.warnings:
                el("span", self._words["chat.trouble"], "trouble", title="\n".join(answer.picture.warnings))
            el("span", classes="spread")
            if answer.place is not None:
                Thumbs(self.page_session, self._words, answer.place, answer.box, liked=answer.liked).build()

    def _why(self, answer: ReplyCard) -> str:
        """One-line summary: whether it is an answer, sources, files and seconds."""
        assert answer.reply is not None
        reply, picture = answer.reply, reply_picture(answer.reply)
        took = seconds_text(answer.seconds if answer.seconds is not None else picture.seconds)
        doubt = {"no answer": self._words["worth.no_answer"], "nearest": self._words["worth.nearest"]}
        worth = doubt.get(picture.worth, "")
        if reply.plan.is_null:
            return " · ".join(part for part in (worth, self._words["chat.direct"], took) if part)
        drafts = [note.value for note in reply.trace if isinstance(note.value, Draft)]
        rests = [card for card in picture.cards if card.quoted and card.fate in ("kept", "novel")]
        places = dict.fromkeys(
            card.evidence.passage.origin.rpartition("/")[2] or card.evidence.source for card in rests
        )
        shown = ", ".join(list(places)[:3]) if drafts else ""
        route = " › ".join(" + ".join(step) for step in reply.plan.steps)
        return " · ".join(part for part in (worth, route, shown, took) if part)

    @property
    def selected(self) -> ReplyCard | None:
        return self._selected

    def _pick(self, answer: ReplyCard) -> None:
        """Select a clicked reply; keyboard users have the button below it."""
        if self._selected is not answer and not answer.box.is_deleted:
            self._choose(answer)

    def _explain(self, answer: ReplyCard) -> None:
        self._choose(answer)
        if self.open_why is not None:
            self.open_why()

    def _choose(self, answer: ReplyCard | None) -> None:
        if self._selected is not None:
            self._selected.box.classes(remove="selected")
        self._selected = answer
        if answer is not None:
            answer.box.classes("selected")
        self._select(answer)

    def _shown(self, answer: ReplyCard) -> None:
        if self._selected is answer:
            self._select(answer)

    def _busy(self, running: bool) -> None:
        self._waiting = running
        label = self._words["chat.stop" if running else "chat.send"]
        self._send.props["aria-label"] = self._send.props["title"] = label
        self._send.classes(add="stop" if running else "", remove="" if running else "stop")
        self._send.clear()
        with self._send:
            ui.icon("stop" if running else "arrow_upward").props("aria-hidden=true")

    async def _pressed(self) -> None:
        if self._waiting:
            self.stop()
        else:
            await self.send(str(self._input.value or ""))

    def _kept(self, said: PageTurn) -> str:
        return self._words["chat.forgotten"] if said.is_withheld else said.turn.text
