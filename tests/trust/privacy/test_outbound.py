"""Outbound traffic: no command looks up a name, connects beyond this machine, or writes outside of its folders.

Each command runs under strace, which sees what libraries in C++ do as well as what Python does. `chat` and `serve` run
longer than the interval after which onnxruntime's telemetry would send its first events.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from dragoman.core.environment import SWITCHES

pytestmark = [pytest.mark.slow, pytest.mark.integration, pytest.mark.trust]

WATCHED = (
    "trace=%network,?open,openat,?creat,?mkdir,mkdirat,?rename,?renameat,renameat2,?link,linkat,?symlink,symlinkat"
)
TRACE = ("strace", "-f", "-qq", "-s", "256", "-e", WATCHED, "-o")
REPORT_SECONDS = 45.0  # onnxruntime's first report is due within 40
DNS = 53
TORCH_CACHE = "TORCHINDUCTOR_CACHE_DIR"
ADDRESS = re.compile(r"sa_family=AF_INET6?,.*?sin6?_port=htons\((\d+)\).*?inet_(?:addr\(|pton\(AF_INET6, )\"([^\"]+)\"")
PATH = re.compile(r'"((?:[^"\\]|\\.)*)"')
WRITES = re.compile(r" (?:creat|mkdir|mkdirat|rename|renameat|renameat2|link|linkat|symlink|symlinkat)\(")
OPENS = re.compile(r" open(?:at)?\(.*(?:O_WRONLY|O_RDWR|O_CREAT)")
DEVICES = ("/dev/null", "/dev/tty", "/dev/ptmx", "/dev/pts/", "/dev/shm/", "/proc/self/")


def _strace_problem():
    if shutil.which("strace") is None:
        return "needs strace, which is not installed (Debian: apt-get install strace)"
    tried = subprocess.run(["strace", "-qq", "-e", WATCHED, "true"], capture_output=True, text=True, check=False)
    return None if tried.returncode == 0 else f"strace may not trace here: {tried.stderr.strip()[-200:]}"


@pytest.fixture(scope="module", autouse=True)
def strace():
    problem = _strace_problem()
    if problem:
        pytest.skip(problem)


@dataclass(frozen=True, slots=True)
class Traced:
    """A command under strace, with its folders; `cache` and `user_home` are what other programs share."""

    root: Path
    name: str
    models: Path

    @property
    def log(self) -> Path:
        return self.root / f"{self.name}.strace"

    @property
    def folders(self) -> dict[str, Path]:
        return {name: self.root / self.name / name for name in ("home", "user_home", "cache", "tmp", "work")}

    def start(self, *command: str, **options) -> subprocess.Popen[str]:
        for folder in self.folders.values():
            folder.mkdir(parents=True)
        (self.folders["home"] / "models").symlink_to(self.models, target_is_directory=True)
        # Torch puts its cache folder into the environment of a process that compiled something, as this one may have.
        environment = {name: value for name, value in os.environ.items() if name not in (*SWITCHES, TORCH_CACHE)} | {
            "DRAGOMAN_HOME": str(self.folders["home"]),
            "HOME": str(self.folders["user_home"]),
            "XDG_CACHE_HOME": str(self.folders["cache"]),
            "TMPDIR": str(self.folders["tmp"]),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        return subprocess.Popen(
            [*TRACE, str(self.log), sys.executable, *command],
            cwd=self.folders["work"],
            env=environment,
            stdin=options.get("stdin", subprocess.DEVNULL),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *command: str) -> str:
        with self.start(*command) as process:
            output = process.communicate(timeout=1500)[0]
        assert process.returncode == 0, output
        return output

    def outbound(self) -> list[str]:
        """Every name lookup, and every address beyond this machine that was connected or sent to."""
        found = []
        for line in self._lines():
            if " connect(" in line or " sendto(" in line or " sendmsg(" in line or " sendmmsg(" in line:
                address = ADDRESS.search(line)
                if (address and (int(address[1]) == DNS or not _loopback(address[2]))) or "systemd.Resolve" in line:
                    found.append(line)
        return found

    def writes_elsewhere(self) -> list[str]:
        """Every path outside of the command's folders that was made, renamed or opened for writing."""
        inside = str(self.root)
        found = []
        for line in self._lines():
            if WRITES.search(line) or OPENS.search(line):
                path = (PATH.findall(line) or [""])[-1]
                if path.startswith("/") and not path.startswith((inside, *DEVICES)):
                    found.append(line)
        return found

    def left_for_others(self) -> list[str]:
        """What lies in the shared folders: device ids and queues of unsent events would lie there."""
        places = (self.folders["user_home"], self.folders["cache"])
        return [str(file.relative_to(self.root)) for place in places for file in place.rglob("*") if file.is_file()]

    def check(self) -> None:
        assert self.log.stat().st_size, "strace wrote nothing"
        assert self.outbound() == []
        assert self.writes_elsewhere() == []
        assert self.left_for_others() == []

    def _lines(self) -> list[str]:
        return self.log.read_text(encoding="utf-8", errors="replace").splitlines()


def _loopback(host: str) -> bool:
    return host.startswith("127.") or host in ("::1", "::ffff:127.0.0.1")


@pytest.fixture
def traced(tmp_path, weights_home):
    return lambda name: Traced(tmp_path, name, weights_home / "models")


def test_the_watch_sees_lookups_connections_and_files(traced, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "file"
    code = "import pathlib, socket, sys\n"
    code += f"pathlib.Path({str(elsewhere)!r}).write_text('x')\n"
    code += "(pathlib.Path.home() / 'deviceid').write_text('x')\n"
    code += "line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); line.connect(('192.0.2.1', 9))\n"
    code += "line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); line.connect(('127.0.0.1', 53))\n"
    code += "line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); line.connect(('127.0.0.1', 9))\n"
    watched = traced("control")
    watched.run("-c", code)
    assert len(watched.outbound()) == 2
    (line,) = watched.writes_elsewhere()
    assert str(elsewhere) in line
    assert watched.left_for_others() == ["control/user_home/deviceid"]


def test_chat_and_serve_stay_on_this_machine(traced):
    chat, serve = traced("chat"), traced("serve")
    port = _free_port()
    talking = chat.start("-m", "dragoman", "chat", stdin=subprocess.PIPE)
    serving = serve.start("-m", "dragoman", "serve", "--port", str(port))
    try:
        talking.stdin.write("How much is a ferry ticket?\n")
        talking.stdin.flush()
        _ask_server(port)
        time.sleep(REPORT_SECONDS)
        talking.stdin.close()
        assert talking.wait(timeout=600) == 0 and "franc" in talking.stdout.read()
    finally:
        for process, watched in ((talking, chat), (serving, serve)):
            _stop(process, watched)
    chat.check()
    serve.check()


def test_ask_stays_on_this_machine(traced):
    watched = traced("ask")
    assert "franc" in watched.run("-m", "dragoman", "ask", "How much is a ferry ticket?")
    watched.check()


def test_ingest_stays_on_this_machine(traced, tmp_path):
    watched = traced("ingest")
    file = tmp_path / "prices.md"
    file.write_text("# Prices\n\nA day ticket costs 6 francs.\n", encoding="utf-8")
    watched.run("-m", "dragoman", "ingest", str(file), "--source", "DOCUMENTS")
    watched.check()


@pytest.mark.parametrize("recipe", ["gate-linear", "gate-encoder"])
def test_train_stays_on_this_machine(traced, recipe):
    watched = traced(recipe)
    quick = ("--set", "train.epochs=1") if recipe == "gate-encoder" else ()
    watched.run("-m", "dragoman", "train", recipe, "--data", "train=toy", "--out", "part", *quick)
    watched.check()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def _ask_server(port: int) -> None:
    """One turn and the page, so that the models and the page's framework are loaded."""
    import httpx

    deadline = time.monotonic() + 600
    while True:
        try:
            reply = httpx.post(
                f"http://127.0.0.1:{port}/v1/turns", json={"text": "How much is a ferry ticket?"}, timeout=600
            )
            break
        except httpx.TransportError:
            assert time.monotonic() < deadline, "the server did not start"
            time.sleep(0.3)
    assert reply.status_code == 200 and "franc" in json.dumps(reply.text)
    assert httpx.get(f"http://127.0.0.1:{port}/", follow_redirects=True, timeout=300).status_code == 200


def _stop(process: subprocess.Popen[str], watched: Traced) -> None:
    """End what strace started, and with it strace."""
    if process.poll() is None:
        child = watched.log.read_text(encoding="utf-8", errors="replace").split(maxsplit=1)[0]
        os.kill(int(child), signal.SIGTERM)
    try:
        process.wait(timeout=300)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    finally:
        process.stdout.close()
