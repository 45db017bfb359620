"""`dragoman label relevance`: relevance labels of candidates, to train rankers and critics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.label.methods import How, PromptStyle, QueryField, Wanted, method_of, ready, refuse_strange
from dragoman.cli.terminal import rendering
from dragoman.cli.terminal.agent_options import Agent, Overridable, Set
from dragoman.cli.terminal.long_runs import SkipBad
from dragoman.cli.terminal.progress import progress_bars
from dragoman.cli.terminal.ray_option import Ray, workers

if TYPE_CHECKING:
    from dragoman.train.contract import Corpus
    from dragoman.train.relevance.labelling import LabellingResult


class SourceChoice(StrEnum):
    """The sources whose candidates are labelled."""

    plan = "plan"
    all = "all"


def add_to(app: typer.Typer) -> None:
    """Register this file's command."""
    app.command("relevance", cls=Overridable)(relevance)


def relevance(
    *,
    data: Annotated[
        str,
        typer.Option(
            "--data", metavar="FILE", help="Data set of turns with candidates; toy is built in.", show_default=False
        ),
    ],
    how: Annotated[
        How,
        typer.Option(
            "--how",
            help="hard: 1 for gold evidence, else 0. tfidf: cosine. bm25: score relative to the best. "
            "bi, cross: probability of a trained retriever. reply: similarity to the gold reply. "
            "prompted: score of a language model.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="OUT", help="JSON Lines file to write.", show_default=False)],
    options: Annotated[
        list[str] | None,
        typer.Option(
            "--option", "-o", metavar="NAME=VALUE", help="Option of the format (see: data list).", show_default=False
        ),
    ] = None,
    sources: Annotated[
        SourceChoice, typer.Option("--sources", help="Label candidates of the gold plan's sources, or of all sources.")
    ] = SourceChoice.plan,
    part: Annotated[
        str | None,
        typer.Option(
            "--part",
            metavar="PART",
            help="bi, cross: folder of the trained component. Default for cross: the built-in english/relevance.",
            show_default=False,
        ),
    ] = None,
    query: Annotated[
        QueryField | None,
        typer.Option(
            "--query",
            help="tfidf, bm25: compare with the whole dialogue, its last turn, or the last turn made "
            "standalone. Default: standalone.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="WEIGHTS",
            help="prompted: name (see: dragoman models list) or path of the language model. Default: "
            "that of --agent; options such as --models.language.kind remote select another. "
            "reply: name or path of a sentence encoder. Default: all-minilm-l6-v2-int8.",
            show_default=False,
        ),
    ] = None,
    agent: Agent = None,
    settings: Set = None,
    ask: Annotated[
        PromptStyle | None,
        typer.Option(
            "--ask",
            help="prompted: choose takes the probabilities of the eleven scores, one prompt per "
            "candidate; list has the model write the scores of all candidates at once. Default: "
            "choose.",
            show_default=False,
        ),
    ] = None,
    turns: Annotated[
        int | None,
        typer.Option(
            "--turns",
            min=1,
            metavar="N",
            help="prompted: number of turns in the prompt. Default: 3.",
            show_default=False,
        ),
    ] = None,
    retries: Annotated[
        int | None,
        typer.Option(
            "--retries",
            min=0,
            metavar="N",
            help="prompted, list: retries if the answer cannot be parsed. Default: 2.",
            show_default=False,
        ),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(
            "--cache",
            metavar="FILE",
            help="prompted: cache of answers. Default: $DRAGOMAN_HOME/answers.db.",
            show_default=False,
        ),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Delete the earlier content of OUT and start again.")] = False,
    skip_bad: SkipBad = False,
    skip_failed: Annotated[
        bool,
        typer.Option(
            "--skip-failed", help="Write no label for candidates that could not be scored, instead of failing."
        ),
    ] = False,
    ray: Ray = None,
) -> None:
    """Label the relevance of each candidate of each turn: 0.0, 0.1, ... 1.0.

    Repeat the command to resume an interrupted run; the result is byte-identical.
    """
    from dragoman.train.relevance.labelling import label_relevance

    wanted = Wanted(how, part, model, agent, tuple(settings or ()), ask, turns, retries, cache, query)
    refuse_strange(wanted)
    paid: list[int] = []
    with progress_bars() as bars:
        corpus = _read(data, options or (), skip_bad)
        try:
            with ready(wanted, corpus) as made, workers(ray) as pool:
                labelled = label_relevance(
                    corpus,
                    made.method,
                    out,
                    which=sources.value,
                    fresh=fresh,
                    skip_failed=skip_failed,
                    report=lambda done, total: bars.show("Labelling", done, total),
                    workers=pool,
                    made=partial(method_of, wanted, corpus.sets[0].language),
                    paid=paid.append,
                )
        except KeyboardInterrupt:
            rendering.err().print("Labels so far are saved. Repeat the command to resume.", soft_wrap=True)
            raise
    _summary(labelled)
    if made.answers is not None:
        typer.echo(f"Prompts that were asked anew: {sum(paid)}")


def _read(file: str, options: Sequence[str], skip_bad: bool) -> Corpus:
    from dragoman.core.toml import scalar
    from dragoman.train.data import read_files

    set_options: dict[str, object] = {}
    for entry in options:
        name, mark, value = entry.partition("=")
        if not mark:
            raise typer.BadParameter(f"'{entry}' is not an option. Write NAME=VALUE, as in pool=gold.")
        set_options[name.strip()] = scalar(value.strip())
    return read_files([file], skip_bad=skip_bad, options=set_options)


def _summary(labelled: LabellingResult) -> None:
    """The distribution of labels, overall and for gold evidence."""
    from dragoman.train.relevance.label_survey import survey
    from dragoman.train.relevance.methods import TENTHS

    label_survey = survey(labelled.turns, labelled.rows)
    spreads = {"all": label_survey.all, **(label_survey.sources if len(label_survey.sources) > 1 else {})}
    table = rendering.table("", *(f">{name}" for name in spreads), title="Labels")
    for step, score in enumerate(TENTHS):
        rendering.add_row(table, f"{score:.1f}", *(f"{spread.counts[step]}" for spread in spreads.values()))
    rendering.add_row(table, "candidates", *(f"{spread.total}" for spread in spreads.values()))
    rendering.add_row(table, "right", *(f"{sum(spread.gold)}" for spread in spreads.values()))
    rendering.add_row(table, "0.5 and more", *(f"{spread.high}" for spread in spreads.values()))
    rendering.add_row(table, "of these right", *(_percent(spread.gold_among_high) for spread in spreads.values()))
    rendering.add_row(table, "ROC-AUC", *(_figure(spread.auc) for spread in spreads.values()))
    rendering.out().print(table)
    before = f" ({labelled.found} of them labelled before)" if labelled.found else ""
    typer.echo(f"{len(labelled.turns)} turns: {labelled.path}{before}")
    if labelled.failed:
        rendering.err().print(f"Warning: {labelled.failed} turns lack labels that could not be got.", soft_wrap=True)


def _percent(share: float) -> str:
    return "" if math.isnan(share) else f"{100 * share:.1f} %"


def _figure(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.3f}"
