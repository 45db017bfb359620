"""Copy one store into another, in batches that can be resumed, and compare them record by record at the end.

A running copy keeps a mark in its target, and in each scope a note of its position, written with each batch. A repeated
call resumes there; the mark and the notes are deleted after both stores were compared.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from dragoman.core.errors import InputError, StoreError
from dragoman.core.values import Scope
from dragoman.stores.transfer.portable import START, Portable, Position, RecordSource, Summary, summary_of, total
from dragoman.stores.transfer.table_records import NOTE

if TYPE_CHECKING:
    from collections.abc import Sequence

Progress: TypeAlias = Callable[[str, int, int], None]
"""Callback with the current step, the scopes done, and the scopes in all."""

MARK = Scope("dragoman:copy", "dragoman:copy")
_BATCH = 500
_COPYING, _COMPARED = "copying", "compared"


@dataclass(frozen=True, slots=True)
class Copied:
    """Result of a copy: records copied, whether it resumed an earlier copy, and a summary of the target."""

    records: int
    resumed: bool
    summary: Summary


def unfinished(store: Portable) -> str | None:
    """The name of the store whose copy into this one was not finished, if any."""
    mark = store.kept(MARK, NOTE)
    return None if mark is None else str(json.loads(mark)["from"])


def copy_store(
    source: RecordSource,
    target: Portable,
    *,
    identity: str,
    again: bool = False,
    progress: Progress = lambda what, done, of: None,
) -> Copied:
    """Copy everything into an empty store, or resume a copy of the same source (`identity`); then compare.

    Scopes that differ are an error, since either side may have been written to; with `again` the target's are dropped
    and copied anew.
    """
    mark = target.kept(MARK, NOTE)
    _check_target(target, identity, mark)
    state = _COPYING if mark is None else str(json.loads(mark)["state"])
    if mark is None:
        _set_mark(target, identity, _COPYING)
    scopes = [scope for scope in source.scopes() if scope != MARK]
    records, summaries = 0, {}
    if state != _COMPARED:
        for done, scope in enumerate(scopes):
            progress("Copying", done, len(scopes))
            records += _copy_scope(source, target, scope)
        summaries = _compare(source, target, scopes, again, progress)
        _set_mark(target, identity, _COMPARED)
    for scope in target.scopes():
        if scope != MARK:
            target.drop_note(scope, NOTE)
            if scope not in summaries:  # compared by an earlier run
                summaries[scope] = summary_of(target, scope)
    target.forget(MARK)
    return Copied(records, mark is not None, total(summaries))


def _check_target(target: Portable, identity: str, mark: str | None) -> None:
    if mark is not None:
        if (begun := json.loads(mark)["from"]) != identity:
            raise InputError(
                f"{target.where} holds half a copy of another store ({begun}).",
                remedy="Finish that copy first, or give an empty target.",
            )
        return
    if any(True for scope in target.scopes() for _ in islice(target.records(scope), 1)):
        raise InputError(
            f"{target.where} is not empty. Nothing was copied.",
            remedy="Give a target that is empty or does not exist yet.",
        )


def _set_mark(target: Portable, identity: str, state: str) -> None:
    target.receive(MARK, (), {NOTE: json.dumps({"from": identity, "state": state})})


def _copy_scope(source: RecordSource, target: Portable, scope: Scope) -> int:
    note = target.kept(scope, NOTE)
    records, count = source.records(scope, Position(*json.loads(note)) if note else START), 0
    while batch := list(islice(records, _BATCH)):
        position = batch[-1][1]
        target.receive(scope, [record for record, _ in batch], {NOTE: json.dumps(position)})
        count += len(batch)
    return count


def _compare(
    source: RecordSource, target: Portable, scopes: Sequence[Scope], again: bool, progress: Progress
) -> dict[Scope, Summary]:
    """A summary of the target, after every scope is compared with the source by counts and digest."""
    summaries: dict[Scope, Summary] = {}
    differing = 0
    source_scopes = set(scopes)
    every = [*scopes, *(scope for scope in target.scopes() if scope != MARK and scope not in source_scopes)]
    for done, scope in enumerate(every):
        progress("Comparing", done, len(every))
        summaries[scope], wanted = summary_of(target, scope), summary_of(source, scope)
        if summaries[scope] != wanted and again:
            target.forget(scope)
            _copy_scope(source, target, scope)
            summaries[scope], wanted = summary_of(target, scope), summary_of(source, scope)
        differing += summaries[scope] != wanted
    if differing:
        raise StoreError(
            f"{differing} of {len(every)} scopes differ: something was written to one of the stores meanwhile.",
            remedy="Stop whatever writes, and repeat the command with --again: it drops those scopes from the target "
            "and copies them anew.",
        )
    return summaries
