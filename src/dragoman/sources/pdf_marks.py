"""Mark quoted words on a page of a PDF, as a highlighter would, in a process of its own with limits.

Where each piece of text stands is known; how wide it is, only about: widths are guessed from the size of the font.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.sources.limited_reading import ReadingLimits, environment, limit_process

LIMITS = ReadingLimits(seconds=30)
_HEADER = 1 << 20
_WIDTH, _WIDE = 0.5, 1.0
"""Width of a letter, and of a Chinese character, in sizes of the font."""
_COLOUR = "c9ece6"


@dataclass(frozen=True, slots=True)
class PlacedText:
    """A piece of text on a page: where its line begins, and the size of its letters, in points."""

    text: str
    x: float
    y: float
    size: float


def marked(content: bytes, page: int, quotes: Sequence[str], limits: ReadingLimits = LIMITS) -> bytes:
    """A PDF with the quotes marked on a page, counted from 1; as it was where that fails or takes too much."""
    header = {
        "page": page,
        "quotes": list(quotes),
        "memory": limits.memory_bytes,
        "output": limits.output_bytes,
        "seconds": limits.seconds,
    }
    with tempfile.TemporaryFile() as output:
        try:
            done = subprocess.run(
                [sys.executable, "-m", __name__],
                input=json.dumps(header).encode() + b"\n" + content,
                stdout=output,
                stderr=subprocess.DEVNULL,
                env=environment(),
                timeout=2 * limits.seconds + 10,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return content
        output.seek(0)
        made = output.read()
    return made if done.returncode == 0 and made.startswith(b"%PDF-") else content


def boxes(placed: Sequence[PlacedText], quote: str) -> list[tuple[float, float, float, float]]:
    """The rectangles (left, bottom, right, top) of a quote on a page; none where it is not there.

    Letters and digits alone are compared: a line may break, or a word be divided, anywhere.
    """
    letters = [(n, i) for n, piece in enumerate(placed) for i, one in enumerate(piece.text) if one.isalnum()]
    whole = "".join(placed[n].text[i] for n, i in letters).lower()
    wanted = "".join(one for one in quote if one.isalnum()).lower()
    start = whole.find(wanted) if wanted and len(whole) == len(letters) else -1
    if start < 0:
        return []
    ends: dict[int, tuple[int, int]] = {}
    for n, i in letters[start : start + len(wanted)]:
        ends[n] = (ends.get(n, (i, i))[0], i)
    made = []
    for n, (first, last) in ends.items():
        piece = placed[n]
        left = piece.x + _length(piece.text[:first], piece.size)
        right = left + _length(piece.text[first : last + 1], piece.size)
        made.append((left, piece.y - 0.25 * piece.size, right, piece.y + 0.85 * piece.size))
    return made


def _length(text: str, size: float) -> float:
    return size * sum(_WIDE if ord(one) > 0x2E7F else _WIDTH for one in text)


def _mark(content: bytes, page: int, quotes: Sequence[str]) -> bytes:
    """The marked PDF; runs in the process with limits."""
    from pypdf import PdfReader, PdfWriter
    from pypdf.annotations import Highlight
    from pypdf.generic import ArrayObject, FloatObject

    reader = PdfReader(io.BytesIO(content))
    if reader.is_encrypted:
        reader.decrypt("")
    placed: list[PlacedText] = []

    def visit(text: str, matrix: Any, line: Any, _: Any, size: float) -> None:
        if text.strip():
            x = line[4] * matrix[0] + line[5] * matrix[2] + matrix[4]
            y = line[4] * matrix[1] + line[5] * matrix[3] + matrix[5]
            scale = abs(line[3] * matrix[3]) or 1.0
            placed.append(PlacedText(text.strip("\n"), float(x), float(y), float(size) * float(scale)))

    reader.pages[page - 1].extract_text(visitor_text=visit)
    writer = PdfWriter(clone_from=reader)
    for quote in quotes:
        for left, bottom, right, top in boxes(placed, quote):
            corners = (left, top, right, top, left, bottom, right, bottom)
            points = ArrayObject([FloatObject(number) for number in corners])
            note = Highlight(rect=(left, bottom, right, top), quad_points=points, highlight_color=_COLOUR)
            writer.add_annotation(page - 1, note)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def main() -> None:
    """The marking process: a request on standard input, the PDF on standard output."""
    header = json.loads(sys.stdin.buffer.readline(_HEADER))
    limit_process(header)
    sys.stdout.buffer.write(_mark(sys.stdin.buffer.read(), header["page"], header["quotes"]))
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
