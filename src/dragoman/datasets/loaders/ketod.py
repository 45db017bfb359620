"""KETOD as released: the system turns of SGD that were enriched, with their knowledge and new wording.

The release names SGD's dialogues by id alone, and SGD uses an id in more than one of its folders. The release's
own join looks into the folder of its split, then into train, and so gives some dialogues the text of another one.
Here each dialogue is joined with the text that its enriched turns were made from; each repair is a warning.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from pydantic import AliasChoices, Field

from dragoman.core.examples import Example, Gold, Label, Problem
from dragoman.core.registry import datasets
from dragoman.core.values import Context, Passage, Scope, Source
from dragoman.datasets.loaders.sgd import SPLITS, Match, SgdDialogue, best, dialogue_files, read_dialogues
from dragoman.datasets.reading import FileRow, Record, parsed
from dragoman.datasets.streaming import json_records

KNOWLEDGE = Source(
    "KNOWLEDGE", "background facts about the places, works and people that the dialogue names", private=True
)

_LEAST_AGREEMENT = 0.3
"""Least share of words that an enriched turn keeps; below it the text belongs to another dialogue."""


class _Id(Record):
    dialogue_id: str


class _KetodTurn(Record):
    enrich: bool = False
    enriched_utter: str | None = None
    utterance: str | None = None  # the plain text, in files that have been joined before
    kg_snippets: list[int | str] | None = None

    @property
    def own_words(self) -> str:
        """The wording of the turn in the file itself."""
        return self.utterance or (self.enriched_utter if self.enrich else None) or ""


class _KetodDialogue(Record):
    dialogue_id: str = Field(min_length=1)
    turns: list[_KetodTurn]
    passages: dict[str, list[list[object]]] = Field(
        default_factory=dict, validation_alias=AliasChoices("entity_passages_sents", "entity_passage_sents")
    )


@datasets.register("ketod.v1")
class Ketod:
    """A split of KETOD; `sgd` is the folder with SGD's train, dev and test. Snippets are private to a dialogue."""

    name = "ketod"
    language = "en"
    sources: tuple[Source, ...] = (KNOWLEDGE,)
    labels: frozenset[Label] = frozenset({"retrieve", "plan", "evidence", "reply"})

    def __init__(self, *, file: Path, sgd: Path) -> None:
        self._file = Path(file)
        self._sgd = Path(sgd)

    @property
    def files(self) -> tuple[Path, ...]:
        return (self._file, *dialogue_files(self._sgd))

    def passages(self) -> Iterator[Passage]:
        return iter(())

    def examples(self) -> Iterator[Example | Problem]:
        wanted = {outcome[1].dialogue_id for outcome in parsed(self._rows(), _Id) if isinstance(outcome, tuple)}
        texts: dict[str, list[SgdDialogue]] = defaultdict(list)
        for text in read_dialogues(self._sgd, wanted):
            if isinstance(text, Problem):
                yield text
            else:
                texts[text.id].append(text)
        seen: dict[str, int] = {}
        for outcome in parsed(self._rows(), _KetodDialogue):
            if isinstance(outcome, Problem):
                yield outcome
                continue
            row, dialogue = outcome
            first = seen.setdefault(dialogue.dialogue_id, row.number)
            if first != row.number:
                yield row.error(f"the dialogue {dialogue.dialogue_id} is also record {first}")
            else:
                yield from self._dialogue(row, dialogue, texts.get(dialogue.dialogue_id, []))

    def _rows(self) -> Iterator[FileRow | Problem]:
        return json_records(self._file, int, holds="a list of KETOD dialogues")

    def _dialogue(
        self, row: FileRow, dialogue: _KetodDialogue, texts: list[SgdDialogue]
    ) -> Iterator[Example | Problem]:
        if not texts:
            yield row.error(f"SGD has no dialogue {dialogue.dialogue_id}")
            return
        own = self._as_released(texts)
        own_words = {place: turn.own_words for place, turn in enumerate(dialogue.turns) if turn.own_words}
        match = best(texts, own_words, len(dialogue.turns))
        if match.agreement < _LEAST_AGREEMENT or len(match.dialogue.turns) < len(dialogue.turns):
            yield row.error(f"no SGD dialogue {dialogue.dialogue_id} has the text that was enriched here")
            return
        yield from _join_report(row, match, own, dialogue)
        yield from self._turns(row, dialogue, match.dialogue)

    def _as_released(self, texts: list[SgdDialogue]) -> SgdDialogue:
        """Return the dialogue of the release's own join, first, so that it wins ties."""
        split = next((name for name in SPLITS if name in self._file.stem), "train")
        texts.sort(key=lambda text: (text.split != split, text.split != "train"))
        return texts[0]

    def _turns(self, row: FileRow, dialogue: _KetodDialogue, text: SgdDialogue) -> Iterator[Example | Problem]:
        name = dialogue.dialogue_id
        pool, oddities = _pool(row, dialogue)
        yield from oddities
        candidates = tuple(pool.values())
        position = 0
        for place, turn in enumerate(dialogue.turns):
            turn_text = text.turns[place]
            if turn_text.speaker == "user":
                continue
            context = Context(text.turns[:place], Scope(self.name, name), name)
            gold, fault = _gold(turn, turn_text.text, pool)
            if not place or text.turns[place - 1].speaker != "user" or not context.last.strip():
                yield row.error(f"turn {place}: it answers no user turn that says something")
            elif fault:
                yield row.error(f"turn {place}: {fault}")
            else:
                yield Example(
                    f"{name}#{position}",
                    context,
                    self.sources,
                    candidates,
                    gold,
                    position,
                    domain="+".join(text.services),
                    meta={"turn_index": str(place), "split": text.split, "plain": turn_text.text},
                )
            position += 1


def _join_report(row: FileRow, match: Match, own: SgdDialogue, dialogue: _KetodDialogue) -> Iterator[Problem]:
    """Return the warning about the chosen text."""
    chosen = match.dialogue
    if chosen is not own and chosen.turns != own.turns:
        yield row.warning(
            f"joined with {chosen.split}/{chosen.id} of SGD; {own.split}/{own.id}, which the release's own join takes, "
            "is another dialogue"
        )
    if match.ambiguous:
        yield row.warning(f"SGD has several dialogues {chosen.id}, and nothing here tells which: took {chosen.split}")
    if len(chosen.turns) != len(dialogue.turns):
        yield row.warning(f"{len(dialogue.turns)} turns here, {len(chosen.turns)} in {chosen.split}/{chosen.id} of SGD")


def _pool(row: FileRow, dialogue: _KetodDialogue) -> tuple[dict[str, Passage], list[Problem]]:
    """Return the snippets by number: each passage is its title, then pairs of a number and a sentence."""
    pool: dict[str, Passage] = {}
    oddities: list[Problem] = []
    for query, passages in dialogue.passages.items():
        for passage in passages:
            title, *snippets = passage or [""]
            for snippet in snippets:
                if not isinstance(snippet, list) or len(snippet) < 2 or not str(snippet[1]).strip():
                    oddities.append(row.warning(f"a snippet for '{query}' has no number or no text: no candidate"))
                    continue
                key, text = str(snippet[0]), str(snippet[1])
                if key in pool and pool[key].text != text:
                    oddities.append(row.warning(f"the snippet number {key} is used twice: the first is kept"))
                elif key not in pool:
                    name = f"{dialogue.dialogue_id}/{key}"
                    meta = {"query": query}
                    pool[key] = Passage(name, "KNOWLEDGE", text, title=str(title), position=len(pool), meta=meta)
    return pool, oddities


def _gold(turn: _KetodTurn, plain: str, pool: dict[str, Passage]) -> tuple[Gold, str]:
    """Return the gold: knowledge for an enriched turn, none for others."""
    if not turn.enrich:
        return Gold(False, (), (), plain), "" if plain.strip() else "the reply is empty"
    if not (turn.enriched_utter or "").strip():
        return Gold(), "the enriched reply is empty or missing"
    names = [str(name) for name in turn.kg_snippets or ()]
    if not names:
        return Gold(), "an enriched turn names no snippet"
    for name in names:
        if name not in pool:
            return Gold(), f"the gold evidence '{name}' is not among the candidates"
    evidence = tuple(dict.fromkeys(pool[name].id for name in names))
    return Gold(True, ("KNOWLEDGE",), evidence, turn.enriched_utter), ""
