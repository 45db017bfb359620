"""The chat: prompt, slash commands, Ctrl-C and Ctrl-D; down a pipe, the same commands without a prompt."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

from dragoman.cli.terminal import rendering
from dragoman.cli.terminal.messages import printable
from dragoman.cli.terminal.reply_output import print_short_why, print_why, speak
from dragoman.cli.terminal.turn_options import options_of
from dragoman.core.control import DEFAULT_CONTROL, MEMORY_MODES, TurnControl, sources_with_needs
from dragoman.core.errors import DragomanError
from dragoman.text.forget.requests import means_everything

if TYPE_CHECKING:
    from rich.console import Console

    from dragoman.agent.assistant import Assistant
    from dragoman.core.trace import Reply

PROMPT = "you> "
PRIVATE_PROMPT = "you (private)> "


class ChatLoop:
    """A chat with an assistant: in a terminal (`run`), or line by line from elsewhere (`obeys`, `answer`).

    Where lines come from elsewhere, `reply_to` answers a message, `next_line` gives what is typed at a question, and
    what commands have to say goes to `console`.
    """

    def __init__(
        self,
        assistant: Assistant,
        *,
        user: str,
        dialogue: str,
        control: TurnControl = DEFAULT_CONTROL,
        console: Console | None = None,
        reply_to: Callable[[str, TurnControl], Reply | None] | None = None,
        next_line: Callable[[str], str] = input,
    ) -> None:
        self._assistant = assistant
        self._user = user
        self._dialogue = dialogue
        self._control = control
        self._question = ""
        self._is_last_kept = True
        self._console = rendering.out() if console is None else console
        self._reply_to = self._streamed_reply if reply_to is None else reply_to
        self._next_line = next_line
        self._last: Reply | None = None
        self._commands: dict[str, tuple[Callable[[str], None], str]] = {
            "/why": (self._why, "the trace and the evidence of the last reply"),
            "/search": (self._search, "search for the words after it; alone, for the last question after all"),
            "/nosearch": (self._nosearch, "answer without a search; alone, say that the last one was not needed"),
            "/private": (self._private, "save nothing from now on, until /private again"),
            "/sources": (self._sources, "where this agent can look; with names, look only there; all undoes it"),
            "/memory": (self._memory, "what is remembered about you; on, read or off says how it is used here"),
            "/forget": (self._forget, "delete what matches the words after it; alone, everything about you"),
            "/undo": (self._undo, "restore the fact that was deleted last, within a minute"),
            "/good": (self._good, "it was right to look something up for the last reply, or not to"),
            "/bad": (self._bad, "it was wrong: your labels train a gate (dragoman label)"),
            "/help": (self._help, "these commands"),
            "/quit": (self._help, "leave (Ctrl-D does too)"),
        }

    def run(self) -> None:
        """Read and answer messages until the user quits."""
        # Line editing and recall with the arrow keys. Nothing is kept on disk: it could not be forgotten there.
        with contextlib.suppress(ImportError):
            import readline  # noqa: F401 - importing it is what switches editing on
        self._greet()
        self._assistant.warm_up(everything=True)  # while the first turn is being typed
        while True:
            try:
                line = input(PROMPT if self._control.keep else PRIVATE_PROMPT).strip()
            except (EOFError, KeyboardInterrupt):
                self._console.print("\nGoodbye.", style="dim")
                return
            if line == "/quit":
                return
            if line:
                self._handle(line)

    def _handle(self, line: str) -> None:
        """Answer one line; an error or Ctrl-C ends the reply, not the chat."""
        try:
            if line.startswith("/"):
                self._command(line)
            else:
                self.answer(line)
        except KeyboardInterrupt:
            self._console.print("(stopped; Ctrl-C again leaves)", style="dim")
        except DragomanError as error:
            rendering.err().print(rendering.error_text(error), style="red", soft_wrap=True)

    def answer(self, line: str, control: TurnControl | None = None) -> None:
        """Answer a message."""
        chosen = self._control if control is None else control
        reply = self._reply_to(line, chosen)
        if reply is not None:
            self._last, self._question, self._is_last_kept = reply, line, chosen.keep

    def _streamed_reply(self, line: str, control: TurnControl) -> Reply | None:
        """The reply to a message, written while it is made."""
        pieces = self._assistant.stream(line, user=self._user, dialogue=self._dialogue, **options_of(control))
        reply = speak(pieces, self._console)
        if reply is not None:
            print_short_why(reply, self._console)
        return reply

    def obeys(self, line: str) -> bool:
        """Carry out a line that is a command; whether it is one. What only looks like one is a message."""
        name, _, rest = line.partition(" ")
        if name not in self._commands:
            return False
        self._commands[name][0](rest.strip())
        return True

    def _command(self, line: str) -> None:
        name = line.partition(" ")[0]
        if self.obeys(line):
            return
        close = get_close_matches(name, self._commands, n=1)
        hint = f" Did you mean {close[0]}?" if close else ""
        self._dim(f"There is no command {name}.{hint} /help lists them.")

    def _greet(self) -> None:
        assistant = self._assistant
        self._console.print(f"{assistant.name} is here.", style="bold")
        if assistant.greeting:
            self._console.print(printable(assistant.greeting), soft_wrap=True)
        if assistant.examples and not assistant.dialogues(user=self._user):
            self._dim("Ask for instance:")
            for example in assistant.examples[:3]:
                self._dim(f"  {rendering.one_line(example)}")
        self._dim("Commands: /why /good /bad /search /nosearch /private /sources /memory /forget /undo /help /quit")
        if not self._control.keep:
            self._dim("Private: nothing you say is saved.")

    def _why(self, _: str) -> None:
        if self._last is None:
            self._dim("Nothing has been said yet. Ask something first.")
        else:
            print_why(self._last, self._console)

    def _search(self, text: str) -> None:
        control = replace(self._control, retrieve="always")
        if text:
            self.answer(text, control)
        elif self._last is None:
            self._dim("Nothing has been said yet. /search WORDS searches for them.")
        elif self._last.verdict.retrieve:
            self._dim(f"That was searched for already ({', '.join(self._last.plan.sources)}).")
        else:
            self._label(needed=True)
            self.answer(self._question, control)

    def _nosearch(self, text: str) -> None:
        if text:
            self.answer(text, replace(self._control, retrieve="never"))
        elif self._last is None:
            self._dim("Nothing has been said yet. /nosearch WORDS answers without a search.")
        elif not self._last.verdict.retrieve:
            self._dim("Nothing was looked up for the last reply.")
        else:
            self._label(needed=False)
            self._dim("Noted: no search was needed for the last reply.")

    def _label(self, *, needed: bool) -> None:
        """Keep whether the last reply needed a search, unless it is private."""
        if self._is_last_kept:
            self._assistant.label_search(needed, user=self._user, dialogue=self._dialogue)

    def _private(self, _: str) -> None:
        self._control = replace(self._control, keep=not self._control.keep)
        if self._control.keep:
            self._assistant.end_private(user=self._user, dialogue=self._dialogue)
            self._last = None
            self._dim("No longer private. What you said meanwhile is gone; from now on messages are saved again.")
        else:
            self._dim("Private: nothing you say from now on is saved. I still use what I know about you (/memory off).")

    def _choose_sources(self, names: list[str]) -> None:
        if names == ["all"]:
            self._control = replace(self._control, sources=None)
            self._dim("Searching all sources.")
            return
        by_name = {source.name.casefold(): source.name for source in self._assistant.sources}
        chosen = sources_with_needs([by_name.get(name.casefold(), name) for name in names], self._assistant.sources)
        self._control = replace(self._control, sources=chosen)
        self._dim(f"Searching only: {', '.join(chosen)}. /sources all undoes it.")

    def _sources(self, names: str) -> None:
        if names:
            self._choose_sources(names.replace(",", " ").split())
            return
        table = rendering.table("source", "about", "needs", "holds")
        for source in self._assistant.sources:
            kept = f"{source.description} (private)" if source.private else source.description
            rendering.add_row(table, source.name, source.about, ", ".join(source.needs), kept)
        self._console.print(table)

    def _memory(self, mode: str) -> None:
        if mode:
            chosen = next((name for name in MEMORY_MODES if name == mode.lower()), None)
            if chosen is None:
                self._dim("Use /memory on, /memory read or /memory off; /memory alone shows what is remembered.")
                return
            self._control = replace(self._control, memory=chosen)
            about = {"on": "read and written", "read": "read, not written", "off": "not used"}[chosen]
            self._dim(f"Memory is {about} from now on.")
            return
        facts, wishes = self._assistant.recall(user=self._user), self._assistant.wishes(user=self._user)
        if facts:
            self._console.print(rendering.facts_table(facts))
        if wishes:
            self._console.print(rendering.wishes_table(wishes))
            self._dim('Say "forget my standing wishes", or take one back: "you don\'t have to keep it short any more".')
        if not facts and not wishes:
            self._dim("Nothing is remembered about you yet. Say something about yourself.")

    def _forget(self, what: str) -> None:
        if means_everything(what):
            what = ""
        if not what:
            from dragoman.reader.phrases import erasure_text

            counts = erasure_text(self._assistant.erasure(user=self._user))
            if not self._confirms(f"This deletes {counts}. It cannot be undone. Type yes: "):
                self._dim("Nothing was deleted.")
                return
        self._last = None  # /why would show what was deleted
        count = self._assistant.forget(what or None, user=self._user)
        undo = " /undo restores it for a minute." if what else ""
        self._dim(f"Deleted: {count}.{undo}" if count else "Nothing matched. /memory shows what is remembered.")
        mentions = self._assistant.mentions(user=self._user) if what else ()
        for text in mentions[:5]:
            self._dim(f"Still mentions it: {rendering.one_line(text, 96)}")
        if mentions and self._confirms(f"Delete these {len(mentions)} messages too? Type yes: "):
            self._dim(f"Deleted: {self._assistant.forget_mentions(user=self._user)} messages.")

    def _undo(self, _: str) -> None:
        restored = self._assistant.undo_forget(user=self._user)
        for fact in restored:
            self._dim(f"Restored: {rendering.one_line(fact.text)}")
        if not restored:
            self._dim("There is nothing to undo. A deleted fact can be restored for one minute.")

    def _good(self, _: str) -> None:
        self._rate(True)

    def _bad(self, _: str) -> None:
        self._rate(False)

    def _rate(self, good: bool) -> None:
        if self._last is None:
            self._dim("Nothing has been said yet. Ask something first.")
            return
        if not self._is_last_kept:
            self._dim("The last reply is private and was not saved, so it cannot be rated.")
            return
        self._assistant.rate(good, user=self._user, dialogue=self._dialogue)
        looked = "something was looked up" if self._last.verdict.retrieve else "nothing was looked up"
        self._dim(f"Noted as {'right' if good else 'wrong'}: {looked}.")

    def _confirms(self, question: str) -> bool:
        try:
            return self._next_line(question).strip().lower() in ("y", "yes", "是")
        except EOFError:
            return False

    def _help(self, _: str) -> None:
        table = rendering.table("command", "shows")
        for name, (_handler, words) in self._commands.items():
            rendering.add_row(table, name, words)
        self._console.print(table)

    def _dim(self, text: str) -> None:
        self._console.print(text, style="dim", soft_wrap=True)
