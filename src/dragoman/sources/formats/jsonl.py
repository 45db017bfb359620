"""JSON lines: one passage a line, with `text` and, where wanted, `id`, `title`, `parent` and `meta`."""

from __future__ import annotations

import json

from dragoman.core.errors import InputError
from dragoman.sources.document import LONGEST_ID, Document, DocumentBlock, Section, clean, humanise
from dragoman.sources.formats.encoding import decode

MOST_LISTED = 1000
"""Most bad lines that are named; the rest are only counted."""
_SHOWN = 5


def read(content: bytes, name: str) -> Document:
    """The document in a file of JSON objects; bad lines are reported and skipped."""
    blocks: list[DocumentBlock] = []
    failed: list[tuple[str, str]] = []
    lines: dict[str, int] = {}
    others = 0
    for number, line in enumerate(decode(content, name).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            block = record(line)
            if block.id is not None and lines.setdefault(block.id, number) != number:
                raise InputError(f"The id '{block.id}' is taken by line {lines[block.id]}.", remedy="Give another.")
            blocks.append(block)
        except InputError as error:
            if len(failed) < MOST_LISTED:
                failed.append((f"line {number}", str(error)))
            else:
                others += 1
    if failed and not blocks:
        reasons = "; ".join(f"{place}: {reason}" for place, reason in failed[:_SHOWN])
        raise InputError(f"'{name}' holds no usable line. {reasons}", remedy="")
    if others:
        failed.append(("other lines", f"{others:,} more cannot be used."))
    return Document(humanise(name), (Section(tuple(blocks)),) if blocks else (), failed=tuple(failed))


def record(line: str) -> DocumentBlock:
    """One line as a block."""
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"This is not JSON: {getattr(error, 'msg', 'it nests too deep')}.", remedy="Put one JSON object on a line."
        ) from error
    if not isinstance(fields, dict):
        raise InputError("This is no JSON object.", remedy='Write {"text": "..."}.')
    text = fields.get("text")
    if not isinstance(text, str) or not clean(text).strip():
        raise InputError("The field 'text' is missing, empty or no string.", remedy='Write {"text": "..."}.')
    return DocumentBlock(
        clean(text).strip(),
        "record",
        id=_id(fields, "id"),
        parent=_id(fields, "parent"),
        title=_name(fields, "title") or "",
        meta=_meta(fields.get("meta")),
    )


def _id(fields: dict[str, object], key: str) -> str | None:
    name = _name(fields, key)
    if name is not None and len(name) > LONGEST_ID:
        raise InputError(
            f"The field '{key}' has {len(name):,} characters; there may be {LONGEST_ID}.", remedy="Shorten it."
        )
    return name


def _name(fields: dict[str, object], key: str) -> str | None:
    value = fields.get(key)
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InputError(f"The field '{key}' is neither a string nor a whole number.", remedy="Make it a string.")
    return clean(str(value)).strip() or None


def _meta(value: object) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InputError("The field 'meta' is no JSON object.", remedy='Write {"key": "value"}.')
    return {clean(key): clean(item if isinstance(item, str) else json.dumps(item)) for key, item in value.items()}
