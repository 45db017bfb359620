"""A program that is killed again and again while somebody talks and uploads, and checks itself at every start.

It forks a writer for each kill, so that a kill costs milliseconds. Whatever was acknowledged is appended to a file.
Run by `test_kills.py` with an agent's folder, a file for acknowledgements, the number of kills and a seed.
"""

from __future__ import annotations

import io
import json
import os
import random
import signal
import sys
import time
import traceback
from pathlib import Path

import dragoman
from dragoman.server.data import uploads
from dragoman.server.data.uploads import Upload
from dragoman.server.service import Service

FILES = 3
PARTS = 12


def content(name: str, version: int, parts: int) -> bytes:
    return "\n".join(f"## Part {i}\n\nVersion {version} of {name}, part {i}.\n" for i in range(parts)).encode()


def check(assistant, seat, acknowledged) -> None:
    """Every acknowledged turn, fact and upload is there; no file is mixed, unlisted or listed without its passages."""
    said = {turn.text for turn in assistant.history(user="ana", dialogue="d") if turn.speaker == "user"}
    facts = {fact.meta["value"] for fact in assistant.recall(user="ana")}
    turns = [entry["turn"] for entry in acknowledged if "turn" in entry]
    assert {f"I like Pal{i}." for i in turns} <= said, "a turn is lost"
    assert {f"Pal{i}" for i in turns} <= facts, "a fact is lost"
    source = seat.source("NOTES")
    listed = {file["name"]: file for file in uploads.files(seat, source)}
    root = uploads._root(seat, source)
    rows: dict[str, list[str]] = {}
    for row in assistant.store.passages(seat.scope, "NOTES"):
        rows.setdefault(row.origin, []).append(row.text)
    assert {origin.removeprefix("uploads/") for origin in rows} == set(listed), (
        "passages without a file, or a file without"
    )
    for name in listed:
        text = (root / "uploads" / name).read_text()
        expected = [line for line in text.splitlines() if line.startswith("Version")]
        assert sorted(rows[f"uploads/{name}"]) == sorted(expected), f"{name} is mixed"
    last: dict[str, tuple[str, int]] = {}
    for entry in acknowledged:
        if "file" in entry:
            last[entry["file"]] = (entry["action"], entry["version"])
    for name, (action, version) in last.items():
        if action == "put":  # an upload after it may be there too, whose answer was not heard
            assert name in listed or entry_after(acknowledged, name), f"{name} is lost"
            if name in listed:
                assert int(rows[f"uploads/{name}"][0].split()[1]) >= version, f"{name} is an older one"
    left = [path for path in root.rglob(".*") if path.name != ".place"]
    assert not left, f"left over: {[(path.name, sorted(each.name for each in path.rglob('*'))) for path in left]}"


def entry_after(acknowledged, name) -> bool:
    """Whether the removal of a file was begun after it was last acknowledged."""
    begun = [entry for entry in acknowledged if entry.get("begun") == name]
    return bool(begun)


def write(folder: Path, log: Path, seed: int, go: int) -> None:
    """Load the agent as a server does at its start, check everything, then talk and upload until killed."""
    chance = random.Random(seed)
    acknowledged = [json.loads(line) for line in log.read_text().splitlines() if line.endswith("}")]
    assistant = dragoman.load(folder)
    hosted = Service({"robin": (assistant, folder / ".dragoman")}).hosted("")
    seat = hosted.seat_of(assistant.tenant, "ana")
    uploads.recover(hosted.seat_of, hosted.state)
    check(assistant, seat, acknowledged)
    with log.open("a") as told:

        def tell(**entry) -> None:
            told.write(json.dumps(entry) + "\n")
            told.flush()
            os.write(go, b"!")

        for step in range(100_000):
            version = seed * 1000 + step
            name = f"f{chance.randrange(FILES)}.md"
            kind = chance.random()
            if kind < 0.3:
                assistant.ask(f"I like Pal{version}.", user="ana", dialogue="d")
                tell(turn=version)
            elif kind < 0.85:
                given = content(name, version, chance.randrange(1, PARTS))
                uploads.put(seat, seat.source("NOTES"), [Upload(name, io.BytesIO(given))])
                tell(file=name, action="put", version=version)
            elif (uploads._root(seat, seat.source("NOTES")) / "uploads" / name).exists():
                tell(begun=name)
                uploads.remove(seat, seat.source("NOTES"), name)
                tell(file=name, action="remove", version=version)


def rehearse(folder: Path, place: Path) -> None:
    """Import what a writer needs, so that each of them need not."""
    with dragoman.load(folder, state=place, overrides={"store.kind": "memory.v1"}) as assistant:
        seat = Service({"robin": (assistant, place)}).hosted("").seat_of(assistant.tenant, "ana")
        uploads.put(seat, seat.source("NOTES"), [Upload("a.md", io.BytesIO(content("a", 1, 2)))])
        assistant.ask("I like Pal0.", user="ana", dialogue="d")
        check(assistant, seat, [])
    import apsw  # noqa: F401
    import psycopg  # noqa: F401
    import psycopg_pool  # noqa: F401


def forked(function) -> int:
    """The process id of a child that runs a function and ends."""
    child = os.fork()
    if child == 0:
        try:
            function()
        except BaseException:  # noqa: BLE001 - a forked child must not return into its parent's code
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return child


def check_tables(url: str) -> None:
    """No row of a database holds the words, whatever table it is in."""
    import psycopg

    tables = (
        "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables"
        " WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
    )
    written = "anzibarra"
    with psycopg.connect(url) as connection:
        names = [name for (name,) in connection.execute(tables)]
        assert names, "no tables"
        for name in names:
            sql = f"SELECT count(*) FROM {name} AS held WHERE held::text ILIKE ANY (%s)"
            found = connection.execute(sql, [[f"%{written}%", f"%{written.encode().hex()}%"]]).fetchone()
            assert found == (0,), f"there is something in {name}"


def forget_again_and_again(folder: Path, log: Path, kills: int, seed: int, url: str) -> None:
    """Kill whoever forgets everything; asked again, it leaves no byte in a file, and no row where `url` is a store."""
    chance, seconds = random.Random(seed), 0.05

    def fill() -> None:
        with dragoman.load(folder) as assistant:
            seat = Service({"robin": (assistant, folder / ".dragoman")}).hosted("").seat_of(assistant.tenant, "ana")
            for name in ("a.md", "b.md"):
                given = f"# Trip\n\nThe Zanzibarra ferry {name}.\n".encode()
                uploads.put(seat, seat.source("NOTES"), [Upload(name, io.BytesIO(given))])
            assistant.ask("I live in Zanzibarra.", user="ana")

    def forget() -> None:
        with dragoman.load(folder) as assistant:
            os.write(go, b"!")
            assistant.forget(user="ana")
            os.write(go, b"!")

    for number in range(kills + 1):
        assert os.waitpid(forked(fill), 0)[1] == 0, "filling failed"
        if url and number == 0:
            assert os.waitpid(forked(lambda: check_tables(url)), 0)[1] != 0, "the check sees what is there"
        for is_killed in (number > 0, False):
            ready, go = os.pipe()
            child = forked(forget)
            os.read(ready, 1)
            began = time.monotonic()
            if is_killed:
                time.sleep(chance.uniform(0.0, seconds))
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
            else:
                assert os.waitpid(child, 0)[1] == 0, "forgetting failed"
                seconds = time.monotonic() - began if number == 0 else seconds
            os.close(ready)
            os.close(go)
        state = folder / ".dragoman"
        left = [path for path in state.rglob("*") if path.is_file() and b"anzibarra" in path.read_bytes()]
        assert not left, f"after {number} kills there is something in {left}"
        assert not url or os.waitpid(forked(lambda: check_tables(url)), 0)[1] == 0, f"after {number} kills"
        with log.open("a") as told:
            told.write("forgotten\n")
    sys.stdout.write(f"{kills}\n")


def start_writer(folder: Path, log: Path, seed: int) -> tuple[int, int]:
    """Fork a writer; returns its process id and a pipe with a byte for each acknowledgement."""
    ready, go = os.pipe()
    child = forked(lambda: write(folder, log, seed, go))
    os.close(go)
    return child, ready


def kill_writer(child: int, ready: int) -> None:
    os.kill(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.close(ready)
    assert status == -signal.SIGKILL, "the writer failed"


def main() -> None:
    if sys.argv[1] == "forget":
        folder, log = Path(sys.argv[2]), Path(sys.argv[3])
        rehearse(folder, log.with_name("rehearsal"))
        forget_again_and_again(folder, log, int(sys.argv[4]), 5, sys.argv[5])
        return
    folder, log, kills, seed = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    log.touch()
    rehearse(folder, log.with_name("rehearsal"))
    chance, start_seconds = random.Random(seed), 0.0
    for number in range(kills + 1):
        if chance.random() < 0.3:  # killed while it starts, before it acknowledges anything, as a rule
            child, ready = start_writer(folder, log, 2 * number)
            time.sleep(chance.uniform(0.0, start_seconds))
            kill_writer(child, ready)
        began = time.monotonic()
        child, ready = start_writer(folder, log, 2 * number + 1)
        if not os.read(ready, 1):
            os.waitpid(child, 0)
            sys.exit(f"after {number} kills")
        start_seconds = time.monotonic() - began
        time.sleep(chance.uniform(0.0, 0.05))
        kill_writer(child, ready)
    sys.stdout.write(f"{len(log.read_text().splitlines())}\n")


if __name__ == "__main__":
    main()
