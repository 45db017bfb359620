"""Checks of training labels: the role's labels are present, enough of each class, and consistent."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence

from dragoman.core.errors import TrainingError
from dragoman.core.examples import Example, Label
from dragoman.train.contract import Corpus

LEAST, LEAST_OF_EACH = 20, 5
_SHOWN = 3
_log = logging.getLogger("dragoman.train")

WANTED: Mapping[str, tuple[Label, ...]] = {
    "gate": ("retrieve",),
    "planner": ("plan",),
    "retriever": ("evidence",),
    "critic": ("evidence", "reply"),
    "unified": ("plan",),
}
"""The labels that a role is learned from."""


def check_sides(kind: str, train: Corpus, dev: Corpus) -> None:
    """Raise an error before training where a role cannot be learned from the data."""
    labels = WANTED.get(kind.partition(".")[0], ())
    if not labels:
        return
    sides = {"training": labelled(train, labels, "training"), "dev": labelled(dev, labels, "dev")}
    _enough(sides["training"], train)
    if labels == ("retrieve",):
        for side, examples in sides.items():
            truths = [example.gold.retrieve for example in examples]
            check_classes(truths, what="retrieve", side=side, held_out=is_held_out(dev))
        refuse_contradictions(sides["training"], [example.gold.retrieve for example in sides["training"]])
    elif labels == ("plan",):
        for side, examples in sides.items():  # rare plans are legitimate: one turn is enough
            plans = [example.gold.plan for example in examples]
            check_classes(plans, what="plan", side=side, least=1, held_out=is_held_out(dev))
        plans = [example.gold.plan for example in sides["training"]]
        refuse_contradictions(sides["training"], plans, by_sources=True)
    else:
        for side, examples in sides.items():
            if not any(example.gold.evidence for example in examples):
                raise TrainingError(
                    f"No {side} turn names a passage as evidence.",
                    remedy="Give turns with 'evidence': the ids of passages.",
                )


def is_held_out(dev: Corpus) -> bool:
    """Whether the dev side was cut from the training dialogues."""
    return any("cut" in origin for origin in dev.origin)


def labelled(corpus: Corpus, labels: Sequence[Label], side: str = "training") -> tuple[Example, ...]:
    """The examples that have all of the given labels; raise an error where there are none."""
    if not corpus.examples:
        raise TrainingError(
            f"The {side} data is empty.",
            remedy=f"Give --data {'dev' if side == 'dev' else 'train'}=FILE with labelled turns"
            + (", or leave it out: a part of the training dialogues is held out." if side == "dev" else "."),
        )
    rows = tuple(
        example for example in corpus.examples if all(getattr(example.gold, label) is not None for label in labels)
    )
    if not rows:
        there = sorted({name for example in corpus.examples for name in _labels_of(example)})
        raise TrainingError(
            f"None of the {len(corpus.examples)} {side} turns ({_names(corpus)}) has the label "
            f"{' and '.join(repr(label) for label in labels)}; they have {', '.join(there) or 'none'}.",
            remedy="Give the file whose labels belong to this recipe; see: dragoman data check FILE",
        )
    return rows


def check_classes(
    truths: Sequence[Hashable], *, what: Label, side: str, least: int | None = None, held_out: bool = False
) -> None:
    """Raise an error for labels of a single class, and for classes with too few examples.

    `held_out` says that dev was cut from the training dialogues.
    """
    counts = Counter(truths)
    if len(counts) < 2:
        only = next(iter(counts), None)
        raise TrainingError(
            f"All {len(truths)} {side} turns have the same label: {what} = {_shown_value(only)}.",
            remedy=_other_kind(what, side, held_out),
        )
    needed = (LEAST_OF_EACH if side == "training" else 1) if least is None else least
    rarest, count = min(counts.items(), key=lambda pair: pair[1])
    if count < needed:
        raise TrainingError(
            f"Only {count} {side} {'turn has' if count == 1 else 'turns have'} {what} = {_shown_value(rarest)}.",
            remedy=f"Label at least {needed} of each.",
        )


def refuse_contradictions(examples: Sequence[Example], truths: Sequence[Hashable], *, by_sources: bool = False) -> int:
    """Count turns that repeat a dialogue with another label: log a warning, and raise an error for more than half.

    With `by_sources`, turns with different sources are different turns: their plans may differ.
    """
    groups: dict[Hashable, list[int]] = {}
    for number, example in enumerate(examples):
        dialogue = tuple((turn.speaker, turn.text.strip()) for turn in example.context.turns)
        offered = frozenset(source.name for source in example.sources) if by_sources else None
        groups.setdefault((dialogue, offered), []).append(number)
    torn = [rows for rows in groups.values() if len({truths[row] for row in rows}) > 1]
    count = sum(map(len, torn))
    if not count:
        return 0
    first = "; ".join(
        " and ".join(f"{examples[row].id} ({_shown_value(truths[row])})" for row in _unlike(rows, truths))
        for rows in torn[:_SHOWN]
    )
    message = f"{count} of {len(examples)} training turns have the same dialogue as another with another label: {first}"
    if 2 * count > len(examples):
        raise TrainingError(
            f"{message}.",
            remedy="The labels contradict each other: see that the label file belongs to these dialogues.",
        )
    _log.warning("%s%s.", message, "; …" if len(torn) > _SHOWN else "")
    return count


def _other_kind(what: Label, side: str, held_out: bool) -> str:
    """The remedy for labels that are all the same."""
    if side != "dev":
        needed = "Both a yes and a no are needed" if what == "retrieve" else "Plans that differ are needed"
        return f"{needed}: label some of the other kind."
    if held_out:
        return "Dev was held out of the training dialogues: label more of the other kind, or give --data dev=FILE."
    return "Give a dev file with both kinds, or leave --data dev out: a part of the training dialogues is held out."


def _enough(examples: Sequence[Example], train: Corpus) -> None:
    if len(examples) < LEAST:
        raise TrainingError(
            f"There are only {len(examples)} labelled training turns ({_names(train)}).",
            remedy=f"At least {LEAST} are needed, {LEAST_OF_EACH} of each label; a few hundred make a useful part.",
        )


def _unlike(rows: Sequence[int], truths: Sequence[Hashable]) -> tuple[int, int]:
    """The first row of a group and the first one with another label."""
    return rows[0], next(row for row in rows if truths[row] != truths[rows[0]])


def _labels_of(example: Example) -> list[str]:
    return [name for name in ("retrieve", "plan", "evidence", "reply") if getattr(example.gold, name) is not None]


def _names(corpus: Corpus) -> str:
    return ", ".join(dict.fromkeys(str(origin["name"]) for origin in corpus.origin)) or "no file"


def _shown_value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "+".join(map(str, value)) or "NULL" if isinstance(value, tuple) else str(value)
