"""Build the labelling method of `dragoman label relevance` from its options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import typer

from dragoman.cli.terminal import rendering
from dragoman.cli.terminal.agent_options import agent_name, overrides

if TYPE_CHECKING:
    from dragoman.train.contract import Corpus
    from dragoman.train.relevance.answer_cache import AnswerCache
    from dragoman.train.relevance.methods import RelevanceMethod

_SHIPPED = "english/relevance"
_SEEN = "Warning: the part was trained on {name}, perhaps on these very turns: it is surer of them than of new ones."
_TURNS = 3
_RETRIES = 2


class How(StrEnum):
    """Methods of scoring a candidate's relevance."""

    hard = "hard"
    tfidf = "tfidf"
    bm25 = "bm25"
    bi = "bi"
    cross = "cross"
    reply = "reply"
    prompted = "prompted"


class QueryField(StrEnum):
    """The part of a dialogue that words are compared with."""

    history = "history"
    last = "last"
    standalone = "standalone"


class PromptStyle(StrEnum):
    """How a language model is prompted."""

    choose = "choose"
    list = "list"


class Wanted(NamedTuple):
    """Options of the method; None where an option is not given."""

    how: How
    part: str | None = None
    model: str | None = None
    agent: str | None = None
    set: tuple[str, ...] = ()
    ask: PromptStyle | None = None
    turns: int | None = None
    retries: int | None = None
    cache: Path | None = None
    query: QueryField | None = None


class ReadyMethod(NamedTuple):
    """A method and, for a language model, its answer cache."""

    method: RelevanceMethod
    answers: AnswerCache | None = None


_ASKS = (How.prompted,)
_BELONGS: Mapping[str, tuple[How, ...]] = {
    "part": (How.bi, How.cross),
    "query": (How.tfidf, How.bm25),
    "model": (How.prompted, How.reply),
    **dict.fromkeys(("agent", "set", "ask", "turns", "retries", "cache"), _ASKS),
}


def refuse_strange(wanted: Wanted) -> None:
    """Reject options of other methods, which would have no effect."""
    for name, methods in _BELONGS.items():
        if getattr(wanted, name) not in (None, ()) and wanted.how not in methods:
            options = " and ".join(f"--how {how.value}" for how in methods)
            raise typer.BadParameter(f"--{name} belongs to {options}.")
    if wanted.how is How.bi and wanted.part is None:
        raise typer.BadParameter("--how bi needs --part DIR (dragoman train retriever-bi makes one).")
    if wanted.retries is not None and wanted.ask is not PromptStyle.list:
        raise typer.BadParameter("--retries belongs to --ask list: a choice can always be read.")


@contextmanager
def ready(wanted: Wanted, corpus: Corpus) -> Iterator[ReadyMethod]:
    """The method for a data set; its models are closed on exit."""
    with _opened(wanted, corpus.sets[0].language) as made:
        learned_from = getattr(made.method, "learned_from", None)
        for name in learned_from(corpus.origin) if learned_from is not None else ():
            rendering.err().print(_SEEN.format(name=name), style="yellow", soft_wrap=True)
        yield made


@contextmanager
def method_of(wanted: Wanted, language: str) -> Iterator[RelevanceMethod]:
    """Build the method again in a worker process."""
    with _opened(wanted, language) as made:
        yield made.method


@contextmanager
def _opened(wanted: Wanted, language: str) -> Iterator[ReadyMethod]:
    if wanted.how is How.prompted:
        with _prompted(wanted, language) as made:
            yield made
    elif wanted.how in (How.bi, How.cross):
        from dragoman.train.relevance.by_retriever import BiLabels, CrossLabels

        yield ReadyMethod(BiLabels(wanted.part or "") if wanted.how is How.bi else CrossLabels(wanted.part or _SHIPPED))
    elif wanted.how is How.reply:
        from dragoman.train.relevance.by_reply import ReplyLabels

        yield ReadyMethod(ReplyLabels(wanted.model) if wanted.model else ReplyLabels())
    else:
        yield ReadyMethod(_plain(wanted, language))


def _plain(wanted: Wanted, language: str) -> RelevanceMethod:
    from dragoman.train.relevance.methods import HardLabels, LexicalLabels

    if wanted.how is How.hard:
        return HardLabels()
    weighting: Literal["tfidf", "bm25"] = "tfidf" if wanted.how is How.tfidf else "bm25"
    query: Literal["history", "last", "standalone"] = (wanted.query or QueryField.standalone).value
    return LexicalLabels(weighting, language=language, query=query)


@contextmanager
def _prompted(wanted: Wanted, language: str) -> Iterator[ReadyMethod]:
    from dragoman.agent.build import locate
    from dragoman.agent.create import Creator
    from dragoman.config import load_config
    from dragoman.core.registry import REGISTRIES
    from dragoman.train.relevance.answer_cache import AnswerCache, default_file
    from dragoman.train.relevance.by_language_model import ChosenLabels, ListedLabels, identity

    file, _ = locate(agent_name(wanted.agent))
    chosen = overrides(wanted.set) | ({"models.language.weights": wanted.model} if wanted.model else {})
    config = load_config(file, chosen)
    table = config.table("model")
    model_identity = identity(table | {"kind": REGISTRIES["model"].resolve(table["kind"])})
    creator = Creator({"folder": file.parent, "language": language}, {"model": table}, file=str(file))
    model = creator.shared("model")
    answers = AnswerCache(model, wanted.cache or default_file(), identity=model_identity)
    turns = wanted.turns or _TURNS
    try:
        if wanted.ask is PromptStyle.list:
            retries = _RETRIES if wanted.retries is None else wanted.retries
            listed = ListedLabels(answers, model=model_identity, language=language, turns=turns, retries=retries)
            yield ReadyMethod(listed, answers)
        else:
            yield ReadyMethod(ChosenLabels(answers, model=model_identity, language=language, turns=turns), answers)
    finally:
        answers.close()
        close = getattr(model, "close", None)
        if close is not None:
            close()
