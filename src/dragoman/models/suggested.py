"""Openly licensed instruct models on a model hub, by the memory that they take. None of them was tried here.

Sizes and hashes are those that are published for the files; where a hash is "", the one that the hub states is checked.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A model by a short name: its address, size, licence, and the gigabytes of memory that it fits into."""

    name: str
    address: str
    bytes: int
    sha256: str
    licence: str
    memory: int
    about: str


SUGGESTIONS: dict[str, Suggestion] = {
    suggestion.name: suggestion
    for suggestion in (
        Suggestion(
            "qwen2.5-0.5b",
            "hf:Qwen/Qwen2.5-0.5B-Instruct-GGUF/qwen2.5-0.5b-instruct-q4_k_m.gguf",
            491_000_000,
            "",
            "Apache-2.0",
            1,
            "Qwen 2.5 0.5B Instruct, 4 bit",
        ),
        Suggestion(
            "qwen2.5-1.5b",
            "hf:Qwen/Qwen2.5-1.5B-Instruct-GGUF/qwen2.5-1.5b-instruct-q4_k_m.gguf",
            1_117_320_736,
            "6a1a2eb6d15622bf3c96857206351ba97e1af16c30d7a74ee38970e434e9407e",
            "Apache-2.0",
            2,
            "Qwen 2.5 1.5B Instruct, 4 bit",
        ),
        Suggestion(
            "granite-3.3-2b",
            "hf:ibm-granite/granite-3.3-2b-instruct-GGUF/granite-3.3-2b-instruct-Q4_K_M.gguf",
            1_545_303_328,
            "ac71e9e32c0bea919b409c5918f69ca74339854b0319c5065e4e9fb6d95c4852",
            "Apache-2.0",
            2,
            "Granite 3.3 2B Instruct, 4 bit",
        ),
        Suggestion(
            "qwen3-4b",
            "hf:Qwen/Qwen3-4B-GGUF/Qwen3-4B-Q4_K_M.gguf",
            2_497_280_256,
            "7485fe6f11af29433bc51cab58009521f205840f5b4ae3a32fa7f92e8534fdf5",
            "Apache-2.0",
            4,
            "Qwen 3 4B, 4 bit; it can think, which is switched off",
        ),
        Suggestion(
            "qwen3-8b",
            "hf:Qwen/Qwen3-8B-GGUF/Qwen3-8B-Q4_K_M.gguf",
            5_030_000_000,
            "",
            "Apache-2.0",
            8,
            "Qwen 3 8B, 4 bit; it can think, which is switched off",
        ),
    )
}
