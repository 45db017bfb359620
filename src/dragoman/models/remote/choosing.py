"""Choices read off replies: from log-probabilities along a reply, from a JSON object, or by counting replies."""

from __future__ import annotations

import json
import math
import re
import string
from collections.abc import Mapping, Sequence
from typing import Any

from dragoman.core.values import Prompt
from dragoman.models.choice import normalise
from dragoman.models.remote.answers import AnswerToken

_LEAST = 0.01
"""Where the options together are less likely than this at a place, the reply does not answer there."""
_LONG = 24
_UNSTATED = 0.9
"""The probability of an answer whose confidence the model does not state."""
_QUOTES = " \t\n\r\"'*`([{“”‘’「《"
_THOUGHTS_ENDS = ("</think>", "</thinking>", "</thought>", "</reasoning>", "[/think]", "final<|message|>")
_WORD_END = re.compile(r"\W|_", re.ASCII)


def names_of(options: Sequence[str]) -> dict[str, str]:
    """Return the name that the model writes for each option: a short word itself, a letter for a sentence."""
    if all(len(option) <= _LONG and not re.search(r"\s", option.strip()) for option in options):
        return {option: option.strip() for option in options}
    letters = string.ascii_uppercase
    pairs = (f"{first}{second}" for first in letters for second in letters)
    return dict(zip(options, letters if len(options) <= len(letters) else pairs, strict=False))


def question(prompt: Prompt, names: Mapping[str, str]) -> Prompt:
    """The prompt with the options listed under their letters; unchanged where words are their own names."""
    if all(option.strip() == name for option, name in names.items()):
        return prompt
    listing = "\n".join(f"{name}: {' '.join(option.split())}" for option, name in names.items())
    return _extended(prompt, f"Options:\n{listing}\n\nReply with the letter of one option and nothing else.")


def json_question(prompt: Prompt, names: Mapping[str, str]) -> Prompt:
    """The prompt that asks for a JSON object with the answer and how sure the model is."""
    listed = ", ".join(f'"{name}"' for name in names.values())
    return _extended(
        question(prompt, names),
        f'Reply as JSON: "answer" is one of {listed}; "confidence" says how sure you are of it, in percent (0 to 100).',
    )


def _extended(prompt: Prompt, text: str) -> Prompt:
    from dataclasses import replace

    *before, last = prompt.messages
    return replace(prompt, messages=(*before, replace(last, content=f"{last.content}\n\n{text}")))


def json_schema(names: Mapping[str, str]) -> dict[str, Any]:
    """The schema of that object, in the subset that every vendor takes."""
    return {
        "type": "object",
        "properties": {
            "answer": {"type": "string", "enum": list(names.values())},
            "confidence": {"type": "integer", "description": "percent, 0 to 100"},
        },
        "required": ["answer", "confidence"],
        "additionalProperties": False,
    }


def by_json(text: str, names: Mapping[str, str]) -> dict[str, float] | None:
    """Probabilities from the JSON object; None where the text is no such object.

    The answer gets the confidence that the model states, never less than an equal share and never all.
    """
    try:
        value = json.loads(text.strip().removeprefix("```json").strip("`\n "))
    except (ValueError, RecursionError):
        return None
    answer = value.get("answer") if isinstance(value, dict) else None
    if not isinstance(answer, str | bool | int | float):
        return None
    key = str(answer).strip().casefold()
    option = next((option for option, name in names.items() if name.casefold() == key), None)
    if option is None:
        return None
    sure = value.get("confidence")
    stated = isinstance(sure, int | float) and not isinstance(sure, bool) and sure == sure  # noqa: PLR0124 - not nan
    share = min(max(min(sure, 100) / 100, 1.05 / len(names)), 0.99) if stated else _UNSTATED
    rest = (1.0 - share) / (len(names) - 1)
    return {other: share if other == option else rest for other in names}


def by_tokens(tokens: Sequence[AnswerToken], names: Mapping[str, str]) -> dict[str, float] | None:
    """Probabilities from the alternatives of each token; None where no option is to be found in the reply.

    Where several options share their beginning, the reply is followed to where they part. Alternatives off the path
    that was taken are shared equally among the options that they may become.
    """
    lowered = {option: name.casefold() for option, name in names.items()}
    start = _reply_start(tokens)
    best: dict[str, float] = {}
    for place in range(start, len(tokens)):
        if place > start and not _begins_here(tokens, place, lowered):
            continue
        walk = _OptionWalk(tokens, lowered)
        walk.follow(place, "", list(lowered), 1.0)
        shares = walk.shares
        if math.fsum(shares.values()) > math.fsum(best.values()):
            best = shares
        if math.fsum(best.values()) > 0.5:
            break
    if math.fsum(best.values()) < _LEAST:
        return None
    return normalise({option: math.log(share) if share > 0 else -math.inf for option, share in best.items()})


def _reply_start(tokens: Sequence[AnswerToken]) -> int:
    """The first token after inline thoughts."""
    text = "".join(token.text for token in tokens).lower()
    end = max(text.rfind(mark) + len(mark) if mark in text else 0 for mark in _THOUGHTS_ENDS)
    length = 0
    for place, token in enumerate(tokens):
        if length >= end:
            return place
        length += len(token.text.lower())
    return len(tokens) if end else 0


def _begins_here(tokens: Sequence[AnswerToken], place: int, lowered: Mapping[str, str]) -> bool:
    """Whether the reply writes an option from this token on, after the end of a word."""
    before = "".join(token.text for token in tokens[max(place - 2, 0) : place])
    text = "".join(token.text for token in tokens[place : place + 16])
    if before and not _WORD_END.match(before[-1]) and not text[:1].isspace():
        return False
    answer = text.lstrip(_QUOTES).casefold()
    return any(_matches(name, answer) for name in lowered.values())


class _OptionWalk:
    """Adds up the probability of each option along a reply."""

    def __init__(self, tokens: Sequence[AnswerToken], lowered: Mapping[str, str]) -> None:
        self._tokens = tokens
        self._lowered = lowered
        self.shares = dict.fromkeys(lowered, 0.0)

    def follow(self, place: int, prefix: str, options: list[str], weight: float) -> None:
        """Take the options from a token on, given what was written of them before."""
        whole = [option for option in options if self._lowered[option] == prefix]
        if place >= len(self._tokens):
            self._add(whole or options, weight)
            return
        token = self._tokens[place]
        alternatives = dict(token.alternatives)
        alternatives.setdefault(token.text, token.logprob)
        onward: tuple[str, list[str], float] | None = None
        used = 0.0
        for text, logprob in alternatives.items():
            answer = prefix + text.casefold() if prefix else text.lstrip(_QUOTES).casefold()
            chance = math.exp(min(logprob, 0.0))
            if not answer:  # a blank or a quotation mark before the answer
                if text == token.text and text:
                    onward = "", options, chance
                continue
            fitting = self._fitting(answer, options)
            if not fitting and not whole:
                continue
            used += chance
            if len(fitting) > 1 and text == token.text:
                onward = answer, fitting, chance
            else:
                self._add(fitting or whole, weight * chance)
        if onward is not None:
            self.follow(place + 1, onward[0], onward[1], weight * onward[2])
        elif whole and used < 1.0:
            self._add(whole, weight * (1.0 - used))

    def _fitting(self, answer: str, options: list[str]) -> list[str]:
        """The options that a text begins, else the longest one that it holds whole."""
        begun = [option for option in options if self._lowered[option].startswith(answer)]
        matches = [option for option in options if _matches(self._lowered[option], answer)]
        return begun or ([max(matches, key=lambda option: len(self._lowered[option]))] if matches else [])

    def _add(self, options: Sequence[str], weight: float) -> None:
        for option in options:
            self.shares[option] += weight / len(options)


def _matches(name: str, answer: str) -> bool:
    """Whether a text begins with a name, as a whole word or number."""
    if not answer.startswith(name):
        return False
    after = answer[len(name) :]
    if name[-1].isdigit() and re.match(r"[.,]?\d", after):
        return False
    return not after or not name[-1].isascii() or bool(_WORD_END.match(after)) or not after[0].isascii()


def by_counting(replies: Sequence[str], names: Mapping[str, str]) -> dict[str, float]:
    """The share of the replies that name each option first; half a reply is added to each, so none is impossible."""
    counts = dict.fromkeys(names, 0.5)
    for reply in replies:
        option = named_first(reply, names)
        if option is not None:
            counts[option] += 1.0
    return normalise({option: math.log(count) for option, count in counts.items()})


def named_first(reply: str, names: Mapping[str, str]) -> str | None:
    """The option that a reply begins with or, failing that, the first one that it names as a whole word."""
    text = reply.strip().lstrip(_QUOTES).casefold()
    lowered = {option: name.casefold() for option, name in names.items()}
    begun = [option for option, name in lowered.items() if _matches(name, text)]
    if begun:
        return max(begun, key=lambda option: len(lowered[option]))
    places = [
        (match.start(), -len(name), option)
        for option, name in lowered.items()
        if len(name) > 1 and (match := re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text))
    ]
    return min(places)[2] if places else None
