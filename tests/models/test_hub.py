"""Parts through a server that speaks the hub's protocol, on this machine; and repositories of strangers."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

import pytest
from pytest_socket import enable_socket, socket_allow_hosts
from typer.testing import CliRunner

from dragoman.cli.app import app
from dragoman.core.errors import EndpointError, InputError, WeightsError
from dragoman.models.hub import card, hub_name, pull_part, push_part
from dragoman.models.part import Head, Part, find_part, read_part, write_part

WEIGHTS = b"\x08\x08"  # the smallest file that is of ONNX's format

NAME = hub_name("hf:ana/gate")


@pytest.fixture(autouse=True)
def closed_network():
    """These tests reach this machine alone."""
    enable_socket()
    socket_allow_hosts(["127.0.0.1", "localhost"], allow_unix_socket=True)
    yield
    enable_socket()


class Hub:
    """A hub in memory: repositories are files by name; every commit has a new id."""

    def __init__(self):
        self.files, self.blobs, self.asked, self.private = {}, {}, [], {}
        self.commits = 0
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                self.answer(*hub.get(self.path))

            def do_HEAD(self):
                self.answer(*hub.get(self.path))

            def do_PUT(self):
                self.answer(*hub.put(self.path, self.body()))

            def do_POST(self):
                self.answer(*hub.post(self.path, self.body()))

            def body(self):
                if self.headers.get("transfer-encoding") == "chunked":
                    parts = []
                    while size := int(self.rfile.readline().strip() or b"0", 16):
                        parts.append(self.rfile.read(size))
                        self.rfile.readline()
                    self.rfile.readline()
                    return b"".join(parts)
                return self.rfile.read(int(self.headers.get("content-length") or 0))

            def answer(self, status, content=b"", headers=None):
                hub.asked.append((self.command, self.path))
                told = content if isinstance(content, bytes) else json.dumps(content).encode()
                self.send_response(status)
                for name, value in {"content-length": str(len(told)), **(headers or {})}.items():
                    self.send_header(name, value)
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(told)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @property
    def sha(self):
        return f"{self.commits:040x}"

    def get(self, path):
        path = unquote(path.partition("?")[0])
        if path.startswith("/api/models/"):
            repository = path.removeprefix("/api/models/").partition("/revision/")[0]
            if repository not in self.files:
                return 404, {"error": "Repository not found"}, {"x-error-code": "RepoNotFound"}
            rows = [{"rfilename": name, "size": len(content)} for name, content in self.files[repository].items()]
            return 200, {"id": repository, "sha": self.sha, "siblings": rows}
        repository, _, rest = path[1:].partition("/resolve/")
        content = self.files.get(repository, {}).get(rest.partition("/")[2])
        if content is None:
            return 404, b"", {"x-error-code": "EntryNotFound"}
        digest = hashlib.sha256(content).hexdigest()
        return 200, content, {"etag": f'"{digest}"', "x-repo-commit": self.sha}

    def put(self, path, body):
        self.blobs[path.rpartition("/")[2]] = body
        return 200, b""

    def post(self, path, body):
        if path == "/api/validate-yaml":
            return 200, {"errors": [], "warnings": []}
        if path == "/api/repos/create":
            asked = json.loads(body)
            name = "/".join(filter(None, (asked.get("organization"), asked["name"])))
            self.files.setdefault(name, {})
            self.private[name] = asked.get("private") or asked.get("visibility") == "private"
            return 200, {"url": f"{self.url}/{name}"}
        if "/preupload/" in path:
            files = json.loads(body)["files"]
            mode = {True: "lfs", False: "regular"}
            rows = [
                {
                    "path": file["path"],
                    "uploadMode": mode[file["path"].endswith((".onnx", ".gguf"))],
                    "shouldIgnore": False,
                }
                for file in files
            ]
            return 200, {"files": rows}
        if path.endswith("/info/lfs/objects/batch"):
            objects = [
                {**entry, "actions": {"upload": {"href": f"{self.url}/lfs/{entry['oid']}"}}}
                for entry in json.loads(body)["objects"]
            ]
            return 200, {"transfer": "basic", "objects": objects}
        if "/commit/" in path:
            repository = path.removeprefix("/api/models/").partition("/commit/")[0]
            for line in body.splitlines():
                row = json.loads(line)
                if row["key"] == "file":
                    self.files[repository][row["value"]["path"]] = base64.b64decode(row["value"]["content"])
                elif row["key"] == "lfsFile":
                    self.files[repository][row["value"]["path"]] = self.blobs[row["value"]["oid"]]
            self.commits += 1
            return 200, {"commitUrl": f"{self.url}/{repository}/commit/{self.sha}", "commitOid": self.sha}
        return 404, {"error": path}


@pytest.fixture
def hub(monkeypatch):
    import huggingface_hub.constants

    hub = Hub()
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    monkeypatch.setenv("HF_TOKEN", "hf_local")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_DISABLE_PROGRESS_BARS", True)
    yield hub
    hub.server.shutdown()
    hub.server.server_close()


def make(folder, **options):
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(WEIGHTS)
    (folder / "README.md").write_text("# gate\n\nLearned from the toy set.\n")
    made = {"recipe": {"licence": "Apache-2.0"}}
    part = Part(folder, "gate.encoder", {"gate": Head(("retrieve",))}, options, made=made)
    return write_part(part, ("model.onnx",))


def shared(hub, tmp_path, **options):
    """A repository that somebody made, file by file."""
    part = make(tmp_path / "stranger", **options)
    hub.files["ana/gate"] = {path.name: path.read_bytes() for path in part.folder.iterdir()}
    return hub.files["ana/gate"]


def test_a_part_goes_there_and_back(hub, tmp_path, own_home):
    part = make(tmp_path / "gate")
    address = push_part(part.folder, NAME)
    assert address.startswith(hub.url) and hub.private["ana/gate"] is True
    assert set(hub.files["ana/gate"]) == {"part.json", "model.onnx", "README.md"}
    pulled = pull_part(NAME)
    assert pulled.folder == own_home / "parts/ana/gate" == find_part("ana/gate")
    assert pulled.file("model.onnx").read_bytes() == WEIGHTS and pulled.kind == "gate.encoder"
    assert pull_part(NAME).files == pulled.files  # over the first
    assert {path.name for path in pulled.folder.parent.iterdir()} == {"gate"}


def test_the_card_names_library_licence_and_use(tmp_path):
    text = card(make(tmp_path / "gate"), NAME)
    assert text.startswith('---\nlibrary_name: "dragoman"\n') and 'license: "apache-2.0"' in text
    assert "Learned from the toy set." in text and "dragoman parts pull hf:ana/gate" in text
    assert "agent.toml" not in text
    tables = '[gate]\nkind = "encoder"'
    assert f"```toml\n{tables}\n```" in card(read_part(tmp_path / "gate"), NAME, tables)


def test_the_commands_say_how_a_part_is_used(hub, tmp_path, own_home):
    part, runner = make(tmp_path / "gate"), CliRunner()
    pushed = runner.invoke(app, ["parts", "push", str(part.folder), "hf:ana/gate"])
    assert pushed.exit_code == 0 and "dragoman parts pull hf:ana/gate" in pushed.stdout
    assert '[gate]\nkind = "encoder"\npart = "ana/gate"' in hub.files["ana/gate"]["README.md"].decode()
    pulled = runner.invoke(app, ["parts", "pull", "hf:ana/gate"])
    assert pulled.exit_code == 0
    assert '[gate] kind = "encoder", part = "ana/gate"' in pulled.stdout


@pytest.mark.trust
@pytest.mark.parametrize("name", ["model.bin", "weights.pt", "data.pkl", "setup.py", "a/b/c.json", "run.sh", "x.zip"])
def test_anything_but_data_is_refused_before_it_is_downloaded(hub, tmp_path, own_home, name):
    shared(hub, tmp_path)[name] = b"\x80\x04K\x01."
    with pytest.raises(WeightsError, match=r"may run code|no place"):
        pull_part(NAME)
    assert not [path for _, path in hub.asked if "/resolve/" in path] and not NAME.folder.exists()


@pytest.mark.trust
def test_a_file_with_another_hash_is_refused(hub, tmp_path):
    shared(hub, tmp_path)["model.onnx"] = b"other weights"
    with pytest.raises(WeightsError, match="SHA-256"):
        pull_part(NAME)
    assert not NAME.folder.exists()


@pytest.mark.trust
@pytest.mark.parametrize("base", ["another-model", "../../etc", "/somewhere/model.gguf"])
def test_a_part_for_another_base_is_refused(hub, tmp_path, base):
    shared(hub, tmp_path, base=base, base_sha256="0" * 64)
    with pytest.raises(WeightsError, match="not known here"):
        pull_part(NAME)


@pytest.mark.trust
def test_a_part_for_other_weights_of_a_known_base_is_refused(hub, tmp_path):
    shared(hub, tmp_path, base="smollm2-135m-instruct", base_sha256="0" * 64)
    with pytest.raises(WeightsError, match="other weights"):
        pull_part(NAME)


def test_what_is_no_part_or_not_there_is_an_error(hub):
    with pytest.raises(EndpointError, match="ana/gate"):
        pull_part(NAME)
    hub.files["ana/gate"] = {"config.json": b"{}"}
    with pytest.raises(WeightsError, match=r"no part\.json"):
        pull_part(NAME)


@pytest.mark.parametrize("text", ["ana/gate", "hf:gate", "hf:../x", "hf:a/b/c", "hf:a/..", "hf:"])
def test_other_names_are_refused(text):
    with pytest.raises(InputError, match="hf:OWNER/NAME"):
        hub_name(text)


def test_a_hub_that_is_not_there_is_an_error(hub, monkeypatch):
    hub.server.shutdown()
    hub.server.server_close()
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(EndpointError, match="did not take or give"):
        pull_part(NAME)


def test_revisions_are_read():
    assert hub_name("hf:a/b@v1").revision == "v1"
