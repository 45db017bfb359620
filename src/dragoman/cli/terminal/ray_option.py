"""The `--ray` option: run the work on a Ray cluster instead of this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from dragoman.core.workers import Workers

Ray = Annotated[
    str | None,
    typer.Option(
        "--ray",
        metavar="ADDRESS",
        help="Run on a Ray cluster: host:6379 from one of its nodes, ray://host:10001 from elsewhere, "
        "local for all cores of this machine. Results are identical.",
        show_default=False,
    ),
]


@contextmanager
def workers(ray: str | None) -> Iterator[Workers | None]:
    """The workers of a command; None to work in this process."""
    if ray is None:
        yield None
        return
    from dragoman.cluster import ray_workers

    with ray_workers(ray) as pool:
        yield pool


def without_ray(words: list[str]) -> list[str]:
    """Remove `--ray` from a command line: results do not depend on it."""
    kept, skip = [], False
    for word in words:
        if not skip and word != "--ray" and not word.startswith("--ray="):
            kept.append(word)
        skip = word == "--ray" and not skip
    return kept
