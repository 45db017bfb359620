"""How well facts are told from what users say: precision and recall on turns with known facts.

    python benchmarks/memory/memory_facts.py [--data FOLDER] [--errors]

Our own turns (`tests/memory/data`): `turns.toml`, whose held half was written before the rules and hardly tuned on,
`voices.toml`, which the rules were tuned on, and `fresh_turns.toml`, which was written before the rules were mended and
whose errors nobody has looked at (its totals were watched). The preferences of LAPS and the attributes that others
marked in ConvAI2 (measured
only) name what to remember in words of their own: there, a fact counts as found where its value or relation and a
gold value share a word. LAPS also notes what holds for one evening (time, mood, guests, what is in the fridge); the
rows "that last" leave those kinds out. "With the gate" is what memory keeps: by the rules and by the trained write
gate. Junk: of 1,000 turns of small talk and of commands to an assistant (chitchat, CLINC), how many leave a fact that
is none about the user; facts of these turns that were judged to be true stand in `tests/memory/data/small_talk.toml`.
"""

from __future__ import annotations

import argparse
import ast
import gzip
import json
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from dragoman.core.values import Fact
from dragoman.memory.correction import corrected
from dragoman.memory.facts import facts
from dragoman.memory.people import people_of
from dragoman.memory.write_gate import WriteGate
from dragoman.models.onnx.encoder import OnnxEncoder
from dragoman.text.language import language

TURNS = Path(__file__).parents[2] / "tests" / "memory" / "data"
_EMPTY = frozenset(
    "a an the my our his her its i to of in on at and or with for is are be have has some any not no do don't".split()
)


@dataclass(slots=True)
class Score:
    """Counts of facts: found, of them right, wanted, of them found."""

    found: int = 0
    right: int = 0
    wanted: int = 0
    met: int = 0

    @property
    def precision(self) -> float:
        return self.right / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        return self.met / self.wanted if self.wanted else 1.0

    def row(self, name: str) -> str:
        return (
            f"{name:<28} {self.precision:9.3f} {self.recall:7.3f}   "
            f"{self.right}/{self.found} right, {self.met}/{self.wanted} met"
        )


def learned(turn: dict[str, object]) -> tuple[Fact, ...]:
    """The facts of a turn, after what the user said before."""
    before = facts(str(turn.get("before", "")))
    text = str(turn["text"])
    return facts(text, people=partial(people_of, before)) or corrected(text, before)


def matches(fact: Fact, gold: str) -> bool:
    """Whether a fact is the one wanted: subject and slot equal, one value within the other."""
    subjects, slots, values = (part.strip() for part in gold.split("|"))
    if fact.subject.casefold() not in subjects.casefold().split("/") or fact.relation not in slots.split("/"):
        return False
    value = plain(fact.value)
    return any(value and (value in plain(one) or plain(one) in value) for one in values.split("/"))


def plain(text: str) -> str:
    words = re.findall(r"[^\W_]+", text.casefold())
    return " ".join(word for word in words if word not in ("a", "an", "the", "my", "our")) or text.casefold()


def own(name: str = "turns", *, held: bool = False, errors: bool = False, chinese: bool | None = None) -> Score:
    """Our own turns of a file, or of one half of it; facts count where subject, slot and value are right."""
    score = Score()
    with (TURNS / f"{name}.toml").open("rb") as file:
        turns = tomllib.load(file)["turn"]
    for turn in turns:
        if bool(turn.get("held")) != held or chinese not in (None, language(turn["text"]) == "zh"):
            continue
        found, gold = learned(turn), list(turn["facts"])
        score.found += len(found)
        score.wanted += len(gold)
        wrong = [fact for fact in found if not any(matches(fact, one) for one in gold)]
        missed = [one for one in gold if not any(matches(fact, one) for fact in found)]
        score.right += len(found) - len(wrong)
        score.met += len(gold) - len(missed)
        if errors and (wrong or missed):
            print(turn["text"])
            for fact in wrong:
                print(f"    wrong   {fact.subject} | {fact.relation} | {fact.value}    ({fact.text})")
            for one in missed:
                print(f"    missed  {one}")
    return score


def content(text: str) -> frozenset[str]:
    return frozenset(_stem(word) for word in re.findall(r"[a-z]+", text.lower()) if word not in _EMPTY)


def _stem(word: str) -> str:
    return re.sub(r"(?:ies|es|s|ing|ed|y|e)$", "", word) if len(word) > 4 else word


_OF_THE_DAY = frozenset(
    "time_availability ingredient_availability users_mood occasion_or_theme special_occasion seasonal_themes "
    "companions viewing_companions seasonal_ingredients".split()
)
"""Kinds of LAPS that a user tells of one meal or one film."""


def laps(folder: Path, *, gate: WriteGate | None = None, lasting: bool = False) -> Score:
    """LAPS: what users of recipe and film dialogues prefer; gold values are words of the user, by session.

    With a `gate`, facts are those of the rules and of the gate.
    """
    score = Score()
    for path in sorted(folder.glob("*_val.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                for session in json.loads(line)["sessions"]:
                    said = [turn["message"] for turn in session["dialogue"] if turn["role"] == "User"]
                    spoken = content(" ".join(said))
                    kinds = session["preferences"].items()
                    gold = [
                        content(v) for kind, values in kinds if not (lasting and kind in _OF_THE_DAY) for v in values
                    ]
                    gold = [value for value in gold if value and value <= spoken]  # as far as it is in the words
                    placed = [(text, facts(text)) for text in said]
                    kept = [(*rules, *(gate.facts(text, rules) if gate else ())) for text, rules in placed]
                    found = [content(f"{fact.value} {fact.relation}") for each in kept for fact in each]
                    _overlap(score, found, gold)
    return score


def attributes(folder: Path) -> Score:
    """Turns of ConvAI2 with the triples that annotators took from them; a turn without a triple wants nothing."""
    score = Score()
    for path in sorted(folder.glob("*valid*.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                text, *triples = line.rstrip("\n").split("\t")
                match = re.match(r"\d+\s+(.*)", text) or re.match(r"\w+'?s? persona: (.*)", text)
                said = (match[1] if match else text).strip()
                gold = [
                    content(" ".join(ast.literal_eval(triple)[2:]))
                    for triple in triples
                    if triple.startswith("[") and "blank" not in triple
                ]
                found = [content(f"{fact.value} {fact.relation}") for fact in facts(tidy(said))]
                _overlap(score, found, [value for value in gold if value])
    return score


def tidy(text: str) -> str:
    """ConvAI2's tokens as people write them."""
    text = re.sub(r" (?=[.,!?;'])", "", re.sub(r" ' (?=(?:m|s|re|ve|d|ll|t)\b)", "'", text))
    text = re.sub(r"\bi\b", "I", text)
    return re.sub(r"(?:^|(?<=[.!?] ))[a-z]", lambda first: first[0].upper(), text)


@dataclass(frozen=True, slots=True)
class Junk:
    """How many turns of small talk left facts in memory, and how many facts are none about the user."""

    turns: int
    facts: int
    junk: int

    def row(self, name: str) -> str:
        share = self.junk / self.turns if self.turns else 0.0
        return f"{name:<28} {share:9.4f} {'':>7}   {self.junk} junk of {self.facts} facts from {self.turns} turns"


def small_talk(more: Path) -> list[str]:
    """The same 1,000 turns each time: every sixth of CLINC's validation part, one message of 500 dialogues."""
    with gzip.open(more / "clinc_oos" / "data_full.json.gz", "rt", encoding="utf-8") as file:
        turns = [text for text, _ in json.load(file)["val"][::6]]
    with gzip.open(more / "chitchat" / "dialogues.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in islice(lines, 500):
            messages = json.loads(line)["messages"]
            turns.append(messages[min(4, len(messages) - 1)][0])
    return turns


def junk(more: Path, *, errors: bool) -> Junk:
    """The facts of small talk that nobody judged to be true."""
    with (TURNS / "small_talk.toml").open("rb") as file:
        judged = {fact.casefold() for fact in tomllib.load(file)["facts"]}
    turns = small_talk(more)
    gate = WriteGate(OnnxEncoder())
    placed = [facts(text) for text in turns]
    learnt = [
        (text, fact)
        for text, by_rules in zip(turns, placed, strict=True)
        for fact in (*by_rules, *gate.facts(text, by_rules))
    ]
    wrong = [(text, fact) for text, fact in learnt if f"{fact.slot} | {fact.value}".casefold() not in judged]
    for text, fact in wrong if errors else ():
        print(f"{text}\n    junk    {fact.slot} | {fact.value}")
    return Junk(len(turns), len(learnt), len(wrong))


def _overlap(score: Score, found: Sequence[frozenset[str]], gold: Sequence[frozenset[str]]) -> None:
    score.found += len(found)
    score.wanted += len(gold)
    score.right += sum(any(value & one for one in gold) for value in found)
    score.met += sum(any(value & one for value in found) for one in gold)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("DRAGOMAN_DATA", "data")))
    parser.add_argument("--errors", action="store_true", help="show what is wrong or missed in the open half")
    arguments = parser.parse_args()
    print(f"{'':<28} {'precision':>9} {'recall':>7}")
    for name, measure in _measures(arguments.data, errors=arguments.errors):
        print(measure().row(name))


def _measures(data: Path, *, errors: bool) -> Iterator[tuple[str, Callable[[], Score | Junk]]]:
    yield "own turns, open half", lambda: own(errors=errors)
    yield "own turns, held half", lambda: own(held=True)
    yield "of these, Chinese", lambda: own(held=True, chinese=True)
    yield "turns in many voices, open", lambda: own("voices", errors=errors)
    yield "fresh turns, never tuned on", lambda: own("fresh_turns")
    more = data / "more"
    if (more / "laps").is_dir():
        gate = WriteGate(OnnxEncoder())
        yield "LAPS preferences (val)", lambda: laps(more / "laps")
        yield "  with the gate", lambda: laps(more / "laps", gate=gate)
        yield "  with the gate, that last", lambda: laps(more / "laps", gate=gate, lasting=True)
    if (more / "user_attributes").is_dir():
        yield "user attributes (valid)", lambda: attributes(more / "user_attributes")
    if (more / "chitchat").is_dir() and (more / "clinc_oos").is_dir():
        yield "small talk, junk per turn", lambda: junk(more, errors=errors)


if __name__ == "__main__":
    main()
