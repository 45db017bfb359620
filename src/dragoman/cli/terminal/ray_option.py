"""`--ray`: the workers of a cluster for a command, or, without it, this process."""

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
        help="Let a Ray cluster do the work: host:6379 on one of its nodes, ray://host:10001 from elsewhere, local for "
        "all cores of this machine. The results are the same.",
        show_default=False,
    ),
]


@contextmanager
def workers(ray: str | None) -> Iterator[Workers | None]:
    """The workers that a command was given; None where it is to do the work itself."""
    if ray is None:
        yield None
        return
    from dragoman.cluster import ray_workers

    with ray_workers(ray) as found:
        yield found


def without_ray(words: list[str]) -> list[str]:
    """A command line without `--ray`: who did the work is not part of what was made."""
    kept, skip = [], False
    for word in words:
        if not skip and word != "--ray" and not word.startswith("--ray="):
            kept.append(word)
        skip = word == "--ray" and not skip
    return kept
