"""Try the default agent on written reading exercises: a document, facts about a user, a question, and what is right.

    python benchmarks/judge/exercises.py [--split dev] [--every 1] [--set reader.joint=]

`benchmarks/exercises/*.jsonl.gz` has one place a line: its document as Markdown and some thirty items with facts, a
question and a label (yes, no, ask, value, none) with the words of the sentence that decides. `train` taught the shipped
part `english-joint`, thresholds were chosen on `dev`, and `test` is for measuring; `dev-zh` and `test-zh` are Chinese.
`train-zh`, and `train-pairs`, where one fact turns the answer, have taught nothing that is shipped yet.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from dragoman.agent.check import fresh_assistants
from dragoman.text.language import language

FOLDER = Path(__file__).parents[1] / "exercises"
AGENT = """
name = "Robin"
language = "{language}"
[[sources]]
name = "MEMORY"
about = "user"
private = true
[[sources]]
name = "DOCUMENTS"
description = "rules, prices and times"
path = "documents"
[gate]
kind = "gate.similarity.v1"
[planner]
kind = "planner.similarity.v1"
fallback = "all"
"""
_YES = re.compile(r"\b(?:Yes|Probably yes)[,.:]|^(?:应该)?(?:可以|是的|要|能|会|有|对)[。：，]")
_NO = re.compile(r"\b(?:No|Probably not)[,.:]|^(?:应该)?(?:不行|不可以|不是|不要|不用|不能|不会|没有)[。：，]")
_LIKELY = re.compile(r"\bProbably (?:yes|not)[,.:]|^应该")
_DECLINED = re.compile(r"could(?:n't| not) find|don't know for certain|不知道|没有找到|没找到", re.IGNORECASE)


def places(split: str, every: int) -> Iterator[dict[str, Any]]:
    """Every so many places of a split."""
    with gzip.open(FOLDER / f"{split}.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from (json.loads(line) for number, line in enumerate(lines) if number % every == 0)


def said(reply: str) -> str:
    """What a reply says: yes, no, ask, none (nothing was found), or value (it quotes)."""
    if _DECLINED.search(reply):
        return "none"
    if _YES.search(reply):
        return "yes"
    if _NO.search(reply):
        return "no"
    return "ask" if reply.rstrip().endswith(("?", "？")) else "value"


def plain(text: str) -> str:
    return " ".join(text.replace("*", "").split()).lower()


def strangers_facts(split: str) -> list[str]:
    """The facts of all items of a split, to be known of a user beside those that decide."""
    return sorted({fact for place in places(split, 1) for item in place["items"] for fact in item.get("facts", ())})


def tried(
    place: dict[str, Any], overrides: Sequence[str], other: Sequence[str] = (), most: int = 0
) -> Iterator[tuple[str, str, bool, bool, float]]:
    """For each item of a place: its label, what was said, whether flatly, whether with the deciding words, the seconds.

    With `most`, so many of the `other` facts are known of the user too, before and after those of the item.
    """
    chance = random.Random(place["document"])
    with TemporaryDirectory() as folder:
        agent = Path(folder) / "agent"
        (agent / "documents").mkdir(parents=True)
        agent_file = AGENT.replace("{language}", language(place["document"]))
        (agent / "agent.toml").write_text(agent_file, encoding="utf-8")
        (agent / "documents" / "document.md").write_text(place["document"], encoding="utf-8")
        with fresh_assistants(agent, overrides=overrides) as (fresh, _), fresh() as assistant:
            for number, item in enumerate(place["items"]):
                user = f"user-{number}"
                beside = chance.sample(other, most) if most else []
                for fact in (*beside[::2], *item.get("facts", ()), *beside[1::2]):
                    assistant.remember(fact, user=user)
                began = perf_counter()
                reply = assistant.ask(item["question"], user=user).text
                quotes = item.get("quotes", ())
                quoted = bool(quotes) and plain(quotes[0]) in plain(reply)
                yield item["label"], said(reply), _LIKELY.search(reply) is None, quoted, perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--split", default="dev", choices=("train", "dev", "test", "dev-zh", "test-zh"))
    parser.add_argument("--every", type=int, default=1, help="take every so many places")
    parser.add_argument(
        "--set", action="append", default=[], metavar="PATH=VALUE", help="override the agent's settings"
    )
    parser.add_argument(
        "--other-facts", type=int, default=0, metavar="N", help="let the user have N facts of other items besides"
    )
    given = parser.parse_args()
    other = strangers_facts(given.split) if given.other_facts else []
    counts: Counter[tuple[str, str]] = Counter()
    flatly: Counter[tuple[str, str]] = Counter()
    quoted: list[bool] = []
    seconds: list[float] = []
    for place in places(given.split, given.every):
        for label, what, flat, right, took in tried(place, given.set, other, given.other_facts):
            counts[label, what] += 1
            flatly[label, what] += flat
            seconds.append(took)
            if label != "none":
                quoted.append(right)
    rows = {
        "yes or no: right": (("yes", "no"), (("yes", "yes"), ("no", "no"))),
        "yes or no: the opposite": (("yes", "no"), (("yes", "no"), ("no", "yes"))),
        "a fact is missing: asked back": (("ask",), (("ask", "ask"),)),
        "near miss: declined": (("none",), (("none", "none"),)),
        "answerable: declined": (
            ("yes", "no", "ask", "value"),
            tuple((label, "none") for label in ("yes", "no", "ask", "value")),
        ),
    }
    yes_or_no = sum(count for (label, _), count in counts.items() if label in ("yes", "no"))
    print(f"{sum(counts.values())} items of {given.split}")
    for name, (labels, cells) in rows.items():
        total = sum(count for (label, _), count in counts.items() if label in labels)
        print(f"{name:32} {sum(counts[cell] for cell in cells) / max(1, total):6.1%} of {total}")
    opposite = flatly["yes", "no"] + flatly["no", "yes"]
    print(f"{'the opposite, without a doubt':32} {opposite / max(1, yes_or_no):6.1%} of {yes_or_no}")
    print(f"{'the deciding words are quoted':32} {sum(quoted) / max(1, len(quoted)):6.1%} of {len(quoted)}")
    ordered = sorted(seconds)
    print(f"p50 {ordered[len(ordered) // 2] * 1000:.0f} ms, p95 {ordered[int(len(ordered) * 0.95)] * 1000:.0f} ms")


if __name__ == "__main__":
    main()
