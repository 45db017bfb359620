"""A server with the page, in a process of its own: two agents without weights, one of which can take its time.

NiceGUI keeps one page a process, so that tests start this by `python page_server.py FOLDER STATE`.
"""

from __future__ import annotations

import json
import sys
import time
from copy import copy
from functools import partial
from pathlib import Path

import dragoman
from dragoman.core.values import Draft
from dragoman.evaluate.results import Column, Figure, Result, ResultCell, Series, SystemRow, Table
from dragoman.evaluate.show.tables import result_json
from dragoman.server.http import uvicorn_server
from dragoman.server.http.app import make_app, with_request_limits
from dragoman.server.page import add_page
from dragoman.server.service import Service


class PatientReader:
    """The agent's own reader; a turn that says `slowly` is answered word by word, for ten seconds."""

    def __init__(self, reader):
        self._reader = reader

    def read(self, tasks):
        return self._reader.read(tasks)

    def stream(self, task):
        if "slowly" not in task.context.last:
            draft = self._reader.read([task])[0]
            yield draft.text
            yield draft
            return
        for number in range(100):
            time.sleep(0.1)
            yield f"word{number} "
        yield Draft("word", 0.5, "said")


class OtherReader:
    """Stands for a reader with another language model."""

    def read(self, tasks):
        return [Draft("The other model speaks.", 0.5, "generated") for _ in tasks]

    def stream(self, task):
        (draft,) = self.read([task])
        yield draft.text
        yield draft


class TwoRuns:
    """Two experiments, as `dragoman evaluate` would have stored them."""

    def __init__(self):
        self._results = {"first": _result("The gate", 0.61), "second": _result("The gate, anew", 0.72)}

    def listed(self):
        return [
            {"id": name, "name": result["title"], "ended": "2026-11-15T12:00:00", "systems": [], "sets": []}
            for name, result in self._results.items()
        ]

    def result(self, id):
        return self._results.get(id)


def _result(title, figure):
    column = Column("F1", "metric.gate-f1.v1", "up", (0.0, 1.0), "RAGate, section 4", True, 100.0, 1)
    rows = (
        SystemRow("never", "ours", "", (ResultCell("measured", 0.1, 50, 0.01),)),
        SystemRow("trained", "ours", "", (ResultCell("measured", figure, 50, 0.02),)),
        SystemRow("GPT", "paper", "", (ResultCell("no model", paper=40.0),)),
    )
    table = Table("toy", "Toy, dev", "", 50, 10, None, (column,), rows)
    curve = Series("trained", (0.1, 0.5, 0.9), (0.2, figure, 0.8))
    drawn = Figure(
        "reliability", "Are the probabilities true?", "toy", "lines", "said", "true", (curve,), diagonal=True
    )
    return json.loads(result_json(Result("gate", title, "Should this turn look anything up?", {}, (table,), (drawn,))))


def main(folder: Path, state: Path, port: str = "0") -> None:
    agents = {}
    for place in sorted(folder.iterdir()):
        assistant = dragoman.load(place, state=state / place.name)
        assistant.agent.reader = PatientReader(assistant.agent.reader)
        agents[place.name] = (assistant, state / place.name)
    service = Service(agents)
    for hosted in service.agents.values():
        hosted.models = {"other": hosted.assistant.with_agent(copy(hosted.assistant.agent), model=None)}
        hosted.models["other"].agent.reader = OtherReader()
    app = make_app(service, runs_of=TwoRuns())
    add_page(app)
    listening = uvicorn_server.bind("127.0.0.1", int(port))
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    started = partial(print, address, flush=True)
    uvicorn_server.serve(with_request_limits(app, service), listening, grace=2.0, started=started)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])
