"""Mocks of model endpoints, one for each vendor, with the refusals that its documentation describes.

model = RemoteModel(model="m", profile="ollama", transport=OllamaMock().transport())

with served(OllamaMock()) as url:      # the same over HTTP, for a whole agent: models.language.url = url
    ...
"""

from dragoman.testing.vendors.anthropic import AnthropicAdaptiveMock, AnthropicMock
from dragoman.testing.vendors.hosted import GeminiMock, OpenAIMock, OpenAIReasoningMock, OpenRouterMock
from dragoman.testing.vendors.http import served
from dragoman.testing.vendors.local import LlamaCppMock, LMStudioMock, OllamaMock, PlainMock, VllmMock
from dragoman.testing.vendors.mock import MockVendor

MOCKS: dict[str, type[MockVendor]] = {
    "openai": OpenAIMock,
    "openai-reasoning": OpenAIReasoningMock,
    "anthropic": AnthropicMock,
    "gemini": GeminiMock,
    "ollama": OllamaMock,
    "lmstudio": LMStudioMock,
    "llamacpp": LlamaCppMock,
    "vllm": VllmMock,
    "openrouter": OpenRouterMock,
    "plain": PlainMock,
}
"""A mock for each profile of `RemoteModel`."""

__all__ = [
    "MOCKS",
    "AnthropicAdaptiveMock",
    "AnthropicMock",
    "GeminiMock",
    "LMStudioMock",
    "LlamaCppMock",
    "MockVendor",
    "OllamaMock",
    "OpenAIMock",
    "OpenAIReasoningMock",
    "OpenRouterMock",
    "PlainMock",
    "VllmMock",
    "served",
]
