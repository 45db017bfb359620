"""Read the elements of a JSON list one by one, so that a file of any size needs the memory of one element."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TextIO

from dragoman.core.codec import Json
from dragoman.core.errors import InputError

_CHUNK = 1 << 20
_LARGEST = 1 << 26
"""Characters of one element; a file that is one object counts as one."""
_BETWEEN = re.compile(r"[\s,\ufeff]*+")


def json_elements(stream: TextIO) -> Iterator[Json]:
    """The elements of a list; the whole value where it is no list, or each of several values."""
    return _Elements(stream).read()


class _Elements:
    """The values of a stream; `buffer` is what was read of it, `place` how much of that is done."""

    def __init__(self, stream: TextIO) -> None:
        self.stream, self.buffer, self.place, self.number = stream, "", 0, 0
        self.decoder = json.JSONDecoder()

    def read(self) -> Iterator[Json]:
        first = self._next()
        is_list = first == "["
        self.place += is_list
        while (char := self._next()) and not (is_list and char == "]"):
            self.number += 1
            yield self._value()
        if is_list and not char:
            raise InputError("The file ends in the middle of its list.", remedy="Export it anew.", element=self.number)

    def _next(self) -> str:
        """The first character of the next value; "" at the end of the file."""
        while True:
            match = _BETWEEN.match(self.buffer, self.place)
            self.place = match.end() if match else self.place
            if self.place < len(self.buffer):
                return self.buffer[self.place]
            if not self._more():
                return ""

    def _value(self) -> Json:
        """The value at the place; reads on while it is not whole."""
        while True:
            try:
                value, end = self.decoder.raw_decode(self.buffer, self.place)
            except (ValueError, RecursionError) as error:  # also numbers of more digits than Python reads
                if len(self.buffer) - self.place > _LARGEST or not self._more():
                    raise InputError(
                        f"Element {self.number} is no JSON, or is larger than {_LARGEST >> 20} million characters.",
                        remedy="Give the file as it was exported.",
                        element=self.number,
                    ) from error
                continue
            if end == len(self.buffer) and not isinstance(value, dict | list) and self._more():
                continue  # a number may go on
            self.place = end
            whole: Json = value
            return whole

    def _more(self) -> bool:
        rest = self.buffer[self.place :]
        text = self.stream.read(max(_CHUNK, len(rest)))
        self.buffer, self.place = rest + text, 0
        return bool(text)
