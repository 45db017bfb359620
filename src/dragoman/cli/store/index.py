"""`dragoman store index`: state of the search index of each shared source, and its rebuild."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.store.options import AsJson, Schema, Store
from dragoman.cli.terminal.messages import tell
from dragoman.cli.terminal.progress import progress_bars

if TYPE_CHECKING:
    from dragoman.cli.terminal.progress import Bars
    from dragoman.core.values import Scope
    from dragoman.stores.index.index_manager import IndexState
    from dragoman.stores.sql_store import TableStore

_FOLDER = "Folder of the word index of shared sources on PostgreSQL: `index_folder`, or `index` in the agent's state."


def add_to(app: typer.Typer) -> None:
    """Register the command with `dragoman store`."""
    app.command()(index)


def index(
    *,
    store: Store,
    source: Annotated[str, typer.Option("--source", metavar="NAME", help="Only this source.")] = "",
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Rebuild the index; searches continue meanwhile.")] = False,
    index_folder: Annotated[Path | None, typer.Option(metavar="FOLDER", help=_FOLDER, show_default=False)] = None,
    schema: Schema = "dragoman",
    as_json: AsJson = False,
) -> None:
    """Show the state of each shared source's search index, or rebuild it with --rebuild.

    The store may be in use: searches use the old index until the new one is ready. Small sources have no index. The
    store itself is not changed. Damage is reported, and the exit code is 1.
    """
    from dragoman.core.errors import InputError
    from dragoman.stores.locate import file_of, opened

    served = file_of(store) is None
    if served and index_folder is None:
        raise InputError(
            "Beside a PostgreSQL the words of shared sources are indexed on each machine.",
            remedy="Give the folder with --index-folder.",
        )
    with opened(store, schema=schema, present=True, index_folder=index_folder, index_above=0) as opened_store:
        states = _states(opened_store, source)
        if rebuild:
            with progress_bars() as bars:
                for scope, state in states:
                    _rebuild(opened_store, scope, state, bars)
            states = _states(opened_store, source)
        where = opened_store.where
    _report("rebuilt" if rebuild else "looked at", where, states, served=served, as_json=as_json)
    if any(state.problems for _, state in states):
        raise typer.Exit(1)


def _states(store: TableStore, source: str) -> list[tuple[Scope, IndexState]]:
    from dragoman.core.errors import UnknownNameError
    from dragoman.core.values import SHARED_USER

    shared = [scope for scope in store.scopes() if scope.user == SHARED_USER]
    all_states = [(scope, state) for scope in shared for state in store.check_index(scope)]
    if not source:
        return all_states
    selected = [(scope, state) for scope, state in all_states if state.source == source]
    if not selected:
        raise UnknownNameError("shared source", source, {state.source for _, state in all_states})
    return selected


def _rebuild(store: TableStore, scope: Scope, state: IndexState, bars: Bars) -> None:
    """Rebuild the existing index, or the one that a search would build with the default threshold."""
    from dragoman.stores.sql_store import INDEX_ABOVE

    if state.is_indexed or state.rows > INDEX_ABOVE:
        store.rebuild_index(
            scope,
            state.source,
            progress=lambda kind, done, total: bars.show(f"{state.source}, {kind}", done, total, "shards"),
        )


def _report(what: str, where: str, states: Sequence[tuple[Scope, IndexState]], *, served: bool, as_json: bool) -> None:
    from dataclasses import asdict

    if as_json:
        sources = [{"tenant": scope.tenant, **asdict(state)} for scope, state in states]
        typer.echo(json.dumps({"state": what, "where": where, "sources": sources}, ensure_ascii=False))
        return
    typer.echo(f"{what.capitalize()}: {where}")
    for scope, state in states:
        words = _status("words", state.words_current, state.word_shards)
        vectors = _status("vectors", state.vectors_current, state.vector_shards)
        vectors = "vectors searched by the server" if served else vectors
        typer.echo(f"{state.source} of {scope.tenant}: {state.rows:,} rows; {words}; {vectors}")
        for problem in state.problems:
            tell(f"Problem: {state.source} of {scope.tenant}: {problem}")
    if not states:
        typer.echo("It has no shared source.")


def _status(kind: str, current: bool | None, shards: int) -> str:
    """State of an index in words: no files, complete, or rows to be added by the next search."""
    if current is None:
        return f"{kind} not indexed"
    return f"{kind} {'current' if current else 'behind'}, {shards} shard{'' if shards == 1 else 's'}"
