"""Answer 100 questions about the history of a user: 60 made from templates, 40 written by hand, English and Chinese.

Each user tells facts over years by a set clock, and asks later; the whole agent answers, as in a chat. An answer is
exact where it holds every expected part (a place, a date, a number) and none of the wrong ones.

    python benchmarks/memory/temporal_questions.py           # the share of exact answers
    python benchmarks/memory/temporal_questions.py --wrong   # and every answer that is not
"""

from __future__ import annotations

import argparse
import random
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import dragoman
from dragoman.core.clock import use_clock

WRITTEN = Path(__file__).with_suffix(".toml")
MADE = 60
AGENTS = {"en": "harbour", "zh": "chaguan"}
MONTHS = "January February March April May June July August September October November December".split()
CITIES = {
    "en": "Bern Basel Chur Lugano Geneva Lausanne Zug Thun".split(),
    "zh": "北京 上海 杭州 成都 南京 西安 广州 苏州".split(),
}
FIRMS = {"en": "Novartis Roche Nestle Swatch Logitech Sika".split(), "zh": "腾讯 华为 百度 京东 小米 网易".split()}


@dataclass(frozen=True, slots=True)
class Question:
    """A question at a time, after what was told, with what the answer must and must not hold."""

    told: tuple[tuple[str, str], ...]
    at: str
    text: str
    expected: tuple[str, ...]
    wrong: tuple[str, ...] = ()
    kind: str = "written by hand"

    @property
    def language(self) -> str:
        return "en" if self.text.isascii() else "zh"


def shown(moment: datetime, language: str) -> str:
    if language == "zh":
        return f"{moment.year}年{moment.month}月{moment.day}日"
    return f"{moment.day} {MONTHS[moment.month - 1]} {moment.year}"


def made(count: int, seed: int = 5) -> Iterator[Question]:
    """Users who move and change their job: questions with answers that follow from the dates."""
    rng = random.Random(seed)
    for index in range(count):
        language = ("en", "zh")[index % 2]
        english = language == "en"
        cities, firms = rng.sample(CITIES[language], 3), rng.sample(FIRMS[language], 2)
        first = datetime(rng.randint(2019, 2022), rng.randint(1, 12), rng.randint(1, 28), rng.randint(8, 18), 15)
        second = first + timedelta(days=rng.randint(200, 500))
        third = second + timedelta(days=rng.randint(200, 500))
        asked = third + timedelta(days=rng.randint(20, 300))
        lives = "I live in {}." if english else "我住在{}。"
        works = "I work at {}." if english else "我在{}工作。"
        told = [
            (first, lives.format(cities[0])),
            (first + timedelta(minutes=2), works.format(firms[0])),
            (second, ("I moved to {}." if english else "我搬到{}了。").format(cities[1])),
            (second + timedelta(days=20), works.format(firms[1])),
            (third, lives.format(cities[2])),
        ]
        middle = second + (third - second) / 2
        dates = [shown(moment, language) for moment, _ in told]
        kinds = (
            ("before", "Where did I live before?", "我以前住在哪里？", (cities[1],), (cities[2],)),
            (
                "before",
                f"Where did I live before {cities[1]}?",
                f"我搬到{cities[1]}之前住在哪里？",
                (cities[0],),
                (cities[2],),
            ),
            ("before", "Where did I work before?", "我以前在哪里工作？", (firms[0],), (firms[1],)),
            (
                "told",
                f"When did I tell you that I live in {cities[0]}?",
                f"我什么时候告诉你我住在{cities[0]}？",
                (dates[0],),
                (),
            ),
            (
                "told",
                f"When did I tell you that I work at {firms[1]}?",
                f"我什么时候告诉你我在{firms[1]}工作？",
                (dates[3],),
                (),
            ),
            (
                "valid",
                f"Where did I live on {shown(middle, 'en')}?",
                f"{shown(middle, 'zh')}我住在哪里？",
                (cities[1],),
                (cities[0], cities[2]),
            ),
            (
                "valid",
                f"Where did I work in {MONTHS[first.month - 1]} {first.year}?",
                f"{first.year}年{first.month}月我在哪里工作？",
                (firms[0],),
                (firms[1],),
            ),
            (
                "believed",
                f"What did you know about me on {shown(middle, 'en')}?",
                f"{shown(middle, 'zh')}你知道我什么？",
                (cities[1], firms[1]) if middle > told[3][0] else (cities[1], firms[0]),
                (cities[2],),
            ),
            (
                "said",
                f"What did I tell you on {shown(third, 'en')}?",
                f"{shown(third, 'zh')}我告诉过你什么？",
                (cities[2],),
                (cities[0], firms[0]),
            ),
            ("until", f"Until when did I live in {cities[0]}?", f"我在{cities[0]}住到什么时候？", (dates[2],), ()),
            ("now", "Where do I live?", "我住在哪里？", (cities[2],), (cities[0],)),
        )
        kind, in_english, in_chinese, expected, wrong = kinds[(index // 2) % len(kinds)]
        stamps = tuple((f"{moment:%Y-%m-%dT%H:%M}Z", text) for moment, text in told)
        yield Question(stamps, f"{asked:%Y-%m-%dT%H:%M}Z", in_english if english else in_chinese, expected, wrong, kind)


def written() -> Iterator[Question]:
    """The questions that were written by hand."""
    for group in tomllib.loads(WRITTEN.read_text("utf-8"))["user"]:
        told = tuple((at, text) for at, text in group["told"])
        for at, text, expected, *wrong in group["asked"]:
            yield Question(told, at, text, tuple(expected), tuple(wrong[0]) if wrong else ())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wrong", action="store_true", help="print every answer that is not exact")
    options = parser.parse_args()
    right: Counter[tuple[str, str]] = Counter()
    total: Counter[tuple[str, str]] = Counter()
    questions = [*made(MADE), *written()]
    with tempfile.TemporaryDirectory() as folder:
        agents = {
            language: dragoman.load(name, state=Path(folder, name), overrides=["memory.time_zone=UTC"])
            for language, name in AGENTS.items()
        }
        for number, question in enumerate(questions):
            agent, user = agents[question.language], f"user-{number}"
            for at, text in question.told:
                with use_clock(at):
                    agent.ask(text, user=user, dialogue=at[:10])
            with use_clock(question.at):
                answer = agent.ask(question.text, user=user, dialogue="asked").text
            is_right = all(part in answer for part in question.expected) and not any(
                part in answer for part in question.wrong
            )
            for key in ((question.language, question.kind), (question.language, "all")):
                total[key] += 1
                right[key] += is_right
            if options.wrong and not is_right:
                print(f"{question.text}\n    {answer!r}\n    expected {question.expected}, not {question.wrong}")
        for agent in agents.values():
            agent.close()
    for key in sorted(total):
        print(f"{key[0]}  {key[1]:16} {right[key]:3} of {total[key]:3}")
    print(f"all {len(questions)} questions: {sum(right[code, 'all'] for code in AGENTS) / len(questions):.1%}")


if __name__ == "__main__":
    main()
