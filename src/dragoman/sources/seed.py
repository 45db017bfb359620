"""Facts about users that ship with an agent: stored once, and not again after the user deletes them."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.core.errors import InputError
from dragoman.core.protocols import passage_vectors
from dragoman.core.values import Passage, Scope, Source
from dragoman.sources.files import leads_out, load
from dragoman.sources.formats.encoding import decode
from dragoman.sources.formats.markdown import front_matter
from dragoman.text import lazy_re as re

if TYPE_CHECKING:
    from dragoman.core.protocols import Encoder, Store

log = logging.getLogger("dragoman.sources")
ORIGIN = "seed"
_BULLET = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_MARK = re.compile(r"(?<!\s)\s*+\{#([^\s{}#]+)\}\s*$")


def seed(
    store: Store,
    encoder: Encoder,
    source: Source,
    folder: Path,
    tenant: str,
    *,
    remember: Callable[[Scope, str], object] | None = None,
) -> int:
    """Store the facts in `folder/NAME.md` for each user `NAME`, once; return the number of facts stored.

    With `remember`, the agent's memory stores each fact as if the user had said it. Links that lead out of the folder
    are skipped.
    """
    if not source.private:
        raise InputError(f"The source '{source.name}' is shared.", remedy="Only a private source is seeded by user.")
    if not folder.is_dir():
        raise InputError(f"There is no folder '{folder}'.", remedy="Make it, with a file NAME.md for each user.")
    stored = 0
    for path in sorted(folder.glob("*.md")):
        user = path.stem
        if user.startswith("."):
            continue
        if leads_out(path, folder):
            log.warning("skipped %s: It is a link that leads out of the folder.", path)
            continue
        scope = Scope(tenant, user)
        # The key holds a hash of the name, so that it does not reveal a user whose data is deleted.
        key = f"seed:{source.name}:{hashlib.sha256(f'{source.name}/{user}'.encode()).hexdigest()[:32]}"
        if store.kept(scope.shared, key) is not None:
            continue
        texts = facts(decode(load(path), path.name))
        if remember is not None:
            for text in texts:
                remember(scope, _MARK.sub("", text))
        elif texts:
            passages = _passages(source, user, texts)
            rows = [passage.indexed for passage in passages]
            store.put(scope, passages, passage_vectors(encoder, rows, about=source.about))
        stored += len(texts)
        store.keep(scope.shared, key, "given")
    return stored


def facts(text: str) -> tuple[str, ...]:
    """The facts in a text: its list items and lines, without headings; an indented line continues the one before."""
    lines: list[str] = []
    _, body = front_matter(text)
    for line in body.split("\n"):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        bullet = _BULLET.match(line)
        if bullet is None and line[0].isspace() and lines:
            lines[-1] += f" {line.strip()}"
        else:
            lines.append(line[bullet.end() if bullet else 0 :].strip())
    return tuple(dict.fromkeys(fact for fact in lines if fact))


def _passages(source: Source, user: str, texts: tuple[str, ...]) -> list[Passage]:
    passages = []
    for position, text in enumerate(texts):
        mark = _MARK.search(text)
        digest = hashlib.sha256(f"{source.name}\x1f{user}\x1f{text}".encode()).hexdigest()[:20]
        plain = text[: mark.start()] if mark else text
        passages.append(
            Passage(mark.group(1) if mark else digest, source.name, plain, position=position, origin=ORIGIN)
        )
    return passages
