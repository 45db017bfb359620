"""`dragoman check`: test agents against written conversations."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.terminal import rendering
from dragoman.cli.terminal.agent_options import Overridable, Set, agent_name, fetch_weights, overrides, with_model
from dragoman.cli.terminal.messages import tell
from dragoman.cli.terminal.progress import Bars, progress_bars
from dragoman.core.errors import InputError
from dragoman.core.trace import MODEL_FAILED

if TYPE_CHECKING:
    from rich.table import Table

    from dragoman.agent.check import Conversation, ConversationResult

_AGENT_FILE = "agent.toml"
OWN = "own"
"""The name of the agent's own model in a comparison."""


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("check", cls=Overridable)(check_agents)


def check_agents(
    *,
    agents: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="AGENT",
            help="Agent folders, a folder that contains some, or names of built-in agents. Default: "
            "the current folder, else harbour.",
            show_default=False,
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            "--conversations",
            "-f",
            metavar="FILE",
            help="File with the conversations. Default: the agent's conversations.toml.",
            show_default=False,
        ),
    ] = None,
    json_out: Annotated[
        Path | None,
        typer.Option("--json", metavar="OUT", help="Write outcomes and replies to this JSON file.", show_default=False),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit", min=1, metavar="N", help="Run only the first N conversations of each agent.", show_default=False
        ),
    ] = None,
    at_least: Annotated[
        int | None,
        typer.Option(
            "--at-least",
            min=0,
            metavar="N",
            help="Succeed if at least N conversations pass. Default: all.",
            show_default=False,
        ),
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            metavar="NAME",
            help="Language model instead of the agent's; several are compared in one table (`own`: the agent's).",
            show_default=False,
        ),
    ] = None,
    totals: Annotated[
        bool, typer.Option("--totals", help="Print totals only, without names of conversations.")
    ] = False,
    settings: Set = None,
) -> None:
    """Test agents against written conversations.

    Prints the replies that fail, totals by kind, and the number of replies with a number or name that no evidence
    supports. The exit code is 0 only if all conversations pass. With several models, prints one table instead, with
    what each of them passed by kind, its seconds and its tokens.
    """
    from dragoman.agent.build import locate
    from dragoman.agent.check import read_conversations

    settings_by_path = overrides(settings)
    names = [name for agent in agents or [agent_name(None)] for name in _expanded(agent)]
    if file is not None and len(names) > 1:
        raise InputError(f"--file goes with one agent, not {len(names)}.", remedy="Name one agent.")
    written = {
        name: read_conversations(file or locate(name)[0].with_name("conversations.toml"))[:limit]
        for name in dict.fromkeys(names)
    }
    if models and len(models) > 1:
        by_model: dict[str, list[ConversationResult]] = {}
        with progress_bars() as bars:
            for model in dict.fromkeys(models):
                settled = with_model(None if model == OWN else model, settings_by_path)
                by_model[model] = _joined(
                    {
                        name: _hold_all(name, conversations, settled, bars, named=not totals)
                        for name, conversations in written.items()
                    }
                )
        _print_models(by_model)
        if json_out is not None:
            _write_outcomes(by_model, json_out, key="model")
        return
    settings_by_path = with_model(models[0] if models and models[0] != OWN else None, settings_by_path)
    outcomes: dict[str, list[ConversationResult]] = {}
    with progress_bars() as bars:
        for name, conversations in written.items():
            outcomes[name] = _hold_all(name, conversations, settings_by_path, bars, named=not totals)
    if not totals:
        for model_outcomes in outcomes.values():
            _print_outcomes(model_outcomes)
    _print_sums(outcomes)
    if json_out is not None:
        _write_outcomes(outcomes, json_out)
    everything = _joined(outcomes)
    if sum(outcome.passed for outcome in everything) < (len(everything) if at_least is None else at_least):
        if not totals:
            typer.echo("\nThe replies themselves: --json OUT")
            failed = next(
                name
                for name, model_outcomes in outcomes.items()
                if not all(outcome.passed for outcome in model_outcomes)
            )
            typer.echo(f"Why one came about:     dragoman ask --agent {shlex.quote(failed)} --why TEXT")
        raise typer.Exit(1)


def _expanded(name: str) -> list[str]:
    """The agents of a name: itself, or those in the folders below it."""
    folder = Path(name)
    if not folder.is_dir() or (folder / _AGENT_FILE).is_file():
        return [name]
    below = sorted(str(path.parent) for path in folder.rglob(_AGENT_FILE))
    return below or [name]


def _hold_all(
    name: str, conversations: Sequence[Conversation], settings: Mapping[str, str], bars: Bars, *, named: bool
) -> list[ConversationResult]:
    """Hold the conversations of one agent; `named` shows their names beside the progress."""
    from dragoman.agent.check import check, fresh_assistants, require_sources, shared_texts

    outcomes: list[ConversationResult] = []
    fetch_weights(name, settings)
    with fresh_assistants(name, overrides=settings, progress=bars.reading) as (fresh, sources):
        require_sources(conversations, sources)
        for outcome in check(fresh, conversations, texts=shared_texts(fresh)):
            outcomes.append(outcome)
            bars.show("Conversations", len(outcomes), len(conversations), outcome.name if named else "")
    return outcomes


def _joined(outcomes: Mapping[str, Sequence[ConversationResult]]) -> list[ConversationResult]:
    return [outcome for held in outcomes.values() for outcome in held]


def _print_outcomes(outcomes: Iterable[ConversationResult]) -> None:
    table = rendering.table("conversation", "kind", "passed", "what was wrong", ">seconds")
    for outcome in outcomes:
        wrong = "\n".join(outcome.wrong)
        rendering.add_row(
            table, outcome.name, outcome.kind, "yes" if outcome.passed else "NO", wrong, f"{outcome.seconds:.2f}"
        )
    rendering.out().print(table)


def _print_sums(outcomes: Mapping[str, Sequence[ConversationResult]]) -> None:
    everything = _joined(outcomes)
    if len(outcomes) > 1:
        by_agent = rendering.table("agent", ">passed", ">of", ">share", ">seconds")
        for name, held in outcomes.items():
            _add_sum(by_agent, Path(name).name or name, held)
        rendering.out().print(by_agent)
    by_kind = rendering.table("kind", ">passed", ">of", ">share", ">seconds")
    for kind in dict.fromkeys(outcome.kind for outcome in everything):
        _add_sum(by_kind, kind, [outcome for outcome in everything if outcome.kind == kind])
    _add_sum(by_kind, "all", everything)
    rendering.out().print(by_kind)
    replies = sum(len(outcome.replies) for outcome in everything)
    _warn_of_failures(everything)
    strange = sum(bool(words) for outcome in everything for words in outcome.unsupported)
    typer.echo(f"Replies with an unsupported number or name: {strange} of {replies} ({_share(strange, replies)})")


def _print_models(outcomes: Mapping[str, Sequence[ConversationResult]]) -> None:
    """One row for each model: passed by kind, in all, seconds and tokens."""
    kinds = list(dict.fromkeys(outcome.kind for outcome in _joined(outcomes)))
    table = rendering.table("model", *(f">{kind}" for kind in kinds), ">all", ">share", ">seconds", ">tokens")
    for model, held in outcomes.items():
        groups = [[outcome for outcome in held if outcome.kind == kind] for kind in kinds]
        counts = [f"{sum(outcome.passed for outcome in group)}/{len(group)}" for group in groups]
        passed, seconds = sum(outcome.passed for outcome in held), sum(outcome.seconds for outcome in held)
        tokens = sum(outcome.tokens for outcome in held)
        share = _share(passed, len(held))
        row = (model, *counts, f"{passed}/{len(held)}", share, f"{seconds:.1f}", str(tokens))
        rendering.add_row(table, *row)
    rendering.out().print(table)
    for model, held in outcomes.items():
        _warn_of_failures(held, f"{model}: ")


def _warn_of_failures(outcomes: Sequence[ConversationResult], whose: str = "") -> None:
    """Say where replies were composed without the model, which says nothing of how good it is."""
    failures = [message for outcome in outcomes for message in outcome.model_failures]
    if failures:
        replies = sum(len(outcome.replies) for outcome in outcomes)
        count, reason = f"{len(failures)} of {replies}", failures[0].removeprefix(MODEL_FAILED)
        tell(f"Warning: {whose}{count} replies were composed without the model, which failed: {reason}")


def _add_sum(table: Table, label: str, outcomes: Sequence[ConversationResult]) -> None:
    passed, seconds = sum(outcome.passed for outcome in outcomes), sum(outcome.seconds for outcome in outcomes)
    rendering.add_row(table, label, str(passed), str(len(outcomes)), _share(passed, len(outcomes)), f"{seconds:.1f}")


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else "-"


def _write_outcomes(outcomes: Mapping[str, Sequence[ConversationResult]], path: Path, *, key: str = "agent") -> None:
    rows = [
        {key: name, "passed": outcome.passed, **asdict(outcome)} for name, held in outcomes.items() for outcome in held
    ]
    try:
        path.write_text(json.dumps(rows, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"Cannot write {path}: {error.strerror}.", remedy="Give another path to --json.") from error
