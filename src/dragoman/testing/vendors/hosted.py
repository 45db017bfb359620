"""Mocks of OpenAI, Google's Gemini and OpenRouter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from dragoman.testing.vendors.mock import Json, MockVendor, RefusedError

_OPENAI = frozenset(
    "model messages max_tokens max_completion_tokens temperature top_p n stop stream stream_options logprobs "
    "top_logprobs response_format seed reasoning_effort tools tool_choice user metadata store".split()
)


class OpenAIMock(MockVendor):
    """OpenAI's chat completions with a model that does not reason."""

    model: ClassVar[str] = "gpt-4.1-mini"
    owner: ClassVar[str] = "system"
    accepted: ClassVar[frozenset[str] | None] = _OPENAI
    needs_key: ClassVar[bool] = True
    gives_logprobs: ClassVar[bool] = True
    obeys_schema: ClassVar[bool] = True

    def check(self, body: Json) -> None:
        super().check(body)
        if body.get("top_logprobs", 0) > 20:
            message = "Invalid value for 'top_logprobs': must be less than or equal to 20."
            raise RefusedError(400, self.error(message, param="top_logprobs", code="invalid_value"))
        schema = self.schema(body)
        if schema is not None and schema.get("additionalProperties") is not False:
            message = "Invalid schema for response_format: 'additionalProperties' is required to be supplied and false."
            raise RefusedError(400, self.error(message, param="response_format", code="invalid_json_schema"))
        if body.get("reasoning_effort"):
            message = "Unrecognized request argument supplied: reasoning_effort"
            raise RefusedError(400, self.error(message, param=None))


class OpenAIReasoningMock(OpenAIMock):
    """OpenAI's chat completions with a reasoning model: it never shows its thoughts, and refuses many parameters."""

    model: ClassVar[str] = "gpt-5-mini"

    def __init__(self, *args: object, thoughts: str = "The user greets me, so I greet back.", **more: object) -> None:
        super().__init__(*args, thoughts=thoughts, **more)  # type: ignore[arg-type]  # passed on as they are

    def check(self, body: Json) -> None:
        MockVendor.check(self, body)
        if "max_tokens" in body:
            message = (
                "Unsupported parameter: 'max_tokens' is not supported with this model. "
                "Use 'max_completion_tokens' instead."
            )
            raise RefusedError(400, self.error(message, param="max_tokens", code="unsupported_parameter"))
        if body.get("temperature", 1) != 1:
            value = body["temperature"]
            message = (
                f"Unsupported value: 'temperature' does not support {value:g} with this model. "
                "Only the default (1) value is supported."
            )
            raise RefusedError(400, self.error(message, param="temperature", code="unsupported_value"))
        if "logprobs" in body:
            raise RefusedError(403, self.error("You are not allowed to request logprobs from this model"))
        if "stop" in body:
            message = "Unsupported parameter: 'stop' is not supported with this model."
            raise RefusedError(400, self.error(message, param="stop", code="unsupported_parameter"))
        if body.get("reasoning_effort") == "none":
            message = (
                "Unsupported value: 'reasoning_effort' does not support 'none' with this model. Supported values are: "
                "'minimal', 'low', 'medium', and 'high'."
            )
            raise RefusedError(400, self.error(message, param="reasoning_effort", code="unsupported_value"))


class GeminiMock(MockVendor):
    """Google's OpenAI-compatible endpoint: errors come as a list, and Pro models cannot stop reasoning."""

    model: ClassVar[str] = "gemini-2.5-pro"
    owner: ClassVar[str] = "google"
    accepted: ClassVar[frozenset[str] | None] = _OPENAI - {"logprobs", "top_logprobs", "seed"}
    needs_key: ClassVar[bool] = True
    obeys_schema: ClassVar[bool] = True

    def __init__(self, *args: object, thoughts: str = "A greeting is wanted.", **more: object) -> None:
        super().__init__(*args, thoughts=thoughts, **more)  # type: ignore[arg-type]  # passed on as they are

    def check(self, body: Json) -> None:
        super().check(body)
        if body.get("reasoning_effort") == "none":
            message = "Budget 0 is invalid. This model only works in thinking mode."
            raise RefusedError(400, self.error(message))

    def error(self, message: str, *, param: str | None = None, code: str | None = None) -> object:
        if param is not None:
            message = f'Invalid JSON payload received. Unknown name "{param}": Cannot find field.'
        status = "NOT_FOUND" if code == "model_not_found" else "INVALID_ARGUMENT"
        return [{"error": {"code": 400, "message": message, "status": status}}]


class OpenRouterMock(MockVendor):
    """OpenRouter with a thinking model whose provider gives no log-probabilities."""

    model: ClassVar[str] = "z-ai/glm-4.5-air"
    needs_key: ClassVar[bool] = True
    obeys_schema: ClassVar[bool] = True
    thoughts_field: ClassVar[str] = "reasoning"
    window: ClassVar[int] = 131_072

    def __init__(self, *args: object, credit: bool = True, **more: object) -> None:
        super().__init__(*args, **more)  # type: ignore[arg-type]  # passed on as they are
        self._credit = credit

    def check(self, body: Json) -> None:
        if not self._credit:
            message = "Insufficient credits. Add more using https://openrouter.ai/settings/credits"
            raise RefusedError(402, {"error": {"message": message, "code": 402}})
        if body.get("model") != self.model:
            raise RefusedError(400, {"error": {"message": f"{body.get('model')} is not a valid model ID", "code": 400}})

    def thinks(self, body: Json) -> bool:
        return super().thinks(body) and (body.get("reasoning") or {}).get("enabled") is not False

    def described(self) -> Json:
        return {"context_length": self.window, "pricing": {"prompt": "0.0000002", "completion": "0.0000011"}}

    def usage(self, body: Json, thoughts: str, text: str) -> Json:
        usage = super().usage(body, thoughts, text)
        return usage | {"cost": usage["prompt_tokens"] * 2e-7 + usage["completion_tokens"] * 1.1e-6}

    def events(self, body: Json) -> Iterator[bytes]:
        yield b": OPENROUTER PROCESSING\n\n"
        yield from super().events(body)
