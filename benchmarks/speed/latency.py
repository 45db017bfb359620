"""How long a person waits, in fresh processes, beside what the machine itself needs for the same.

    python benchmarks/speed/latency.py [--runs 7]

`ask` and `chat` run as a user runs them, with the weights and the agent's state present: `ask` until the first
character of its reply is on standard output, down a pipe and on a terminal; `chat` until its prompt is there, and
until the reply to a turn typed at once; `serve` until it has said its address. The floors are an interpreter
that does nothing, and the two models loaded by their own libraries. The load average is printed, since all of it is
only true of a quiet machine.
"""

from __future__ import annotations

import argparse
import os
import pty
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
DRAGOMAN = str(BIN / "dragoman")
AGENT = "harbour"
QUESTION = "How much is a ferry ticket?"
ANSWER = b"franc"
PATIENCE = 60.0
BARE_MODELS = """
from dragoman.models import weights  # first: it switches off onnxruntime's telemetry
import onnxruntime, tokenizers, xllamacpp
encoder = weights.path("all-minilm-l6-v2-int8")
tokenizers.Tokenizer.from_file(str(encoder / "tokenizer.json"))
onnxruntime.InferenceSession(str(encoder / "model.onnx"), providers=["CPUExecutionProvider"])
params = xllamacpp.CommonParams()
params.model.path = str(weights.path("smollm2-135m-instruct"))
params.n_ctx, params.verbosity, params.warmup, params.fit_params = 2048, -1, False, False
kept = xllamacpp.Server(params)
import os; os._exit(0)
"""


class Terminal:
    """A process on a pseudo-terminal, and what it has written so far."""

    def __init__(self, command: Sequence[str], environment: dict[str, str]) -> None:
        self.began = time.perf_counter()
        self._id, self._descriptor = pty.fork()
        if self._id == 0:
            os.chdir(ROOT)
            os.execvpe(command[0], list(command), environment)
        self.written = b""

    def until(self, awaited: bytes) -> float:
        """Seconds from the start until the process has written something."""
        while awaited not in self.written:
            left = PATIENCE - (time.perf_counter() - self.began)
            if left <= 0 or not select.select([self._descriptor], [], [], left)[0]:
                raise SystemExit(f"{awaited!r} was not written within {PATIENCE:.0f} s, but: {self.written[-400:]!r}")
            try:
                self.written += os.read(self._descriptor, 65536)
            except OSError as error:  # the other end is closed
                raise SystemExit(f"The process ended without {awaited!r}: {self.written[-400:]!r}") from error
        return time.perf_counter() - self.began

    def type(self, line: str) -> None:
        """Type a line; what was written before it is not waited for again."""
        self.written = b""
        os.write(self._descriptor, f"{line}\n".encode())

    def close(self) -> None:
        """End the input, and wait for the process."""
        try:
            os.write(self._descriptor, b"\x04")
            while os.read(self._descriptor, 65536):
                pass
        except OSError:
            pass
        os.waitpid(self._id, 0)
        os.close(self._descriptor)


def whole(command: Sequence[str], environment: dict[str, str]) -> float:
    """Seconds from the start of a process to its end."""
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, cwd=ROOT, env=environment)
    return time.perf_counter() - began


def first_word(command: Sequence[str], environment: dict[str, str]) -> float:
    """Seconds from the start of a process to the first byte on its standard output."""
    began = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT, env=environment) as run:
        assert run.stdout is not None
        byte = os.read(run.stdout.fileno(), 1)
        seconds = time.perf_counter() - began
        text = byte + run.stdout.read()
    if run.returncode or ANSWER not in text:
        raise SystemExit(f"{' '.join(command)} gave {text!r} and exit code {run.returncode}.")
    return seconds


def on_terminal(command: Sequence[str], environment: dict[str, str]) -> float:
    """The same on a terminal, until a word of the answer is there: a spinner comes before it."""
    terminal = Terminal(command, environment)
    seconds = terminal.until(ANSWER)
    terminal.close()
    return seconds


def chat(environment: dict[str, str]) -> tuple[float, float]:
    """Seconds until `chat` shows its prompt, and until it has answered a turn that was typed at once."""
    terminal = Terminal([DRAGOMAN, "chat"], environment)
    prompt = terminal.until(b"you> ")
    terminal.type(QUESTION)
    talking = terminal.until(ANSWER)
    terminal.until(b"you> ")
    terminal.close()
    return prompt, talking


def serving(environment: dict[str, str]) -> float:
    """Seconds until `serve` has said where it listens, which it does when requests are taken."""
    command = [DRAGOMAN, "serve", "--port", "0"]
    began = time.perf_counter()
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, cwd=ROOT, env=environment, start_new_session=True, text=True
    ) as run:
        assert run.stderr is not None
        found = any("http://" in told for told in run.stderr)
        seconds = time.perf_counter() - began
        os.killpg(run.pid, signal.SIGINT)
        run.stderr.read()
    if not found:
        raise SystemExit(f"{' '.join(command)} said no address.")
    return seconds


def line(name: str, seconds: Sequence[float], limit: float | None = None, floor: float | None = None) -> bool:
    """Print one row; whether its median is within the limit."""
    median = statistics.median(seconds)
    beside = "" if floor is None else f"{median / floor:.1f}"
    shown = "" if limit is None else f"{limit:.2f}"
    print(f"{name:<52}{median:>8.2f}{min(seconds):>8.2f}{max(seconds):>8.2f}{shown:>8}{beside:>9}", flush=True)
    return limit is None or median <= limit


def repeated(runs: int, act: Callable[[], float]) -> list[float]:
    """The seconds of some runs, after one that warms the disk's cache."""
    act()
    return [act() for _ in range(runs)]


def main() -> int:
    parser = argparse.ArgumentParser(description="How long a person waits.")
    parser.add_argument("--runs", type=int, default=7)
    runs = parser.parse_args().runs
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}, load average {load:.1f} before the runs")
    print(f"{'seconds':<52}{'median':>8}{'best':>8}{'worst':>8}{'limit':>8}{'x floor':>9}")
    with tempfile.TemporaryDirectory() as home:
        environment = _environment(Path(home))
        python = sys.executable
        nothing = repeated(runs, lambda: whole([python, "-c", "pass"], environment))
        line("floor: python -c pass", nothing)
        bare = repeated(runs, lambda: whole([python, "-c", BARE_MODELS], environment))
        line("floor: both models loaded by their own libraries", bare)
        start, models = statistics.median(nothing), statistics.median(bare)
        imports = repeated(runs, lambda: whole([python, "-c", "import dragoman"], environment))
        # the limit is for the import, so the interpreter's own start is let through
        good = line("python -c 'import dragoman'", imports, 0.05 + start, start)
        good &= line("dragoman --help", repeated(runs, lambda: whole([DRAGOMAN, "--help"], environment)), 0.4, start)
        ask = [DRAGOMAN, "ask", QUESTION, "--agent", AGENT]
        good &= line("ask, first word, piped", repeated(runs, lambda: first_word(ask, environment)), 1.5, models)
        good &= line(
            "ask, first word, on a terminal", repeated(runs, lambda: on_terminal(ask, environment)), 1.5, models
        )
        chat(environment)
        talks = [chat(environment) for _ in range(runs)]
        good &= line("chat, the prompt is there", [prompt for prompt, _ in talks], 2.0, models)
        good &= line("chat, the first turn is answered", [talking for _, talking in talks], 3.0, models)
        good &= line("serve, the address is there", repeated(runs, lambda: serving(environment)), 3.0, models)
    print(f"load average {os.getloadavg()[0]:.1f} after the runs")
    return 0 if good else 1


def _environment(home: Path) -> dict[str, str]:
    """A home of its own with the weights of the user's, so that the benchmark leaves nothing behind there."""
    from dragoman.core.environment import home as real
    from dragoman.models import weights

    for name in weights.CATALOGUE:
        weights.path(name)
    (home / "models").symlink_to(real() / "models", target_is_directory=True)
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"DRAGOMAN_HOME": str(home), "TERM": "xterm"}


if __name__ == "__main__":
    sys.exit(main())
