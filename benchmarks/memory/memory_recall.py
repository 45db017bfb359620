"""Whether memory finds the right thing: turns of long dialogues, and the fact that a question needs.

    python benchmarks/memory/memory_recall.py [--part dialogues|facts] [--limit N] [--half dev|held] [--errors]

Dialogues: the sessions of each person of LAPS (films, recipes), each on a day of its own, are past chats. The questions
ask for a kind of preference ("Which genres of films do I like?"); evidence are the user's turns that hold the words of
a preference noted for the session. Printed: the share of questions with evidence among the first 5 and 10 turns, and
the share of all evidence found there.

Facts: the likes and dislikes of each persona of PersonaMem, and the preferences of each person of LAPS, are facts about
one user; the question is what the user says next, or the question above. Printed: how often the first fact is the right
one (hit@1), for PersonaMem (its sessions a week, a month and a year after the first) with the fact alone and with the
event that the user told it by, for LAPS with the questions above and with the same in other words. The dev half (even
personas, people by the hash of their ids) was looked at; the held half was not. Reads $DRAGOMAN_DATA/more.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import re
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias
from zlib import crc32

from dragoman.core.clock import use_clock
from dragoman.core.values import Passage, Scope, Source, Turn
from dragoman.memory import RuleMemory
from dragoman.models.onnx.encoder import OnnxEncoder
from dragoman.models.scripted import ScriptedModel
from dragoman.stores.dialogue_search import DialogueQuery, DialogueSearch
from dragoman.stores.in_memory import InMemoryStore
from dragoman.text.analyse import Analyser

QUESTIONS = {
    "time_availability": "How much time do I have for cooking?",
    "dish_like": "Which dishes do I like?",
    "dish_dislike": "Which dishes don't I like?",
    "ingredient_like": "Which ingredients do I like to cook with?",
    "ingredient_dislike": "Which ingredients don't I like?",
    "ingredient_availability": "Which ingredients do I have at home?",
    "skill_level": "How well can I cook?",
    "diet_requirements": "What diet do I follow?",
    "allergies": "What am I allergic to?",
    "cuisine_like": "Which cuisines do I like?",
    "health_goals": "What are my health goals?",
    "companions": "For whom do I cook?",
    "genre_preferences_like": "Which genres of films do I like?",
    "genre_preferences_dislike": "Which genres of films do I avoid?",
    "movie_like": "Which films did I like?",
    "actor_like": "Which actors do I like?",
    "viewing_companions": "With whom do I watch films?",
    "content_restrictions": "What must not be in a film that I watch?",
    "platform_availability": "Which streaming services do I use?",
    "users_mood": "What was my mood when I wanted to watch a film?",
    "release_period_preferences": "From which years do I like films?",
}
OTHER_WORDS = {
    "time_availability": "How many minutes can I spend in the kitchen?",
    "dish_like": "What are my favourite meals?",
    "dish_dislike": "What meals do I hate?",
    "ingredient_like": "What do I love to put into my food?",
    "ingredient_dislike": "What should I leave out because I dislike it?",
    "ingredient_availability": "What is in my fridge and pantry?",
    "skill_level": "How good a cook am I?",
    "diet_requirements": "Is there a diet that I have to keep to?",
    "allergies": "Which foods make me ill?",
    "cuisine_like": "The food of which countries do I enjoy?",
    "health_goals": "What do I want to do for my health?",
    "companions": "Who am I cooking for?",
    "genre_preferences_like": "What kind of movies do I enjoy?",
    "genre_preferences_dislike": "What kind of movies do I dislike?",
    "movie_like": "What are my favourite movies?",
    "actor_like": "Who are my favourite actors?",
    "viewing_companions": "Who watches movies with me?",
    "content_restrictions": "What may not be shown in my movies?",
    "platform_availability": "Where can I stream movies?",
    "users_mood": "How did I feel when I picked a movie?",
    "release_period_preferences": "What decades should my movies be from?",
}
"""The same questions in words that were written after the ranking was made, and changed nothing in it."""
TODAY = "2026-03-04T10:00:00Z"
BLOCKS = {
    "Init Conversation": "2025-01-01T10:00:00Z",
    "Conversation Next Week": "2025-01-08T10:00:00Z",
    "Conversation Next Month": "2025-02-05T10:00:00Z",
    "Conversation Next Year": "2026-01-07T10:00:00Z",
}
"""The sessions of PersonaMem, and when they take place."""
ANA = Scope("bench", "ana")
MEMORY = Source("MEMORY", about="user", private=True)
Preferences = dict[str, list[str]]
Session = tuple[list[Turn], Preferences]
Told: TypeAlias = tuple[str, str, str]
"""A fact, the sentence that told it, and when."""
Question: TypeAlias = tuple[list[Told], str, set[str], str]
"""Facts, a question, the facts that answer it, and when it is asked."""


def people(folder: Path) -> dict[str, list[Session]]:
    """The sessions of each person of LAPS with their preferences."""
    sessions: dict[str, list[Session]] = defaultdict(list)
    for path in sorted((folder / "laps").glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                person = json.loads(line)
                for session in person["sessions"]:
                    turns = [
                        Turn("user" if t["role"] == "User" else "agent", t["message"]) for t in session["dialogue"]
                    ]
                    wanted = {
                        key: [v for v in values if isinstance(v, str)]
                        for key, values in (session.get("preferences") or {}).items()
                    }
                    sessions[f"{path.name.split('_')[0]} {person['worker_id']}"].append((turns, wanted))
    return dict(sessions)


def dialogue_rows(sessions: list[Session], analyse: Analyser) -> tuple[InMemoryStore, dict[str, set[str]]]:
    """A store with the sessions as chats, and the ids of the evidence for each question."""
    store, evidence = InMemoryStore(), defaultdict(set)
    for day, (turns, preferences) in enumerate(sessions, start=1):
        name = f"chat-{day}"
        dated = [Turn(t.speaker, t.text, f"2026-03-{day:02}T10:{i % 60:02}:00Z") for i, t in enumerate(turns) if t.text]
        store.append(ANA, name, dated)
        for key, values in preferences.items():
            for value in values:
                words = set(analyse(value))
                for place, turn in enumerate(dated):
                    if key in QUESTIONS and words and turn.speaker == "user" and words <= set(analyse(turn.text)):
                        evidence[key].add(f"turn:{name}:{place}")
    return store, evidence


def measure_dialogues(folder: Path, encoder: OnnxEncoder, limit: int) -> None:
    analyse = Analyser(language="en")
    hits: dict[int, list[float]] = {5: [], 10: []}
    shares: dict[int, list[float]] = {5: [], 10: []}
    seconds, lengths = [], []
    everybody = [sessions for sessions in people(folder).values() if len(sessions) >= 3]
    for sessions in everybody[:limit]:
        store, evidence = dialogue_rows(sessions, analyse)
        search = DialogueSearch(store, encoder, analyse)
        lengths.append(sum(len(turns) for turns, _ in sessions))
        for key, gold in evidence.items():
            started = time.perf_counter()
            found = [hit.id for hit in search.search(ANA, DialogueQuery(QUESTIONS[key], 10, speaker="user"))]
            seconds.append(time.perf_counter() - started)
            for k, flags in hits.items():
                flags.append(float(bool(gold & set(found[:k]))))
                shares[k].append(len(gold & set(found[:k])) / min(k, len(gold)))
    print(
        f"LAPS: {len(lengths)} people of 3 or more chats, {sum(lengths) / len(lengths):.0f} turns each, "
        f"{len(seconds)} questions"
    )
    for k, flags in hits.items():
        print(f"  at {k:2}: evidence found {mean(flags):.1%}, of all evidence {mean(shares[k]):.1%}")
    print(f"  median search {sorted(seconds)[len(seconds) // 2] * 1000:.1f} ms")


def persona_questions(folder: Path, *, half: str, events: bool) -> Iterator[Question]:
    """The facts that hold of a persona of PersonaMem, what the user says then, and the fact that is meant."""
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    with gzip.open(folder / "personamem" / "train.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            is_dev = int(re.search(r"persona(\d+)_", row["file"])[1]) % 2 == 0
            if half not in ("all", "dev" if is_dev else "held"):
                continue
            if isinstance(row["ref"], dict) and row["type"].startswith("recalling") and row["block"] in BLOCKS:
                rows[row["file"]].append(row)
    for name in random.Random(7).sample(sorted(rows), len(rows)):
        held: dict[str, str] = {}  # what is liked or disliked, the newest word on it
        told: dict[str, tuple[str, str]] = {}  # the event with which it was told, and when
        for block, moment in BLOCKS.items():
            asked = []
            for row in (row for row in rows[name] if row["block"] == block):
                for key, value in row["ref"].items():
                    if key.startswith(("[Fact]", "[Updated Fact]")) and isinstance(value, str):
                        topic = re.sub(r"\s*\[.*?\]", "", value).strip()
                        held[topic.casefold()] = "do not like" if "Dislikes" in key else "like"
                        told[topic.casefold()] = (str(row["ref"].get("Event", "")) if events else "", moment)
                        asked.append((row["q"], topic.casefold()))
            facts = {topic: f"I {verb} {topic}." for topic, verb in held.items()}
            for question, topic in asked:
                yield [(facts[each], *told[each]) for each in facts], question, {facts[topic]}, moment


def laps_questions(folder: Path, wording: dict[str, str], *, half: str) -> Iterator[Question]:
    """The preferences of a person of LAPS, each with its category, a question, and those that answer it."""
    for name, sessions in people(folder).items():
        if half not in ("all", "dev" if crc32(name.encode()) % 2 == 0 else "held"):
            continue
        by_key: dict[str, set[str]] = defaultdict(set)
        for _, preferences in sessions:
            for key, values in preferences.items():
                by_key[key].update(f"{key.replace('_', ' ')}: {value.strip()}" for value in values if value.strip())
        everything = sorted(set().union(*by_key.values())) if by_key else []
        for key, right in by_key.items():
            if key in wording and len(everything) > 4:
                yield [(fact, "", "") for fact in everything], wording[key], right, TODAY


def measure_facts(folder: Path, encoder: OnnxEncoder, limit: int, *, half: str, errors: bool) -> None:
    sets = {
        "PersonaMem": persona_questions(folder, half=half, events=False),
        "PersonaMem, with the event told": persona_questions(folder, half=half, events=True),
        "LAPS": laps_questions(folder, QUESTIONS, half=half),
        "LAPS in other words": laps_questions(folder, OTHER_WORDS, half=half),
    }
    for name, questions in sets.items():
        right, sizes, stores = [], [], {}
        for facts, question, gold, at in questions:
            if len(right) >= limit:
                break
            key = tuple(facts)
            if key not in stores:
                stores[key] = memory_of(facts, encoder)
            with use_clock(at):
                found = stores[key].recall(ANA, question, k=1)
            right.append(float(bool(found) and found[0].text in gold))
            if errors and not right[-1]:
                print(f"  {question}\n    wanted {sorted(gold)[0]}\n    found  {found[0].text if found else '-'}")
            sizes.append(len(facts))
        print(f"{name}: {len(right)} questions over {sum(sizes) / len(sizes):.0f} facts each, hit@1 {mean(right):.3f}")


def memory_of(facts: list[Told], encoder: OnnxEncoder) -> RuleMemory:
    store, analyse = InMemoryStore(), Analyser(language="en")
    rows = [
        Passage(f"fact-{i}", "MEMORY", text, position=i, meta={"slot": "about", "said": said, "said_at": told})
        for i, (text, said, told) in enumerate(facts)
    ]
    store.put(ANA, rows, encoder.encode([row.indexed for row in rows]))
    return RuleMemory(store=store, encoder=encoder, analyse=analyse, sources=(MEMORY,), language_model=ScriptedModel())


def mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=("dialogues", "facts", "all"), default="all")
    parser.add_argument("--limit", type=int, default=1000)
    parser.add_argument("--half", choices=("dev", "held", "all"), default="held")
    parser.add_argument("--errors", action="store_true", help="show what was found in the place of the right fact")
    options = parser.parse_args()
    folder = Path(os.environ.get("DRAGOMAN_DATA", "data")) / "more"
    encoder = OnnxEncoder(weights="all-minilm-l6-v2-int8")
    if options.part != "facts":
        measure_dialogues(folder, encoder, options.limit)
    if options.part != "dialogues":
        measure_facts(folder, encoder, options.limit, half=options.half, errors=options.errors)


if __name__ == "__main__":
    main()
