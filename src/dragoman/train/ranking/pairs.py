"""Training data of retrievers from labelled turns: queries, positives and candidates.

One question is one search of a turn in one source, built by the retrievers' own code, so that training and use agree.
Passages with equal texts are merged, so that no positive becomes a negative.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from dragoman.core.errors import TrainingError
from dragoman.core.examples import Example
from dragoman.core.values import Evidence, Passage, Request, Source, SourceName
from dragoman.retriever.linked import Titles
from dragoman.retriever.repetition_penalty import replies
from dragoman.retriever.search import Dependency, QueryKind, SourceSearch, searches
from dragoman.retriever.vectors import query_texts
from dragoman.train.contract import Corpus

Pool: TypeAlias = Literal["source", "linked"]
"""What is offered: the turn's own candidates of a source, or all of it where the set shares it; or, of what is shared,
what stands under the titles that the dialogue names, as `retriever.linked` offers it."""


@dataclass(frozen=True, slots=True)
class RankingQuestion:
    """One search of a turn in one source; passages are indices into `RankingPairs.texts`.

    `said` are the texts whose vectors make up the query's, `text` is what is read together with a passage. `candidates`
    is everything that the turn could take, `offered` what is left of it for this search: the children of the right
    parent where dependency filters. In `gold` is what is right, also where it is not offered.
    """

    id: str
    source: SourceName
    said: Mapping[str, str]
    text: str
    gold: frozenset[int]
    candidates: tuple[int, ...]
    offered: tuple[int, ...]
    replied: tuple[str, ...] = ()
    """Earlier replies of the agent."""

    @property
    def wrong(self) -> tuple[int, ...]:
        """Candidates that are not gold."""
        return tuple(place for place in self.candidates if place not in self.gold)


@dataclass(frozen=True, slots=True)
class RankingPairs:
    """Questions of turns with their distinct texts."""

    questions: tuple[RankingQuestion, ...]
    texts: tuple[str, ...]

    @property
    def answered(self) -> tuple[RankingQuestion, ...]:
        """Questions with a gold passage."""
        return tuple(question for question in self.questions if question.gold)

    def of(self, source: SourceName) -> tuple[int, ...]:
        """Return the candidate texts of a source over all questions."""
        pools = {id(q.candidates): q.candidates for q in self.questions if q.source == source}
        return tuple(dict.fromkeys(place for pool in pools.values() for place in pool))


def pairs(
    corpus: Corpus,
    *,
    query: QueryKind,
    dependency: Dependency,
    pool: Pool = "source",
    empty: bool = False,
    side: str = "",
) -> RankingPairs:
    """Return the questions of a corpus; `empty` includes turns and sources without gold.

    A dependent source gets the gold of the sources it needs as given evidence. `side` names the data in errors.
    """
    making = _Making(corpus.passages, query=query, dependency=dependency, pool=pool, empty=empty)
    questions = [
        question for example in corpus.examples for question in making.questions(example) if question.candidates
    ]
    if not any(question.gold for question in questions):
        raise TrainingError(
            f"No turn of the {side or 'given'} data says which of its passages is right.",
            remedy="A retriever learns from turns with candidates and `evidence`: give a set that has both.",
        )
    return RankingPairs(tuple(questions), tuple(making.texts))


def join_pairs(first: RankingPairs, second: RankingPairs) -> RankingPairs:
    """Join two sets of pairs, with distinct texts."""
    places = {text: place for place, text in enumerate(first.texts)}
    new = [places.setdefault(text, len(places)) for text in second.texts]
    pools: dict[int, tuple[int, ...]] = {}  # questions share theirs, and keep sharing them

    def moved(pool: tuple[int, ...]) -> tuple[int, ...]:
        return pools.setdefault(id(pool), tuple(new[place] for place in pool))

    questions = [
        replace(
            question,
            gold=frozenset(new[place] for place in question.gold),
            candidates=moved(question.candidates),
            offered=moved(question.offered),
        )
        for question in second.questions
    ]
    return RankingPairs((*first.questions, *questions), tuple(places))


class _Making:
    """Builder of questions: indices of texts, and passages shared by all turns."""

    def __init__(
        self, shared: Sequence[Passage], *, query: QueryKind, dependency: Dependency, pool: Pool, empty: bool
    ) -> None:
        self._empty = empty
        self._query = query
        self._dependency = dependency
        self._pool = pool
        self._places: dict[str, int] = {}
        self._shared: dict[SourceName, list[Passage]] = defaultdict(list)
        for passage in shared:
            self._shared[passage.source].append(passage)
        self._by_id = {passage.id: passage for passage in shared}
        self._titles = {source: Titles(rows) for source, rows in self._shared.items()} if pool == "linked" else {}
        self._numbered: dict[SourceName, tuple[int, ...]] = {}

    @property
    def texts(self) -> Iterable[str]:
        return self._places

    def questions(self, example: Example) -> Iterator[RankingQuestion]:
        """Yield a turn's questions, one per source; none without evidence labels."""
        if example.gold.evidence is None:
            return
        by_id = {passage.id: passage for passage in example.candidates}
        right = [by_id.get(key) or self._by_id.get(key) for key in example.gold.evidence]
        gold = [passage for passage in right if passage is not None]
        for source in example.sources:
            mine = [passage for passage in gold if passage.source == source.name]
            if not mine and not self._empty:
                continue
            own = tuple(passage for passage in example.candidates if passage.source == source.name)
            parents = _candidate_gold(source, gold, by_id, self._by_id)
            request = Request(example.context, (source,), given=tuple(Evidence(piece, 1.0) for piece in parents))
            search = searches([request], analyse=_no_words, dependency=self._dependency, query=self._query)[0]
            candidates, offered = self._pools(search, own, mine)
            yield RankingQuestion(
                f"{example.id} {source.name}",
                source.name,
                query_texts(search),
                search.query.text,
                frozenset(self._numbers(mine)),
                candidates,
                offered,
                replies(example.context),
            )

    def _pools(
        self, search: SourceSearch, own: Sequence[Passage], gold: Sequence[Passage]
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return all candidates and the offered ones."""
        name = search.source.name
        about = () if own or self._pool == "source" else self._about(search)
        if not own and not about:
            everything = self._everything(name)
            return everything, everything
        rows = own or self._under(about, name)
        extra = [] if own else self._under([passage.title for passage in gold], name)
        candidates = tuple(dict.fromkeys(self._numbers([*rows, *extra])))
        return candidates, tuple(dict.fromkeys(self._numbers(_filtered(search, rows))))

    def _about(self, search: SourceSearch) -> tuple[str, ...]:
        """Return the titles that the dialogue names."""
        titles = self._titles.get(search.source.name)
        return titles.about(search.request.context) if titles is not None else ()

    def _under(self, titles: Iterable[str], source: SourceName) -> list[Passage]:
        by_title = self._titles.get(source)
        inside = by_title.inside({title for title in titles if title}) if by_title is not None else frozenset()
        return [self._by_id[key] for key in sorted(inside)]

    def _everything(self, source: SourceName) -> tuple[int, ...]:
        """Return the indices of a whole source, shared by all questions."""
        if source not in self._numbered:
            self._numbered[source] = tuple(dict.fromkeys(self._numbers(self._shared.get(source, []))))
        return self._numbered[source]

    def _numbers(self, passages: Iterable[Passage]) -> Iterator[int]:
        for passage in passages:
            yield self._places.setdefault(passage.indexed, len(self._places))


def _candidate_gold(
    source: Source, gold: Sequence[Passage], candidates: Mapping[str, Passage], shared: Mapping[str, Passage]
) -> list[Passage]:
    """Return the gold of the sources that this one needs; without any, the parents of its gold."""
    needed = [passage for passage in gold if passage.source in source.needs]
    if needed:
        return needed
    parents = dict.fromkeys(passage.parent for passage in gold if passage.source == source.name and passage.parent)
    passages = [candidates.get(key) or shared.get(key) for key in parents]
    return [passage for passage in passages if passage is not None and passage.source in source.needs]


def _filtered(search: SourceSearch, rows: Sequence[Passage]) -> Sequence[Passage]:
    """Filter as `retriever.search.find` does: keep children of the given evidence, and rows without a parent."""
    if search.dependency != "filter" or not any(row.parent in search.parents for row in rows):
        return rows
    return [row for row in rows if row.parent is None or row.parent in search.parents]


def _no_words(text: str) -> tuple[str, ...]:
    return ()
