"""Loader of users' own data: JSON lines with one turn each and an optional header; `schema.py` defines the format."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path

from dragoman.core.errors import InputError
from dragoman.core.examples import Example, Gold, Label, Problem
from dragoman.core.registry import datasets
from dragoman.core.values import Context, Passage, Scope, Source, SourceName, Turn
from dragoman.datasets.lines import lines
from dragoman.datasets.loaders.jsonl_survey import TOO_LONG, FileSurvey, corpus, survey
from dragoman.datasets.schema import ExampleRow, PassageRow, meant, parse, passage_row


@datasets.register("jsonl.v1")
class Jsonl:
    """A file of turns. Equal candidates within a dialogue share one scope, so that a store takes them once."""

    def __init__(self, *, file: str | Path) -> None:
        self._file = Path(file)
        self._known: tuple[tuple[int, int], FileSurvey] | None = None

    @property
    def name(self) -> str:
        return self._survey.name

    @property
    def language(self) -> str:
        return self._survey.language

    @property
    def sources(self) -> tuple[Source, ...]:
        return self._survey.sources

    @property
    def labels(self) -> frozenset[Label]:
        return self._survey.labels

    @property
    def files(self) -> tuple[Path, ...]:
        place = self._survey.corpus
        return (self._file,) if place is None else (self._file, place)

    def examples(self) -> Iterator[Example | Problem]:
        """Yield every turn, or the problem of its line; problems of header and corpus come first."""
        layout = self._survey
        yield from layout.problems
        taken: dict[int, int] = {}  # by hash: a file may have millions
        builder = ExampleBuilder(layout.name, layout.sources, layout.shared if layout.corpus else None)
        for number, line in lines(self._file):
            if number == 1 and layout.has_header:
                continue
            try:
                if line is None:
                    raise InputError(TOO_LONG)
                example, odd = builder.example(parse(ExampleRow, line))
                earlier = taken.setdefault(hash(example.id), number)
                if earlier != number:
                    raise InputError(f"the id '{example.id}' is taken by line {earlier}. Give another id or position.")
            except InputError as error:
                yield Problem(str(self._file), number, str(error))
                continue
            for what in odd:
                yield Problem(str(self._file), number, what, "warning")
            yield example

    def passages(self) -> Iterator[Passage]:
        """Yield the shared corpus; `examples` reports the problems of its lines."""
        layout = self._survey
        shared = {source.name for source in layout.sources if not source.private}
        for row in () if layout.corpus is None else corpus(layout.corpus):
            if isinstance(row, PassageRow) and row.source in shared:
                yield row.passage()

    @property
    def _survey(self) -> FileSurvey:
        """First pass over the file, repeated only if the file has changed."""
        try:
            status = self._file.stat()
            stamp = status.st_mtime_ns, status.st_size
        except OSError:
            stamp = 0, 0  # the reading itself says what is wrong
        if self._known is None or self._known[0] != stamp:
            self._known = stamp, survey(self._file)
        return self._known[1]


class ExampleBuilder:
    """Converts rows to examples and checks everything that the schema does not."""

    def __init__(self, name: str, sources: Iterable[Source], shared: frozenset[int] | None = None) -> None:
        self._name = name
        self._sources = tuple(sources)
        self._known = {source.name: source for source in self._sources}
        self._shared = shared
        self._pool: tuple[str, str, tuple[Passage, ...]] = ("", "", ())

    def example(self, row: ExampleRow) -> tuple[Example, list[str]]:
        """Return the example and its warnings; raise an `InputError` if it cannot be used."""
        wrong = [*_context_errors(row), *self._candidate_errors(row), *_plan_errors(row, self._known)]
        wrong += self._evidence_errors(row)
        if wrong:
            raise InputError(f"{'; '.join(wrong)}.")
        turns = tuple(Turn(turn.speaker, turn.text) for turn in row.context)
        user, candidates = self._pooled(row)
        position = sum(turn.speaker == "agent" for turn in turns) if row.position is None else row.position
        gold = Gold(row.retrieve, row.plan, row.evidence, row.reply)
        example = Example(
            row.id or f"{row.dialogue}#{position}",
            Context(turns, Scope(self._name, user), row.dialogue),
            self._sources,
            candidates,
            gold,
            position,
            row.domain,
            row.meta,
        )
        return example, list(_oddities(row))

    def _pooled(self, row: ExampleRow) -> tuple[str, tuple[Passage, ...]]:
        """Return the id of a dialogue's equal candidates, and one tuple that its turns share."""
        if not row.candidates:
            return row.dialogue, ()
        candidates = tuple(candidate.passage() for candidate in row.candidates)
        if self._pool[0] != row.dialogue or self._pool[2] != candidates:
            content = json.dumps([passage_row(candidate) for candidate in candidates])
            digest = blake2b(content.encode("ascii"), digest_size=8).hexdigest()
            self._pool = row.dialogue, f"{row.dialogue}#{digest}", candidates
        return self._pool[1:]

    def _candidate_errors(self, row: ExampleRow) -> Iterator[str]:
        ids = Counter(candidate.id for candidate in row.candidates)
        twice = [name for name, count in ids.items() if count > 1]
        if twice:
            yield f"two candidates have the id '{twice[0]}'"
        blank = [candidate.id for candidate in row.candidates if not candidate.text.strip()]
        if blank:
            yield f"the text of the candidate '{blank[0]}' is empty"
        for name in dict.fromkeys(candidate.source for candidate in row.candidates):
            if name not in self._known:
                yield f"a candidate is of the unknown source '{name}'{meant(name, self._known)}"
            elif not self._known[name].private:
                yield f"the source '{name}' is shared by all turns, so that a turn cannot bring candidates of it"

    def _evidence_errors(self, row: ExampleRow) -> Iterator[str]:
        candidate_ids = {candidate.id for candidate in row.candidates}
        for named in row.evidence or ():
            if named not in candidate_ids and (self._shared is None or hash(named) not in self._shared):
                where = "the candidates" if self._shared is None else "the candidates or the shared passages"
                shown = meant(named, candidate_ids) if 0 < len(candidate_ids) <= 30 else ""
                yield f"the evidence '{named}' is not among {where}{shown}"
        if row.evidence and len(set(row.evidence)) < len(row.evidence):
            yield "the evidence names a passage twice"


def _context_errors(row: ExampleRow) -> Iterator[str]:
    if row.context[-1].speaker != "user":
        yield "the last turn of 'context' is not the user's; what the agent says next belongs into 'reply'"
    elif not row.context[-1].text.strip():
        yield "the user's last turn is empty"
    if row.reply is not None and not row.reply.strip():
        yield "'reply' is empty; leave it out where none is known"
    if not row.dialogue.strip() or "\x00" in row.dialogue:
        yield "'dialogue' is blank or holds a NUL character"


def _plan_errors(row: ExampleRow, sources: Mapping[SourceName, Source]) -> Iterator[str]:
    asked: set[SourceName] = set()
    for name in row.plan or ():
        if name not in sources:
            hint = " (write [] for a plan that asks nothing)" if name.upper() == "NULL" else meant(name, sources)
            yield f"the plan names the unknown source '{name}'{hint}"
            continue
        missing = [need for need in sources[name].needs if need not in asked]
        if missing:
            yield f"the plan asks '{name}' without '{missing[0]}' before it, which it needs"
        if name in asked:
            yield f"the plan asks '{name}' twice"
        asked.add(name)


def _oddities(row: ExampleRow) -> Iterator[str]:
    """Yield contradictions that do not exclude the row."""
    if row.retrieve is not None and row.plan is not None and row.retrieve != bool(row.plan):
        yield f"'retrieve' is {str(row.retrieve).lower()}, but the plan asks {', '.join(row.plan) or 'nothing'}."
    sources = {candidate.id: candidate.source for candidate in row.candidates}
    if row.plan is not None and row.evidence:
        for named in row.evidence:
            if sources.get(named, next(iter(row.plan), None)) not in row.plan:
                yield f"the evidence '{named}' is of a source that the plan does not ask."
    for candidate in row.candidates:
        if candidate.parent is not None and candidate.parent not in sources:
            yield f"the parent '{candidate.parent}' of '{candidate.id}' is not among the candidates."
