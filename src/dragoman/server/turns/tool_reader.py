"""Tools of a calling program in a turn: the reading model may ask for calls before the agent's reader answers.

A turn that asks for calls ends there, and nothing of it is stored. The program runs the tools and sends the question
again with their results, from which the model then writes the reply.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dragoman import prompts
from dragoman.core.errors import EndpointError, ServiceError
from dragoman.core.values import Draft, ReadTask, Turn, Usage
from dragoman.models.tool_calls import ToolCall, ToolChoice, ToolMessage, ToolModel, ToolPrompt, ToolSpec

if TYPE_CHECKING:
    from dragoman.agent.assistant import Assistant
    from dragoman.core.protocols import Reader

_DEFAULT_TOKENS = 1024
CALLED = "tool-calls"
"""The method of a draft that asks for calls."""


@dataclass(frozen=True, slots=True)
class CallerTools:
    """The tools that a program offers for a turn, and the conversation with them.

    `messages` ends with the user's turn and the results of its calls so far. Where the server knows the dialogue, they
    are only those, and the turns before come from the store.
    """

    tools: tuple[ToolSpec, ...] = ()
    messages: tuple[ToolMessage, ...] = ()
    is_whole: bool = True
    choice: ToolChoice = "auto"
    only: str = ""
    parallel: bool | None = None
    max_tokens: int | None = None

    @property
    def has_results(self) -> bool:
        """Whether results of tools follow the user's last turn."""
        return bool(self.messages) and self.messages[-1].role == "tool"


class ToolCallsRequested(Exception):  # noqa: N818 - no error: it ends a turn
    """The model asks for calls of the program's tools instead of a reply."""

    def __init__(self, task: ReadTask, draft: Draft, calls: tuple[ToolCall, ...]) -> None:
        super().__init__("tool calls")
        self.task = task
        self.draft = draft
        self.calls = calls


class ToolReader:
    """Asks the model, which may call tools; where it calls none, and has no results to read, `inner` answers."""

    def __init__(self, inner: Reader, model: ToolModel, lent: CallerTools, *, name: str, language: str) -> None:
        self._inner = inner
        self._model = model
        self._lent = lent
        self._name = name
        self._language = language

    def read(self, tasks: Sequence[ReadTask]) -> Sequence[Draft]:
        drafts: list[Draft] = []
        for task in tasks:
            used, draft = self._ask(task)
            if draft is None:
                (draft,) = self._inner.read([task])
                draft = replace(draft, usage=draft.usage + used)
            drafts.append(draft)
        return drafts

    def stream(self, task: ReadTask) -> Iterator[str | Draft]:
        used, draft = self._ask(task)
        if draft is not None:
            yield draft.text
            yield draft
            return
        for piece in self._inner.stream(task):
            yield replace(piece, usage=piece.usage + used) if isinstance(piece, Draft) else piece

    def _ask(self, task: ReadTask) -> tuple[Usage, Draft | None]:
        """The tokens that were used, and the draft if the model has written it from the results of tools."""
        lent = self._lent
        if lent.choice == "none" and not lent.has_results:
            return Usage(), None
        try:
            reply = self._model.call_tools(self._prompt(task), max_tokens=lent.max_tokens or _DEFAULT_TOKENS)
        except EndpointError as error:
            if name := error.fields.get("refuses"):
                raise _refused(str(name), self._model.name) from error
            raise
        names = {tool.name for tool in lent.tools}
        calls = tuple(call for call in reply.calls if call.name in names)
        if calls and lent.choice != "none":
            raise ToolCallsRequested(task, replace(reply.draft, method=CALLED), calls)
        if lent.choice == "required" or lent.only:
            raise _unheeded("The model did not call a tool.", "Ask without `tool_choice`, or try again.")
        if not lent.has_results:
            return reply.draft.usage, None
        if not reply.draft.text.strip():
            raise _unheeded("The model wrote no reply to the results of the tools.", "Try again.")
        return Usage(), replace(reply.draft, method="generated")

    def _prompt(self, task: ReadTask) -> ToolPrompt:
        lent, context = self._lent, task.context
        last = max(place for place, message in enumerate(lent.messages) if message.role == "user")
        notes = prompts.evidence(task.evidence, self._language)
        template = prompts.get("tools.v1", self._language)
        asked = template.format(name=self._name, evidence=notes, question=context.last)
        asked = prompts.for_caller(asked, context, self._language)
        system, question = asked.messages
        before = lent.messages[:last] if lent.is_whole else _turns(context.history)
        messages = (
            ToolMessage("system", system.content),
            *before,
            ToolMessage("user", question.content),
            *lent.messages[last + 1 :],
        )
        return ToolPrompt(messages, lent.tools, lent.choice, lent.only, lent.parallel, asked.sampling)


def _turns(history: Sequence[Turn]) -> tuple[ToolMessage, ...]:
    return tuple(ToolMessage("user" if turn.speaker == "user" else "assistant", turn.text) for turn in history)


def with_tools(assistant: Assistant, lent: CallerTools) -> Assistant:
    """The same assistant for one turn with a program's tools; its language model must be a `ToolModel`."""
    model = assistant.model
    assert isinstance(model, ToolModel)
    other, agent = copy(assistant), copy(assistant.agent)
    agent.reader = ToolReader(agent.reader, model, lent, name=assistant.name, language=agent.language)
    if lent.has_results:
        agent.refiner = None  # a refiner would read again, without the results
    other.agent = agent
    return other


def why_no_tools(assistant: Assistant) -> str:
    """Why an agent cannot use a program's tools; "" if it can."""
    if not getattr(assistant.agent.reader, "follows_instructions", False):
        return "No language model writes this agent's replies, so none could call a tool."
    model = assistant.model
    if not isinstance(model, ToolModel):
        return "This agent's language model cannot call tools; one behind an endpoint (model.remote.v1) may."
    if not model.takes_tools:
        return f"The endpoint of this agent's model '{model.name}' has refused tools."
    return ""


def _unheeded(message: str, remedy: str) -> ServiceError:
    return ServiceError(message, remedy=remedy, code="model")


def _refused(name: str, model: str) -> ServiceError:
    return ServiceError(
        f"'{name}' cannot be honoured here. The endpoint of this agent's model '{model}' refuses it.",
        remedy=f"Leave '{name}' out, or choose a model that calls tools.",
        code="unsupported-parameter",
        param=name,
    )
