"""Mocks of servers for one's own machine: Ollama, LM Studio, llama.cpp, vLLM, and one that knows nothing special."""

from __future__ import annotations

from typing import ClassVar

from dragoman.testing.vendors.mock import Json, MockVendor, RefusedError


class OllamaMock(MockVendor):
    """Ollama: thoughts in `reasoning`, `reasoning_effort = "none"` switches them off, unknown fields are ignored."""

    model: ClassVar[str] = "qwen3:4b"
    owner: ClassVar[str] = "library"
    gives_logprobs: ClassVar[bool] = True
    obeys_schema: ClassVar[bool] = True
    thoughts_field: ClassVar[str] = "reasoning"

    def check(self, body: Json) -> None:
        if body.get("model") != self.model:
            message = f'model "{body.get("model")}" not found, try pulling it first'
            raise RefusedError(404, self.error(message))

    def get(self, path: str) -> object:
        if path.endswith("/api/ps"):
            return {"models": [{"name": self.model, "model": self.model, "context_length": 8192}]}
        return super().get(path)

    def thinks(self, body: Json) -> bool:
        return super().thinks(body) and body.get("reasoning_effort") != "none"


class LMStudioMock(MockVendor):
    """LM Studio: thoughts in `reasoning_content`, JSON by schema, no log-probabilities in chats."""

    model: ClassVar[str] = "qwen3-4b"
    owner: ClassVar[str] = "organization_owner"
    obeys_schema: ClassVar[bool] = True
    thoughts_field: ClassVar[str] = "reasoning_content"

    def check(self, body: Json) -> None:
        kind = (body.get("response_format") or {"type": "text"})["type"]
        if kind not in ("json_schema", "text"):
            raise RefusedError(400, {"error": "'response_format.type' must be 'json_schema' or 'text'"})

    def get(self, path: str) -> object:
        if path.endswith("/api/v0/models"):
            return {"data": [{"id": self.model, "loaded_context_length": 4096, "max_context_length": 32768}]}
        return super().get(path)

    def thinks(self, body: Json) -> bool:
        return super().thinks(body) and body.get("reasoning_effort") != "none"


class LlamaCppMock(MockVendor):
    """The server of llama.cpp: thoughts in `reasoning_content`, the chat template takes `enable_thinking`."""

    model: ClassVar[str] = "model.gguf"
    owner: ClassVar[str] = "llamacpp"
    gives_logprobs: ClassVar[bool] = True
    obeys_schema: ClassVar[bool] = True
    thoughts_field: ClassVar[str] = "reasoning_content"

    def check(self, body: Json) -> None:
        pass  # it has one model, and answers by whatever name

    def get(self, path: str) -> object:
        if path.endswith("/props"):
            return {"default_generation_settings": {"n_ctx": 4096}, "total_slots": 1}
        return super().get(path)

    def thinks(self, body: Json) -> bool:
        return super().thinks(body) and (body.get("chat_template_kwargs") or {}).get("enable_thinking") is not False


class VllmMock(MockVendor):
    """vLLM with a reasoning parser: `content` is null while the model thinks; the limit counts its thoughts."""

    model: ClassVar[str] = "Qwen/Qwen3-8B"
    owner: ClassVar[str] = "vllm"
    gives_logprobs: ClassVar[bool] = True
    obeys_schema: ClassVar[bool] = True
    thoughts_field: ClassVar[str] = "reasoning"
    window: ClassVar[int] = 4096

    def check(self, body: Json) -> None:
        if body.get("model") != self.model:
            raise RefusedError(
                404, self._object(f"The model `{body.get('model')}` does not exist.", "NotFoundError", 404)
            )
        read = self.usage(body, "", "")["prompt_tokens"]
        if read + self.limit(body) > self.window:
            message = (
                f"This model's maximum context length is {self.window} tokens. However, you requested "
                f"{read + self.limit(body)} tokens ({read} in the messages, {self.limit(body)} in the completion). "
                "Please reduce the length of the messages or completion (max_tokens)."
            )
            raise RefusedError(400, self._object(message, "BadRequestError", 400))

    def described(self) -> Json:
        return {"max_model_len": self.window, "root": self.model}

    def thinks(self, body: Json) -> bool:
        return super().thinks(body) and (body.get("chat_template_kwargs") or {}).get("enable_thinking") is not False

    def schema(self, body: Json) -> Json | None:
        return (body.get("structured_outputs") or {}).get("json") or super().schema(body)

    def content(self, text: str | None, thoughts: str) -> str | None:
        return text or (None if thoughts else text)

    @staticmethod
    def _object(message: str, kind: str, code: int) -> Json:
        return {"object": "error", "message": message, "type": kind, "param": None, "code": code}


class PlainMock(MockVendor):
    """A small home-made server: it refuses all but the most basic fields, without a reason, and thinks aloud."""

    accepted: ClassVar[frozenset[str] | None] = frozenset({"model", "messages", "max_tokens", "stream"})

    def check(self, body: Json) -> None:
        if not self.accepted or set(body) - self.accepted:
            raise RefusedError(400, {})

    def get(self, path: str) -> object:
        raise RefusedError(404, {})

    def inline(self, thoughts: str) -> str:
        return f"<think>{thoughts}</think>\n\n"
