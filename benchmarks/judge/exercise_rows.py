"""Write what a judge learns from the written exercises: labelled rows, and variants for a larger judge to label.

    python benchmarks/judge/exercise_rows.py --out rows

A row is a question, facts about a user, a sentence under its headings with the comparisons of code behind it, and what
the sentence says to the question: yes, no, unknown (a fact is missing), value or none. `train.jsonl` and `dev.jsonl`
have the deciding sentence of every exercise and its hardest neighbours. `variants.jsonl` has rows of `train` without a
label: with other people's facts in place of the user's or beside them, with other numbers in facts, question or
sentence, or without the fact that decides. Chinese exercises (`train-zh.jsonl.gz`, `dev-zh.jsonl.gz`) become rows of
glosses, as the judge reads them, each with its `original` for a larger judge that reads Chinese.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from dragoman.core.values import Context, Evidence, Passage
from dragoman.decision.chinese.gloss import gloss, gloss_lines
from dragoman.decision.chinese.glossed import whole as with_exception
from dragoman.decision.joint import JointRanker, Option, distinct, placed
from dragoman.decision.relations import user_values, with_relations
from dragoman.models.onnx.encoder import OnnxEncoder
from dragoman.sources.files import parse
from dragoman.sources.passages import cut
from dragoman.text.analyse import Analyser
from dragoman.text.language import language

FOLDER = Path(__file__).parents[1] / "exercises"
LABELS = {"yes": "yes", "no": "no", "ask": "unknown", "value": "value", "none": "none"}
_HARDEST, _OTHERS = 6, 2
"""Sentences beside the deciding one: the nearest to the question, and some of the rest."""
_DIGITS = re.compile(r"\b\d{1,3}\b")
_WORDS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
).split()
_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(_WORDS)})\b")
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_DAY = re.compile(rf"\b(?:{'|'.join(_DAYS)})\b")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a document, and its headings as the judge reads them."""

    path: str
    text: str


def plain(text: str) -> str:
    return " ".join(text.replace("*", "").split()).lower()


def row(question: str, facts: Sequence[str], sentence: Sentence, **labels: Any) -> dict[str, Any]:
    """A row as the judge reads it, with what code compares."""
    if language(sentence.text) == "zh":
        labels["original"] = {"question": question, "facts": list(facts), "text": sentence.path + sentence.text}
        path = " > ".join(gloss(part) for part in sentence.path.removesuffix(": ").split(" > ") if part)
        question, facts = gloss(question), [gloss(fact) for fact in facts]
        sentence = Sentence(f"{path}: " if path else "", gloss_lines(sentence.text))
    text = sentence.path + with_relations(sentence.text, user_values(facts, question))
    return {"question": question, "facts": list(facts), "text": text, **labels}


def as_sentence(option: Option) -> Sentence:
    """The sentence of an option with the exception that follows it, apart from its headings."""
    if language(option.sentence) == "zh":
        passage = option.evidence.passage
        path = " > ".join(dict.fromkeys(part for part in (passage.title, *passage.headings) if part))
        return Sentence(f"{path}: " if path else "", with_exception(option))
    whole = placed(option)
    start = whole.rindex(option.sentence)
    return Sentence(whole[:start], whole[start:])


def changed(text: str, rng: random.Random) -> str:
    """The text with other numbers and weekdays."""

    def number(match: re.Match[str]) -> str:
        value = int(match[0])
        near = (value + rng.randint(1, 6), value - rng.randint(1, min(6, max(1, value - 1))))
        far = rng.randint(1, 90) if value < 100 else value + rng.randint(-80, 80)
        return str(max(1, rng.choice((*near, far))))

    text = _DIGITS.sub(number, text)
    if rng.random() < 0.8:
        text = _NUMBER_WORD.sub(lambda _: rng.choice(_WORDS), text)
    return _DAY.sub(lambda _: rng.choice(_DAYS), text)


class Place:
    """One document with its exercises."""

    def __init__(self, place: dict[str, Any], ranker: JointRanker) -> None:
        document = parse(place["document"].encode(), "document.md")
        self.name = place["place"]
        self._passages = [Evidence(passage, 0.5) for passage in cut(document, "DOCUMENTS", "document.md")]
        self._items = place["items"]
        self._ranker = ranker
        self._facts = [item["facts"] for item in self._items if item.get("facts")]

    def ranked(self, item: dict[str, Any]) -> list[Option]:
        facts = [Evidence(Passage(f"fact-{n}", "MEMORY", text), 0.5) for n, text in enumerate(item.get("facts", ()))]
        context = Context.of(item["question"])
        return distinct(self._ranker.rank(context, facts, self._passages, quick=True))

    def rows(self, rng: random.Random, *, variants: bool) -> Iterator[dict[str, Any]]:
        """The labelled rows of every exercise, and with `variants` those without a label."""
        for number, item in enumerate(self._items):
            options = self.ranked(item)
            quotes = [plain(quote) for quote in item.get("quotes", ())]
            deciding = [o for o in options if any(quote in plain(o.sentence) for quote in quotes)]
            first = next((o for o in deciding if quotes[0] in plain(o.sentence)), None)
            if item["label"] != "none" and first is None:
                continue
            others = [as_sentence(option) for option in options if option not in deciding]
            facts = list(item.get("facts", ()))
            rng.shuffle(facts)
            question, group = item["question"], f"{self.name}/{number}"
            texts = [as_sentence(first)] if first else []
            if first and len(quotes) > 1:
                second = next((o for o in deciding if o is not first and quotes[1] in plain(o.sentence)), None)
                if second and second.sentence not in texts[0].text:
                    texts.append(Sentence(texts[0].path, f"{texts[0].text} {second.sentence}"))
            for place, text in enumerate(texts):
                label = LABELS[item["label"]]
                yield row(question, facts, text, label=label, group=group, kind="gold", main=place == 0)
            near, rest = others[:_HARDEST], others[_HARDEST:]
            for text in (*near, *rng.sample(rest, min(_OTHERS, len(rest)))):
                yield row(question, facts, text, label="none", group=group, kind="neighbour")
            if variants:
                yield from self._variants(item, texts, others, group, rng)

    def _variants(
        self, item: dict[str, Any], texts: list[Sentence], others: list[Sentence], group: str, rng: random.Random
    ) -> Iterator[dict[str, Any]]:
        question, facts = item["question"], list(item.get("facts", ()))
        if texts:
            needed = set(item.get("used", ()))
            if needed and item["label"] in ("yes", "no"):
                rest = [fact for number, fact in enumerate(facts) if number not in needed]
                yield row(question, rest, texts[0], group=group, kind="dropped")
            theirs = [other for other in self._facts if other != facts]
            strangers = sorted({fact for other in theirs for fact in other} - set(facts))
            for _ in range(2):
                more = [*facts, *rng.sample(strangers, min(len(strangers), rng.randint(1, 4)))]
                rng.shuffle(more)
                yield row(question, more, texts[0], group=group, kind="more facts")
            for other in rng.sample(theirs, min(6, len(theirs))):
                mixed = [*other, *(rng.sample(facts, 1) if facts and rng.random() < 0.3 else ())]
                rng.shuffle(mixed)
                yield row(question, mixed, rng.choice(texts), group=group, kind="other facts")
            for times, what in ((6, "facts"), (2, "question"), (3, "sentence")):
                for _ in range(times):
                    yield from self._changed(what, question, facts, rng.choice(texts), group=group, rng=rng)
        for text in others[:3]:
            facts = rng.choice(self._facts) if self._facts else []
            yield row(question, facts, text, group=group, kind="other facts")

    @staticmethod
    def _changed(
        what: str, question: str, facts: list[str], text: Sentence, *, group: str, rng: random.Random
    ) -> Iterator[dict[str, Any]]:
        """A row with other numbers, where there are any."""
        new_facts = [changed(fact, rng) for fact in facts] if what == "facts" else list(facts)
        new_question = changed(question, rng) if what == "question" else question
        new_text = Sentence(text.path, changed(text.text, rng)) if what == "sentence" else text
        if (new_facts, new_question, new_text) != (facts, question, text):
            rng.shuffle(new_facts)
            yield row(new_question, new_facts, new_text, group=group, kind=f"changed {what}")


_rankers: dict[str, JointRanker] = {}


def _rows_of(task: tuple[int, str, bool]) -> list[dict[str, Any]]:
    """All rows of one line of a file of exercises."""
    number, line, variants = task
    place = json.loads(line)
    tongue = language(place["document"])
    if tongue not in _rankers:
        _rankers[tongue] = JointRanker(encoder=OnnxEncoder(), analyse=Analyser(language=tongue))
    return list(Place(place, _rankers[tongue]).rows(random.Random(number), variants=variants))


def main() -> None:
    """Write the rows of every place, in the order of the places."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--exercises", type=Path, default=FOLDER, help="the folder of train.jsonl.gz and dev.jsonl.gz")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--every", type=int, default=1, help="take every so many places")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    with (
        (given.out / "variants.jsonl").open("w", encoding="utf-8") as variants,
        ProcessPoolExecutor(given.processes) as pool,
    ):
        for split in ("dev", "train"):
            file = given.exercises / f"{split}.jsonl.gz"
            if not file.exists():
                continue
            with gzip.open(file, "rt", encoding="utf-8") as lines:
                tasks = [(n, line, split == "train") for n, line in enumerate(lines) if n % given.every == 0]
            counts = Counter[str]()
            with (given.out / f"{split}.jsonl").open("w", encoding="utf-8") as labelled:
                for each in chain.from_iterable(pool.map(_rows_of, tasks)):
                    kind = "labelled" if "label" in each else "variants"
                    counts[kind] += 1
                    print(json.dumps(each, ensure_ascii=False), file=labelled if kind == "labelled" else variants)
            print(split, dict(counts), flush=True)


if __name__ == "__main__":
    main()
