"""Files of a run folder besides the rows: manifests of all stored rows, and the result in every format."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from dragoman.core.codec import Json
from dragoman.core.errors import InputError
from dragoman.evaluate.results import Result
from dragoman.evaluate.running.manifest import refuse_other
from dragoman.evaluate.running.run_folder import MANIFEST, RunFolder
from dragoman.evaluate.running.timings import join_timings, split_repeatable
from dragoman.evaluate.show.tables import csv_text, markdown, result_json, result_of

RESULTS, TIMES, MARKDOWN, CSV, PAGE = "results.json", "times.json", "results.md", "results.csv", "report.html"
_KEPT, _MADE = "kept.json", "made.json"


def load_run(folder: str | Path) -> Result:
    """The result of a finished run, with timings."""
    run = RunFolder(folder)
    text = run.read(RESULTS) if run.path.is_dir() else None
    if text is None:
        raise _no_result(run)
    result = result_of(text, str(run.path / RESULTS))
    times = run.read(TIMES)
    if times is None:
        return result
    described = cast(Mapping[str, Any], result.manifest.get("experiment") or {})
    order = [str(column["title"]) for column in described.get("columns", ())]
    return join_timings(result, replace(result_of(times, str(run.path / TIMES)), manifest=result.manifest), order)


def claim(folder: RunFolder, manifest: Mapping[str, Json], *, fresh: bool) -> None:
    """Begin or resume a run in a folder; refuse one whose rows were made with other settings."""
    if fresh:
        folder.drop()
        folder.discard(_KEPT, RESULTS, TIMES, MARKDOWN, CSV, PAGE)
    before = _earlier(folder) if not fresh else None
    if before is not None:
        refuse_other(before, manifest, folder.path)
    folder.write(_KEPT, _dump(_contents(before, manifest)))
    write_manifest(folder, manifest)
    folder.write(_MADE, _dump({"began": _now()}))


def write_manifest(folder: RunFolder, manifest: Mapping[str, Json]) -> None:
    folder.write(MANIFEST, _dump(manifest))


def write_result(folder: RunFolder, result: Result) -> None:
    """Write the tables in every format, with timings in files of their own."""
    from dragoman.evaluate.show.report import page

    repeatable, times = split_repeatable(result)
    folder.write(RESULTS, result_json(repeatable))
    folder.write(TIMES, result_json(replace(times, manifest={})))
    folder.write(MARKDOWN, markdown(result))
    folder.write(CSV, csv_text(result))
    folder.write(PAGE, page([result]))
    folder.write(_MADE, _dump({**json.loads(folder.read(_MADE) or "{}"), "ended": _now()}))


def _no_result(run: RunFolder) -> InputError:
    if not run.path.is_dir():
        what = f"'{run.path}' is a file." if run.path.exists() else f"There is no folder '{run.path}'."
        return InputError(what, remedy="Give the folder of a run of `dragoman evaluate`.")
    what = f"There is no {RESULTS} in '{run.path}'."
    if (run.path / MANIFEST).exists():
        return InputError(what, remedy="The run was not finished. Give its command again: it goes on.")
    inside = ", ".join(str(file.parent) for file in sorted(run.path.glob(f"*/{RESULTS}")))
    return InputError(what, remedy=f"Give the folder of a run{': ' if inside else ''}{inside}.")


def _earlier(folder: RunFolder) -> dict[str, Json] | None:
    """The manifest of the earlier run here, extended by every set and system with rows in the folder."""
    text = folder.read(MANIFEST)
    if text is None:
        return None
    try:
        manifest, kept = json.loads(text), json.loads(folder.read(_KEPT) or "{}")
        described = manifest["experiment"]
        # Kept entries override: for a row that the last run left out, they have the settings with which it ran.
        described["systems"] = list({**_by_name(described["systems"]), **kept.get("systems", {})}.values())
        described["data"] = list({**kept.get("sets", {}), **_by_name(described["data"])}.values())
        manifest["data"] = {**kept.get("files", {}), **manifest["data"]}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"'{folder.path / MANIFEST}' is not the manifest of a run: {error!r}.",
            remedy="Give --fresh to begin anew, or another folder with --out.",
        ) from error
    return cast(dict[str, Json], manifest)


def _contents(before: Mapping[str, Json] | None, manifest: Mapping[str, Json]) -> dict[str, Json]:
    """The sets and systems with rows in the folder, including those that this run leaves out."""
    contents: dict[str, Any] = {"systems": {}, "sets": {}, "files": {}}
    for one in (before, manifest):
        if one is not None:
            described = cast(Mapping[str, Any], one["experiment"])
            contents["systems"] |= {
                name: entry for name, entry in _by_name(described["systems"]).items() if not entry.get("missing")
            }
            contents["sets"] |= _by_name(described["data"])
            contents["files"] |= cast(dict[str, Json], one["data"])
    return contents


def _by_name(entries: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    return {str(entry["name"]): entry for entry in entries}


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
