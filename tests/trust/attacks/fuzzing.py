"""What is fuzzed: a target takes any bytes, and must end well or with an error of ours; anything else is a finding.

`test_fuzzing.py` feeds the targets with hypothesis. Where atheris is installed (`make fuzz`) coverage guides it:

    python -m tests.trust.attacks.fuzzing formats -max_total_time=60
"""

from __future__ import annotations

import asyncio
import gzip
import importlib
import json
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from dragoman.core.errors import DragomanError

ROOT = Path(__file__).parents[3]
SUFFIXES = (".txt", ".md", ".html", ".pdf", ".csv", ".jsonl")
SECRET = "Quorvax"
WORDS = {
    "formats": '# ¦\n\n¦- ¦{#a}¦|---|¦```¦---\n¦<table>¦<li>¦<!--¦&#x0;¦","¦{"text":¦%PDF-1.4\n¦stream\n¦ 0 R¦/Kids'
    "¦/Parent¦endobj¦\x00¦我。¦\ud7ff¦startxref",
    "config": "=¦[¦]¦[[¦{¦}¦'''¦\"\"\"¦\n¦.¦nan¦-1¦1e999¦true¦kind¦name¦sources¦needs¦env:¦\\u0000¦1979-05-27¦[]"
    "¦systems¦columns¦part¦@¦train",
    "grammar": "\x00¦\x01¦\x02¦\x03¦\x04¦\x05¦\x06¦\x10¦\x11¦\x12¦\xff¦[EOS]¦[EOE]",
    "records": '{"scope": ["a", "b"]}¦\n¦{"end": ¦{"whole": {}}¦[]¦null¦{"passage": [¦1¦1e999¦\\ud800',
    "http": '/v1/turns¦/v1/memory¦/v1/dialogues/d¦/v1/chat/completions¦/mcp¦\n¦?agent=¦%00¦../¦{"text": "hi"}¦ana'
    "¦authorization: Bearer ¦x-dragoman-user: ana¦content-length: 9¦\r\n¦[[[[",
}


def formats(content: bytes) -> None:
    """A file of every kind becomes passages, or is refused."""
    from dragoman.sources.files import parse
    from dragoman.sources.passages import cut

    for suffix in SUFFIXES:
        name = f"a{suffix}"
        _held(lambda name=name: cut(parse(content, name), "S", name))


def agents(content: bytes) -> None:
    from dragoman.config import load_config

    _held(lambda: load_config(_file("agent.toml", content)))


def experiments(content: bytes) -> None:
    from dragoman.evaluate.spec import load_experiment

    _file("data.toml", (ROOT / "experiments" / "data.toml").read_bytes())
    _held(lambda: load_experiment(_file("experiment.toml", content)))


def recipes(content: bytes) -> None:
    """What is read is written down so that it is read the same."""
    from dragoman.train.recipe import load_recipe, toml_of

    recipe = _held(lambda: load_recipe(_file("recipe.toml", content)))
    if recipe is not None:
        assert toml_of(load_recipe(_file("again.toml", toml_of(recipe).encode()))) == toml_of(recipe)


def conversations(content: bytes) -> None:
    from dragoman.agent.check import read_conversations

    _held(lambda: read_conversations(_file("conversations.toml", content)))


def grammar(content: bytes) -> None:
    """Pieces in any order are refused, or mean one thing; a text that spells a token stays text."""
    from dragoman.core.tokens import Grammar

    for style in ("unims", "safari"):
        known = Grammar(("A", "EOS"), style)
        tokens = known.tokens
        pieces = [
            tokens[byte % len(tokens)] if byte < 0x80 else content[at : at + byte - 0x7F].decode("utf-8", "replace")
            for at, byte in enumerate(content[:64])
        ]
        written = _held(lambda pieces=pieces, known=known: known.parse(pieces))
        if written is not None:
            assert list(known.format(written)) == pieces


def records(content: bytes) -> None:
    """The file of a backup: whole, or refused before anything of it is used."""
    from dragoman.stores.transfer.record_file import RecordFile

    file = RecordFile(_file("records.jsonl.gz", gzip.compress(content, 1)))
    _held(file.check)
    _held(lambda: [list(file.records(scope)) for scope in file.scopes()])


def labelled(content: bytes) -> None:
    """People's own labelled turns: examples, or problems with their lines."""
    from dragoman.datasets.loaders.jsonl import Jsonl

    _held(lambda: list(Jsonl(file=_file("turns.jsonl", content)).examples()))


def http(content: bytes) -> None:
    """Lines are method, path and headers, then a body: never a failure of ours, never another's words."""
    street().ask(content)


TARGETS: dict[str, Callable[[bytes], None]] = {
    target.__name__: target
    for target in (formats, agents, experiments, recipes, conversations, grammar, records, labelled, http)
}
"""By name; every one may be called any number of times."""
IMPORTED = {
    "formats": [f"dragoman.sources.formats.{name}" for name in ("text", "markdown", "html", "pdf", "csv", "jsonl")],
    "agents": ["dragoman.config"],
    "experiments": ["dragoman.evaluate.spec"],
    "recipes": ["dragoman.train.recipe"],
    "conversations": ["dragoman.agent.check"],
    "grammar": ["dragoman.core.tokens"],
    "records": ["dragoman.stores.transfer.record_file"],
    "labelled": ["dragoman.datasets.loaders.jsonl"],
    "http": ["dragoman.server.http.app"],
}
"""What coverage is taken of."""


def words_of(target: str) -> list[bytes]:
    """Pieces that are worth trying."""
    kind = {"agents": "config", "experiments": "config", "recipes": "config", "conversations": "config"}
    kind |= {"labelled": "records"}
    return [word.encode("utf-8", "surrogatepass") for word in WORDS[kind.get(target, target)].split("¦")]


@cache
def seeds_of(target: str) -> list[bytes]:
    """Good inputs to begin from."""
    source = ROOT / "src" / "dragoman"
    found: dict[str, list[Path]] = {
        "agents": sorted(source.glob("sample/*/agent.toml")),
        "experiments": sorted((ROOT / "experiments").glob("*-4.toml")),
        "recipes": sorted(source.glob("train/recipes/*.toml"))[:6],
        "conversations": sorted(source.glob("sample/*/conversations.toml"))[:2],
        "formats": [ROOT / "docs" / "concepts.md", *sorted(source.glob("sample/*/documents/*"))[:4]],
    }
    own = {
        "formats": [_pdf(), b"a,b\n1,2\n", b"<h1>T</h1><p>x</p>", b'{"text": "x", "id": "a"}\n'],
        "grammar": [bytes([0, 17, 1, 2, 17, 0x81, 3, 10, 0x81]), bytes([0, 6, 1, 2, 6, 0x81, 4, 0x81])],
        "records": [_records()],
        "labelled": [b'{"dialogue": "a", "context": [{"speaker": "user", "text": "hi"}], "reply": "ho"}\n'],
        "http": [
            b'POST\n/v1/turns\ncontent-type: application/json\n\n{"text": "hi", "dialogue": "d"}',
            b"GET\n/v1/memory/export\nx-dragoman-user: ana\n\n",
            b'POST\n/v1/chat/completions\ncontent-type: application/json\n\n{"model": "robin", "messages": []}',
            b"POST\n/v1/sources/NOTES/files\ncontent-type: multipart/form-data; boundary=b\n\n--b\r\nx\r\n\r\ny\r\n--b",
            b'POST\n/mcp\naccept: application/json\n\n{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}',
        ],
    }
    return [*(path.read_bytes() for path in found.get(target, ()) if path.is_file()), *own.get(target, ())]


@cache
def _pdf() -> bytes:
    import io

    from pypdf import PdfWriter

    writer, written = PdfWriter(), io.BytesIO()
    writer.add_blank_page(72, 72)
    writer.write(written)
    return written.getvalue()


def _records() -> bytes:
    """What a backup of a small store holds."""
    from dragoman.core.values import Passage, Scope, Turn
    from dragoman.stores import SqliteStore
    from dragoman.stores.in_memory import words
    from dragoman.stores.transfer.record_file import write_file
    from dragoman.stores.transfer.table_records import TableRecords

    store = SqliteStore(path=_place() / "seed.db", analyse=words)
    store.put(Scope("a", "b"), [Passage("p", "NOTES", "hi")])
    store.append(Scope("a", "b"), "d", [Turn("user", "hi"), Turn("agent", "ho")], {"t": 1})
    store.keep(Scope("a", ""), "k", "v")
    write_file(_place() / "seed.gz", TableRecords(store.engine), identity="i")
    store.close()
    return gzip.decompress((_place() / "seed.gz").read_bytes())


@cache
def _place() -> Path:
    kept = tempfile.TemporaryDirectory(prefix="dragoman-fuzz-")
    _KEPT.append(kept)
    return Path(kept.name)


_KEPT: list[object] = []


def _file(name: str, content: bytes) -> Path:
    path = _place() / name
    path.write_bytes(content)
    return path


def _held(call: Callable[[], object]) -> object:
    """The result of a call, None where it was refused in words; everything else is a finding and goes through."""
    try:
        return call()
    except DragomanError as error:
        assert str(error)
        return None


class Street:
    """The server's application, asked in this process: ana has told a secret, and ben and strangers ask."""

    def __init__(self, folder: Path) -> None:
        import httpx

        import dragoman
        from dragoman.server.access.keys import create
        from dragoman.server.access.sqlite_ledger import SqliteLedger
        from dragoman.server.http.app import make_app, with_request_limits
        from dragoman.server.service import Service, ServiceSettings

        from ...server.conftest import AGENT

        (folder / "robin" / "documents").mkdir(parents=True)
        (folder / "robin" / "agent.toml").write_text(AGENT, encoding="utf-8")
        (folder / "robin" / "documents" / "prices.md").write_text("# Prices\n\nA day ticket costs 6 francs.\n")
        assistant = dragoman.load(folder / "robin", state=folder / "state")
        ledger = SqliteLedger(folder / "server.db")
        _, ana = create(ledger, "ana's", user="ana")
        _, ben = create(ledger, "ben's", tenant="other", user="ben")
        service = Service({"robin": (assistant, folder / "state")}, ledger=ledger, settings=ServiceSettings())
        app = make_app(service, warm=False)
        self._keys = (ben, "", "nonsense", "é")
        self._loop = asyncio.new_event_loop()
        self._life = app.router.lifespan_context(app)
        self._loop.run_until_complete(self._life.__aenter__())
        transport = httpx.ASGITransport(app=with_request_limits(app, service), raise_app_exceptions=True)
        self._client = httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=30)
        self._close = (assistant.close, ledger.close)
        for text in (f"My dog is called {SECRET}.", f"I live in {SECRET}."):
            headers = [(b"authorization", f"Bearer {ana}".encode()), (b"content-type", b"application/json")]
            told = self._sent("POST", "/v1/turns", headers, json.dumps({"text": text, "dialogue": "d"}).encode())
            assert told.status_code == 200, told.text
        assert SECRET in self._sent("GET", "/v1/memory", headers, b"").text, "there is something to find"

    def ask(self, content: bytes) -> None:
        head, _, body = content.partition(b"\n\n")
        method, path, *lines = [*head.split(b"\n"), b"", b""]
        key = self._keys[sum(content[:8]) % len(self._keys)]
        headers = [(b"authorization", b"Bearer " + key.encode())] if key else []
        headers += [
            (name.strip(), value.strip()) for name, mark, value in (line.partition(b":") for line in lines) if mark
        ]
        headers = [pair for pair in headers if _token(pair[0]) and pair[1].isascii() and pair[1].decode().isprintable()]
        verb = method.decode("latin-1").strip().upper()
        answer = self._sent(verb if verb.isalpha() and verb.isascii() else "POST", path, headers, body)
        shown = f"{answer.text}\n{answer.headers}".casefold()
        assert SECRET.casefold() not in shown, "another's words"
        assert answer.status_code < 500, (answer.status_code, answer.text)
        assert answer.status_code < 400 or "traceback" not in shown

    def _sent(self, method: str, path: object, headers: list[tuple[bytes, bytes]], body: bytes):
        import httpx

        where = path if isinstance(path, str) else "/" + path.decode("latin-1").lstrip("/")
        try:
            request = self._client.build_request(method, where, headers=headers, content=body)
        except (httpx.InvalidURL, UnicodeError, ValueError):
            request = self._client.build_request("POST", "/v1/turns", headers=headers, content=body)
        return self._loop.run_until_complete(self._client.send(request))

    def close(self) -> None:
        self._loop.run_until_complete(self._client.aclose())
        self._loop.run_until_complete(self._life.__aexit__(None, None, None))
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()
        for close in self._close:
            close()


def _token(name: bytes) -> bool:
    """Whether a name can be a header's at all; HTTP servers refuse others before us."""
    return bool(name) and name.replace(b"-", b"").replace(b"_", b"").isalnum() and name.isascii()


@cache
def street() -> Street:
    """Opened once a process."""
    return Street(_place() / "street")


def main() -> None:
    """Let coverage guide the bytes; arguments after the target are libFuzzer's."""
    import atheris

    target = sys.argv[1]
    with atheris.instrument_imports(include=["dragoman", "markdown_it", "pypdf", "tomllib"]):
        for name in IMPORTED[target]:
            importlib.import_module(name)
    if target == "http":
        street()
    corpus = _place() / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(seeds_of(target)):
        (corpus / f"seed{number}").write_bytes(seed)
    dictionary = _place() / "words"
    escaped = ["".join(f"\\x{byte:02x}" for byte in word) for word in words_of(target)]
    dictionary.write_text("".join(f'"{word}"\n' for word in escaped), encoding="ascii")
    atheris.Setup([sys.argv[0], *sys.argv[2:], f"-dict={dictionary}", str(corpus)], TARGETS[target])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
