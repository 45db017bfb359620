"""Whether there is something to learn: labels of the wanted kind, enough of each, and not against each other."""

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
    """Refuse, before anything is trained, what a role cannot be learned from."""
    labels = WANTED.get(kind.partition(".")[0], ())
    if not labels:
        return
    sides = {"training": labelled(train, labels, "training"), "dev": labelled(dev, labels, "dev")}
    _enough(sides["training"], train)
    if labels == ("retrieve",):
        for side, examples in sides.items():
            check_classes([example.gold.retrieve for example in examples], what="retrieve", side=side)
        refuse_contradictions(sides["training"], [example.gold.retrieve for example in sides["training"]])
    elif labels == ("plan",):
        check_classes([example.gold.plan for example in sides["training"]], what="plan", side="training", least=1)
    elif not any(example.gold.evidence for example in sides["training"]):
        raise TrainingError(
            "No training turn names a passage as evidence.", remedy="Give turns with 'evidence': the ids of passages."
        )


def labelled(corpus: Corpus, labels: Sequence[Label], side: str = "training") -> tuple[Example, ...]:
    """The examples that have all of some labels; none at all is an error."""
    if not corpus.examples:
        raise TrainingError(
            f"The {side} data is empty.",
            remedy=f"Give --data {'dev' if side == 'dev' else 'train'}=FILE with labelled turns"
            + (", or leave it out: a part of the training dialogues is held out." if side == "dev" else "."),
        )
    found = tuple(
        example for example in corpus.examples if all(getattr(example.gold, label) is not None for label in labels)
    )
    if not found:
        there = sorted({name for example in corpus.examples for name in _labels_of(example)})
        raise TrainingError(
            f"None of the {len(corpus.examples)} {side} turns ({_names(corpus)}) has the label "
            f"{' and '.join(repr(label) for label in labels)}; they have {', '.join(there) or 'none'}.",
            remedy="Give the file whose labels belong to this recipe; see: dragoman data check FILE",
        )
    return found


def check_classes(truths: Sequence[Hashable], *, what: str, side: str, least: int | None = None) -> None:
    """Refuse labels of one class alone, and classes with too few examples to learn or to judge by."""
    counts = Counter(truths)
    if len(counts) < 2:
        only = next(iter(counts), None)
        raise TrainingError(
            f"All {len(truths)} {side} turns have the same label: {what} = {_said(only)}.",
            remedy="Both a yes and a no are needed: label some of the other kind."
            if side != "dev"
            else "Give a dev file with both, or none: then a part of the training dialogues is held out.",
        )
    needed = (LEAST_OF_EACH if side == "training" else 1) if least is None else least
    rarest, count = min(counts.items(), key=lambda pair: pair[1])
    if count < needed:
        raise TrainingError(
            f"Only {count} {side} {'turn has' if count == 1 else 'turns have'} {what} = {_said(rarest)}.",
            remedy=f"Label at least {needed} of each.",
        )


def refuse_contradictions(examples: Sequence[Example], truths: Sequence[Hashable]) -> int:
    """How many turns repeat a dialogue with another label: warned of, and refused where they are more than half."""
    groups: dict[Hashable, list[int]] = {}
    for number, example in enumerate(examples):
        groups.setdefault(tuple((turn.speaker, turn.text.strip()) for turn in example.context.turns), []).append(number)
    torn = [rows for rows in groups.values() if len({truths[row] for row in rows}) > 1]
    count = sum(map(len, torn))
    if not count:
        return 0
    first = "; ".join(
        " and ".join(f"{examples[row].id} ({_said(truths[row])})" for row in _unlike(rows, truths))
        for rows in torn[:_SHOWN]
    )
    told = f"{count} of {len(examples)} training turns have the same dialogue as another with the other label: {first}"
    if 2 * count > len(examples):
        raise TrainingError(
            f"{told}.", remedy="The labels contradict each other: see that the label file belongs to these dialogues."
        )
    _log.warning("%s%s.", told, "; …" if len(torn) > _SHOWN else "")
    return count


def _enough(examples: Sequence[Example], train: Corpus) -> None:
    if len(examples) < LEAST:
        raise TrainingError(
            f"There are only {len(examples)} labelled training turns ({_names(train)}).",
            remedy=f"At least {LEAST} are needed, {LEAST_OF_EACH} of each label; a few hundred make a useful part.",
        )


def _unlike(rows: Sequence[int], truths: Sequence[Hashable]) -> tuple[int, int]:
    """The first row of a group and the first that says otherwise."""
    return rows[0], next(row for row in rows if truths[row] != truths[rows[0]])


def _labels_of(example: Example) -> list[str]:
    return [name for name in ("retrieve", "plan", "evidence", "reply") if getattr(example.gold, name) is not None]


def _names(corpus: Corpus) -> str:
    return ", ".join(dict.fromkeys(str(origin["name"]) for origin in corpus.origin)) or "no file"


def _said(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "+".join(map(str, value)) or "NULL" if isinstance(value, tuple) else str(value)
