"""A trial of an endpoint: what works, what is emulated, and what a gate, a plan and a reply cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

from dragoman import prompts
from dragoman.core.values import Context, Prompt, Source
from dragoman.models.metering import metered
from dragoman.models.remote.model import RemoteModel
from dragoman.models.remote.profiles import Profile

_CONTEXT = Context.of("Hello.", "Hello! How can I help?", "When does the ferry to the island leave on Sunday?")
_SOURCES = (Source("documents", "timetables and fares"), Source("memory", "what the user said", about="user"))


@dataclass(frozen=True, slots=True)
class StepCost:
    """Cost of one step of a turn in the trial."""

    step: str
    calls: int
    tokens: int
    seconds: float
    price: float | None = None


@dataclass(frozen=True, slots=True)
class Probe:
    """The result of a trial. `models` are the names that the endpoint lists."""

    profile: Profile
    models: tuple[str, ...]
    method: str
    costs: tuple[StepCost, ...]

    @property
    def works(self) -> tuple[str, ...]:
        """Features that the endpoint supports."""
        return tuple(name for name, own in _features(self.profile) if own)

    @property
    def emulated(self) -> tuple[str, ...]:
        """Features that the client emulates or leaves out."""
        return tuple(name for name, own in _features(self.profile) if not own)


def probe(model: RemoteModel) -> Probe:
    """Find the endpoint's profile out again and try each step of a turn; a failure is an `EndpointError`."""
    model.knowledge.forget()
    names = tuple(str(entry["id"]) for entry in model.knowledge.models() if entry.get("id"))
    dialogue = prompts.dialogue(_CONTEXT)
    gate = prompts.get("gate-zero-shot.v1").format(dialogue=dialogue)
    plan = prompts.get("plan-in-context.v1").format(
        sources=prompts.sources(_SOURCES), order=prompts.order(_SOURCES), dialogue=dialogue
    )
    reply = prompts.get("answer.v1").format(
        name="Dragoman", evidence="- The ferry leaves at nine on Sundays.", dialogue=dialogue
    )
    model.choose([gate], ("True", "False"))  # what the endpoint refuses is found out before anything is measured
    costs = (
        _cost(model, "gate", lambda: model.choose([gate], ("True", "False"))),
        _cost(model, "plan", lambda: _generate(model, plan, 24)),
        _cost(model, "reply", lambda: _generate(model, reply, 96)),
    )
    return Probe(model.knowledge.profile, names, model.choice_method, costs)


def _generate(model: RemoteModel, prompt: Prompt, limit: int) -> object:
    return model.generate([prompt], max_tokens=limit)


def _cost(model: RemoteModel, step: str, run: Callable[[], object]) -> StepCost:
    began = perf_counter()
    with metered() as meter:
        run()
    return StepCost(step, meter.usage.calls, meter.usage.total_tokens, perf_counter() - began, meter.price)


def _features(profile: Profile) -> tuple[tuple[str, bool], ...]:
    return (
        ("log-probabilities", profile.logprobs),
        ("JSON by schema", bool(profile.schema)),
        ("temperature", profile.temperature),
        ("stop sequences", profile.stop and not profile.thinks),
        ("seeds", profile.seed),
        ("system role", profile.system),
        ("reasoning switched off", not profile.thinks),
    )
