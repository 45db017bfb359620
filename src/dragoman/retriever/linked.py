"""Entity linking before retrieval: SAFARI's dependency with a named entity as the parent.

Passages have titles: hotels, people, products. The dialogue's titles are found by name, and another retriever ranks
their passages.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from threading import Lock

from dragoman.core.errors import ConfigError
from dragoman.core.protocols import Retriever, Store, warm
from dragoman.core.registry import retrievers
from dragoman.core.values import SHARED_USER, Context, Evidence, Passage, Request, Scope
from dragoman.text.names import Names, common_words

_KEPT = 16
_COMPLEMENTS = 256


class Titles:
    """Titles of passages: finds those that a dialogue names, and their passages."""

    def __init__(self, passages: Iterable[Passage]) -> None:
        under: dict[str, list[str]] = {}
        texts = []
        everything = []
        for passage in passages:
            everything.append(passage.id)
            if passage.title:
                under.setdefault(passage.title, []).append(passage.id)
                texts.append((passage.title, passage.text))
        self._under = {title: frozenset(ids) for title, ids in under.items()}
        self._everything = frozenset(everything)
        self._names = Names(under, common=common_words(texts))
        self._outside: dict[tuple[str, ...], frozenset[str]] = {}

    def __len__(self) -> int:
        return len(self._under)

    def about(self, context: Context, *, most: int = 1) -> tuple[str, ...]:
        """Return the titles named in the last `most` turns that name any; a turn may name several."""
        return self._names.latest([turn.text for turn in context.turns], most=most)

    def inside(self, titles: Iterable[str]) -> frozenset[str]:
        """Return the ids of the passages with these titles."""
        return frozenset().union(*(self._under[title] for title in titles))

    def outside(self, titles: Sequence[str]) -> frozenset[str]:
        """Return the ids of all other passages."""
        key = tuple(sorted(titles))
        if key not in self._outside:
            if len(self._outside) >= _COMPLEMENTS:
                self._outside.clear()
            self._outside[key] = self._everything - self.inside(key)
        return self._outside[key]


@retrievers.register("linked.v1")
class LinkedRetriever:
    """Restricts `inner` to passages of the titles that the dialogue names; without a name all passages stay.

    The last `most` turns that clearly name a title count (0: all turns): the latest mention wins, and a turn that names
    several titles selects all of them. Names may be misspelt or shortened. Other passages go to `inner` as `without`,
    so that any retriever can rank; this suits sources of up to some ten thousand passages.
    """

    def __init__(self, *, inner: Retriever, store: Store, most: int = 1) -> None:
        if most < 0:
            raise ConfigError(f"retriever.linked: most = {most}.", remedy="Give 0 for all turns, or a number of them.")
        self._inner = inner
        self._store = store
        self._most = most
        self._shared: OrderedDict[tuple[Scope, str], tuple[int, Titles]] = OrderedDict()
        self._lock = Lock()

    def warm_up(self) -> None:
        """Load the inner retriever."""
        warm(self._inner)

    def retrieve(self, requests: Sequence[Request]) -> list[list[Evidence]]:
        titles: dict[tuple[Scope, str], Titles] = {}
        evidence = self._inner.retrieve([self._narrowed(request, titles) for request in requests])
        return [list(row) for row in evidence]

    def _narrowed(self, request: Request, titles: dict[tuple[Scope, str], Titles]) -> Request:
        without = request.without
        for source in request.sources:
            key = (source.scope(request.context.scope), source.name)
            if key not in titles:
                titles[key] = self._read(*key)
            about = titles[key].about(request.context, most=self._most)
            if about:
                without |= titles[key].outside(about)
        return replace(request, without=without)

    def _read(self, scope: Scope, source: str) -> Titles:
        """Return a source's titles.

        Titles of shared rows are cached between calls while their number is the same; a user's are not, so that no
        deleted text stays in memory. A row that replaced another since then is not excluded for the inner retriever.
        """
        count = self._store.count(scope, source)
        with self._lock:
            cached = self._shared.get((scope, source))
            if cached is not None and cached[0] == count:
                self._shared.move_to_end((scope, source))
                return cached[1]
        titles = Titles(self._store.passages(scope, source))
        if scope.user == SHARED_USER:
            with self._lock:
                self._shared[scope, source] = count, titles
                while len(self._shared) > _KEPT:
                    self._shared.popitem(last=False)
        return titles
