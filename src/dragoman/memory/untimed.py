"""Facts of sentences whose time stands where no rule expects it: 我从2019年开始住在成都, "2 years ago I moved here"."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, tzinfo

from dragoman.core.values import Fact
from dragoman.decision.numerals import normalise
from dragoman.decision.times import find_periods
from dragoman.memory.dating import begins
from dragoman.memory.facts import facts
from dragoman.text import lazy_re as re
from dragoman.text.language import language
from dragoman.text.sentences import sentences

_MOST = 5
_STATES = frozenset("home job diet studies pet hobby status condition".split())
_FILLERS = re.compile("(?<=我)(?:就|一直|都|开始|起|，)+|^(?:开始|起|就|，|,)+")
_UNTRUE = re.compile("如果|假如|要是|假设|听说|据说|[吗?？]|想|打算|可能")


def untimed_facts(
    text: str, at: datetime, zone: tzinfo, *, people: Callable[[], Mapping[str, str]] = dict
) -> tuple[Fact, ...]:
    """The facts of a text without its times, where those say since when something is true."""
    new: list[Fact] = []
    for sentence in sentences(text)[:_MOST]:
        chinese = language(sentence) == "zh"
        if (
            len(sentence) > 120
            or _UNTRUE.search(sentence)
            or not ("我" in sentence if chinese else " ago I " in sentence)
        ):
            continue
        whole = normalise(sentence).replace(" ", "") if chinese else sentence
        for period in find_periods(sentence, at, zone):
            if period.start is None or not begins(period, sentence, at):
                continue
            place = re.search(re.escape(period.text), whole, re.IGNORECASE)
            if place is None and not chinese:  # "Two years ago" is "2 years ago" in the prepared text
                place = re.match(r"[A-Za-z]+ (?:days?|weeks?|months?|years?) ago", whole)
            if place is not None:
                whole = whole[: place.start()] + whole[place.end() :].lstrip(" ,")
        if chinese:
            whole = _FILLERS.sub("", whole)
        if whole != sentence:
            states = (fact for fact in facts(whole, people=people) if fact.relation in _STATES)
            new += [replace(fact, said=sentence) for fact in states]
    return tuple(new)
