"""Vocabularies that special tokens are spelt in (`token_spelling.py`): of a transformers tokenizer, of llama.cpp.

Both give the same ids for the same text, and text never becomes a control token. This module does not import
transformers, and the vocabulary of a GGUF file needs only the embedded server.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any

from dragoman.models import weights as catalogue
from dragoman.models.llamacpp.gguf_header import read_metadata
from dragoman.models.llamacpp.server import LlamaServer

_NAMED = ("bos", "eos", "pad", "unk", "sep", "cls", "mask")
_NAMED_IDS = (*_NAMED, "eot", "eom", "unknown", "padding", "separator", "seperator")
"""Metadata keys of a GGUF file for tokens with a use of their own; the format itself misspells one."""
_CHAT = frozenset(("<|im_start|>", "<|im_end|>", "<|endoftext|>", "<s>", "</s>", "<unk>", "<pad>"))
"""Names of tokens that bases use, even where neither tokenizer nor chat template shows it."""
_TOKENS, _TYPES, _TEMPLATE = "tokenizer.ggml.tokens", "tokenizer.ggml.token_type", "tokenizer.chat_template"
_CONTROL, _UNUSED = 3, 5
"""Types of tokens in a GGUF file that text is never tokenised to."""
_CONTROL_LIKE = re.compile(r"<[|｜].*[|｜]>", re.DOTALL)


class HfVocabulary:
    """The vocabulary of a transformers tokenizer; `size` is the number of rows of the base's embedding."""

    def __init__(self, tokenizer: Any, size: int | None = None) -> None:
        self._tokenizer = tokenizer
        self._size = len(tokenizer) if size is None else size

    @property
    def size(self) -> int:
        return self._size

    @cached_property
    def reserved(self) -> tuple[int, ...]:
        """Control tokens that neither begin, end nor pad a text, nor order a chat; then rows that are no token's."""
        special_ids = {getattr(self._tokenizer, f"{name}_token_id", None) for name in _NAMED}
        added = getattr(self._tokenizer, "added_tokens_decoder", {})
        control = {int(i): token.content for i, token in added.items() if token.special or _is_control(token.content)}
        rows = set(range(self._size)) - set(map(int, self._tokenizer.get_vocab().values()))
        return _spare(control, special_ids, str(self._tokenizer.chat_template or ""), self._size, rows)

    def encode(self, text: str) -> list[int]:
        """The ids of plain text; what spells a control token is split like any other text."""
        return self._encode(sound(text))

    @cached_property
    def _encode(self) -> Callable[[str], list[int]]:
        backend = getattr(self._tokenizer, "backend_tokenizer", None)
        if backend is None:
            return lambda text: list(
                map(int, self._tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"])
            )
        from tokenizers import Tokenizer

        table = json.loads(backend.to_str())
        for token in table["added_tokens"]:  # none is left out, since those after it would be numbered anew
            token["special"] = token["special"] or _is_control(token["content"])
        table["truncation"] = table["padding"] = None
        plain = Tokenizer.from_str(json.dumps(table))
        plain.encode_special_tokens = True  # to the library that means: as text
        return lambda text: list(plain.encode(text, add_special_tokens=False).ids)


class LlamaVocabulary:
    """The vocabulary of the GGUF file that a server runs; `encode` starts the server, the rest reads the file."""

    def __init__(self, server: LlamaServer) -> None:
        self._server = server

    @cached_property
    def size(self) -> int:
        return len(self._table[_TOKENS])

    @cached_property
    def reserved(self) -> tuple[int, ...]:
        """Control tokens that neither begin, end nor pad a text, nor order a chat; then rows that are no token's."""
        tokens, types = self._table[_TOKENS], self._table.get(_TYPES, ())
        control = {i: tokens[i] for i, kind in enumerate(types) if kind == _CONTROL}
        rows = (i for i, kind in enumerate(types) if kind == _UNUSED)
        special_ids = {self._table.get(_named_key(name)) for name in _NAMED_IDS}
        return _spare(control, special_ids, self._table.get(_TEMPLATE, ""), len(tokens), rows)

    def encode(self, text: str) -> list[int]:
        """The ids of plain text; what spells a control token is split like any other text."""
        return self._server.tokens(sound(text)) if text else []

    @cached_property
    def _table(self) -> dict[str, Any]:
        keys = {_TOKENS, _TYPES, _TEMPLATE, *map(_named_key, _NAMED_IDS)}
        return {_TOKENS: ()} | read_metadata(catalogue.path(self._server.weights), keys)


def tokenizer_vocabulary(tokenizer: Any, size: int | None = None) -> HfVocabulary:
    """The vocabulary of a loaded model's tokenizer."""
    return HfVocabulary(tokenizer, size)


def sound(text: str) -> str:
    """Text in NFC without lone surrogates: some tokenizers compose characters, llama.cpp never does."""
    return unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode("utf-8"))


def _spare(
    control: Mapping[int, str], special_ids: set[int | None], template: str, size: int, rows: Iterable[int]
) -> tuple[int, ...]:
    free = [i for i, text in control.items() if i not in special_ids and text not in _CHAT and text not in template]
    return *(i for i in sorted(free) if i < size), *(i for i in sorted(rows) if i not in control)


def _is_control(text: str) -> bool:
    """Whether GGUF's converter treats a token as special though its tokenizer does not."""
    return bool(_CONTROL_LIKE.fullmatch(text))


def _named_key(name: str) -> str:
    return f"tokenizer.ggml.{name}_token_id"
