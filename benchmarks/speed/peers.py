"""Five stub steps in other frameworks; `loop.py --peers` and `imports.py --peers` run this where they are installed.

Prints one JSON object, framework to microseconds a turn, or to the reason why there is no figure.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any, TypedDict

os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")
ROUNDS, REPEATS = 10, 20


def best(run: Callable[[], Any]) -> float:
    run()
    found = float("inf")
    for _ in range(ROUNDS):
        began = perf_counter()
        for _ in range(REPEATS):
            run()
        found = min(found, perf_counter() - began)
    return found / REPEATS * 1e6


def haystack() -> float:
    from haystack import Pipeline, component

    @component
    class Step:
        @component.output_types(value=dict)
        def run(self, value: dict) -> dict[str, Any]:
            return {"value": value}

    pipeline = Pipeline()
    for name in "abcde":
        pipeline.add_component(name, Step())
    for first, second in zip("abcd", "bcde", strict=True):
        pipeline.connect(f"{first}.value", f"{second}.value")
    return best(lambda: pipeline.run({"a": {"value": {"turn": "hello"}}}))


class State(TypedDict):
    turn: str


def langgraph() -> float:
    from langgraph.graph import END, START, StateGraph

    graph = StateGraph(State)
    for name in "abcde":
        graph.add_node(name, lambda state: {"turn": state["turn"]})
    graph.add_edge(START, "a")
    for first, second in zip("abcd", "bcde", strict=True):
        graph.add_edge(first, second)
    graph.add_edge("e", END)
    compiled = graph.compile()
    return best(lambda: compiled.invoke({"turn": "hello"}))


def llama_index() -> float:
    from llama_index_flow import FiveSteps

    async def rounds() -> float:
        flow = FiveSteps(timeout=None)
        await flow.run(turn="hello")
        found = float("inf")
        for _ in range(ROUNDS):
            began = perf_counter()
            for _ in range(REPEATS):
                await flow.run(turn="hello")
            found = min(found, perf_counter() - began)
        return found / REPEATS * 1e6

    return asyncio.run(rounds())


def main() -> None:
    frameworks = {"Haystack": haystack, "LangGraph": langgraph, "LlamaIndex workflows": llama_index}
    measured: dict[str, float | str] = {}
    for name, measure in frameworks.items():
        try:
            measured[name] = measure()
        except ImportError as error:
            measured[name] = f"not installed: {error}"
    print(json.dumps(measured))


if __name__ == "__main__":
    sys.exit(main())
