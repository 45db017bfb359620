"""Prompts of the embedded model as tokens: fitted into the window, texts apart from the template, options in place."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from dragoman.core.errors import WeightsError
from dragoman.core.values import Message, Prompt
from dragoman.models import weights as catalogue
from dragoman.models.chat_pieces import ChatPiece, Inert, Row, chat_pieces
from dragoman.models.choice import Tokens
from dragoman.models.context_window import GAP, fit
from dragoman.models.llamacpp.gguf_header import read_metadata
from dragoman.models.llamacpp.server import LlamaServer
from dragoman.models.thoughts import opens_thoughts
from dragoman.prompts import neutral

log = logging.getLogger(__name__)
_LONG_TOKEN = 20
"""Characters of a token that is long in any language."""
_TEMPLATE, _TOKENS, _TYPES = "tokenizer.chat_template", "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"
_SPECIAL = frozenset({2, 3, 4})
"""Types of tokens in a GGUF file that are no ordinary text: unknown, control and user-defined."""
_GUARD = "a\n"
_QUESTION: tuple[Row, ...] = ({"role": "user", "content": "?"},)
_CLOSING = "\n</think>\n\n"


@dataclass(frozen=True, slots=True)
class ChatPrompt:
    """A prompt as tokens; `cut` says what was left out of it, `opens_thoughts` that the reply begins with thoughts."""

    tokens: list[int]
    cut: str = ""
    opens_thoughts: bool = False


class ChatTokens:
    """Turns prompts into tokens with the chat template of a model's file."""

    def __init__(self, server: LlamaServer, window: int) -> None:
        self._server = server
        self._window = window
        self._sequences: dict[tuple[str, ...], dict[str, Tokens]] = {}
        self._of_template = lru_cache(256)(self._template_piece)

    def tokens(self, prompt: Prompt, answer_tokens: int) -> ChatPrompt:
        """The tokens of a prompt that leaves room for an answer."""
        messages, cuts = self.fitting(prompt, answer_tokens)
        cut = f"{cuts} messages dropped or shortened to fit {self._window} tokens" if cuts else ""
        pieces = self._pieces([{"role": message.role, "content": message.content} for message in messages])
        return ChatPrompt(self._joined(pieces), cut, opens_thoughts(pieces[-1].text))

    def fitting(self, prompt: Prompt, answer_tokens: int) -> tuple[Sequence[Message], int]:
        """The messages that fit into the window, and how many were dropped or shortened."""
        room = max(self._window - answer_tokens, self._window // 2) - self._template_tokens
        # what is far too long is cut roughly first: counting the tokens of a megabyte takes seconds
        rough = tuple(
            replace(message, content=self.plain(_ends(message.content, room * _LONG_TOKEN)))
            for message in prompt.messages
        )
        messages, cuts = fit(rough, room, lambda text: len(self._server.tokens(text)), self._shortened)
        if cuts:
            log.warning("prompt %r did not fit into %d tokens: %d cuts", prompt.name, self._window, cuts)
        return messages, cuts

    def options(self, options: Sequence[str]) -> dict[str, Tokens]:
        """The tokens of each option where the template lets an answer begin."""
        key = tuple(options)
        if key not in self._sequences:
            # some vocabularies mark the start of a text, so the options are tokenised after the end of the template
            before = self._pieces(_QUESTION)[-1].text
            opening = self._server.tokens(before, special=True)
            sequences = {}
            for option in options:
                whole = self._server.tokens(before + option, special=True)
                continues = whole[: len(opening)] == opening
                sequences[option] = tuple(whole[len(opening) :] if continues else self._server.tokens(option))
            self._sequences[key] = sequences
        return self._sequences[key]

    def closing(self) -> Sequence[int]:
        """Tokens that end the thoughts which a template has opened."""
        return self._of_template(_CLOSING, False)

    def plain(self, text: str) -> str:
        """Text that cannot pass for a control token of this vocabulary or of a known shape, and has a UTF-8 form."""
        return self._inert(neutral(text.encode("utf-8", "replace").decode("utf-8")))

    def _pieces(self, rows: Sequence[Row]) -> list[ChatPiece]:
        self._require_template()
        return chat_pieces(rows, self._server.render)

    def _joined(self, pieces: Sequence[ChatPiece]) -> list[int]:
        tokens: list[int] = []
        for place, piece in enumerate(pieces):
            if piece.is_content:
                tokens += self._content(piece.text, begins=place == 0)
            else:
                tokens += self._of_template(piece.text, place == 0)
        return tokens

    def _template_piece(self, text: str, begins: bool) -> tuple[int, ...]:
        if begins:
            return tuple(self._server.tokens(text, special=True))
        return tuple(self._after_guard(text, special=True))

    def _content(self, text: str, *, begins: bool) -> list[int]:
        return self._server.tokens(text, begins=True) if begins else self._after_guard(text, special=False)

    def _after_guard(self, text: str, *, special: bool) -> list[int]:
        """Tokens of a text in the middle of a prompt: some vocabularies put a blank before a text that stands alone."""
        if not self._marks_starts:
            return self._server.tokens(text, special=special, begins=False)
        guard = self._server.tokens(_GUARD, begins=False)
        whole = self._server.tokens(_GUARD + text, special=special, begins=False)
        if whole[: len(guard)] != guard:
            return self._server.tokens(text, special=special, begins=False)
        return whole[len(guard) :]

    @cached_property
    def _marks_starts(self) -> bool:
        """Whether the vocabulary writes a blank before a text."""
        alone, after = self._server.tokens("b", begins=False), self._server.tokens("a\nb", begins=False)
        return alone[-1] != after[-1]

    @cached_property
    def _template_tokens(self) -> int:
        """Tokens that the chat template adds by itself, such as a system message of its own."""
        return len(self._joined(self._pieces(_QUESTION)))

    @cached_property
    def _inert(self) -> Inert:
        header = read_metadata(catalogue.path(self._server.weights), (_TOKENS, _TYPES))
        types = header.get(_TYPES, ())
        return Inert(token for token, kind in zip(header.get(_TOKENS, ()), types, strict=False) if kind in _SPECIAL)

    def _require_template(self) -> None:
        if not self._has_template:
            raise WeightsError(
                f"'{self._server.weights}' has no chat template.",
                remedy="Give the instruct version of the model, whose file has one.",
            )

    @cached_property
    def _has_template(self) -> bool:
        return bool(read_metadata(catalogue.path(self._server.weights), (_TEMPLATE,)).get(_TEMPLATE))

    def _shortened(self, text: str, size: int) -> str:
        tokens = self._server.tokens(text)
        head = max(size // 2 - 2, 0)
        tail = max(size - head - 4, 1)
        # a gap may join what a space had parted
        return self.plain(self._server.text(tokens[:head]) + GAP + self._server.text(tokens[-tail:]))


def _ends(text: str, size: int) -> str:
    return text if len(text) <= size else text[: size // 2] + GAP + text[-(size // 2) :]
