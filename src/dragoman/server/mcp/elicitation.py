"""Questions to the user of an MCP client while a tool runs (elicitation).

Protocols from 2026-07-28 on carry a question as the result of the call, which the client repeats with the answer; older
ones send it to the client in the middle of the call. The key of a question names its dialogue, so that any server of
the agent's store can take the answer.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from mcp.server.elicitation import AcceptedElicitation, render_elicitation_schema
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp.types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult
from mcp_types.version import is_version_at_least
from pydantic import BaseModel, Field, ValidationError

from dragoman.core.trace import Reply
from dragoman.core.values import Draft, Learned
from dragoman.server.explanation import explanation

Call: TypeAlias = Context[Any, Any]
_IN_RESULT = "2026-07-28"
_ANSWER = "answer:"


class UserAnswer(BaseModel):
    """An answer in the user's own words."""

    answer: str = Field(title="Your answer", max_length=2000)


class Confirmation(BaseModel):
    """Agreement to something that cannot be undone."""

    confirm: bool = Field(title="Delete everything")


def asks_back(reply: Reply) -> bool:
    """Whether a reply asks the user for a missing fact, or for a confirmation."""
    values = [note.value for note in reply.trace]
    if any(isinstance(value, Learned) and value.pending is not None for value in values):
        return True
    drafts = [value for value in values if isinstance(value, Draft)]
    decided = explanation(drafts[-1], reply.evidence) if drafts else None
    return decided is not None and decided.outcome == "unknown"


def can_ask(context: Call) -> bool:
    """Whether the client shows questions to its user."""
    capabilities = context.client_capabilities
    elicitation = None if capabilities is None else capabilities.elicitation
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


def given_answer(context: Call) -> tuple[str, str | None] | None:
    """The dialogue and the answer of a repeated call; the answer is None if the user gave none."""
    for key, response in (context.input_responses or {}).items():
        if key.startswith(_ANSWER) and isinstance(response, ElicitResult):
            accepted = _accepted(response, UserAnswer)
            return key.removeprefix(_ANSWER), accepted.answer.strip() or None if accepted else None
    return None


async def ask_user(context: Call, dialogue: str, question: str) -> str | InputRequiredResult | None:
    """The user's answer to a question; None if the user gives none, or a result that carries the question."""
    outcome = await _elicit(context, f"{_ANSWER}{dialogue}", question, UserAnswer)
    if isinstance(outcome, UserAnswer):
        return outcome.answer.strip() or None
    return outcome if isinstance(outcome, InputRequiredResult) else None


async def confirm(context: Call, question: str) -> InputRequiredResult | bool:
    """Whether the user agrees, or a result that carries the question."""
    response = (context.input_responses or {}).get("confirm")
    if isinstance(response, ElicitResult):
        agreed = _accepted(response, Confirmation)
        return agreed is not None and agreed.confirm
    outcome = await _elicit(context, "confirm", question, Confirmation)
    return (
        outcome if isinstance(outcome, InputRequiredResult) else isinstance(outcome, Confirmation) and outcome.confirm
    )


async def _elicit(
    context: Call, key: str, message: str, schema: type[UserAnswer] | type[Confirmation]
) -> BaseModel | InputRequiredResult | None:
    if not can_ask(context):
        return None
    version = context.protocol_version
    if version is not None and is_version_at_least(version, _IN_RESULT):
        params = ElicitRequestFormParams(message=message, requested_schema=render_elicitation_schema(schema))
        return InputRequiredResult(input_requests={key: ElicitRequest(params=params)})
    try:
        outcome = await context.elicit(message, schema)
    except (NoBackChannelError, MCPError, ValueError):  # a transport without questions, or an answer that is none
        return None
    return outcome.data if isinstance(outcome, AcceptedElicitation) else None


def _accepted(response: ElicitResult, schema: Any) -> Any:
    action: Literal["accept", "decline", "cancel"] = response.action
    if action != "accept":
        return None
    try:
        return schema.model_validate(response.content or {})
    except ValidationError:
        return None
