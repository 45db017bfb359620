"""What a dialogue is about first, then its passages: SAFARI's dependency where the parent is a name that was said.

Passages have titles: hotels, people, products. The titles that the dialogue is about are found by their names, and
another retriever ranks what stands under them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from threading import Lock

from dragoman.core.errors import ConfigError
from dragoman.core.protocols import Retriever, Store
from dragoman.core.registry import retrievers
from dragoman.core.values import SHARED_USER, Context, Evidence, Passage, Request, Scope
from dragoman.core.warming import warm
from dragoman.text.names import Names, common_words

_KEPT = 16
_COMPLEMENTS = 256


class Titles:
    """The titles of some passages: which of them a dialogue is about, and what stands under them."""

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
        """The titles that the latest turns name which name any; several where several are compared."""
        return self._names.latest([turn.text for turn in context.turns], most=most)

    def inside(self, titles: Iterable[str]) -> frozenset[str]:
        """The ids under some titles."""
        return frozenset().union(*(self._under[title] for title in titles))

    def outside(self, titles: Sequence[str]) -> frozenset[str]:
        """The ids of everything else."""
        key = tuple(sorted(titles))
        if key not in self._outside:
            if len(self._outside) >= _COMPLEMENTS:
                self._outside.clear()
            self._outside[key] = self._everything - self.inside(key)
        return self._outside[key]


@retrievers.register("linked.v1")
class LinkedRetriever:
    """Restricts `inner` to what stands under the titles that the dialogue names; where it names none, to nothing less.

    The last `most` turns that surely name a title count (0: all of them): the latest mention wins, and a turn that
    names several is about all of them. Names may be misspelt or cut short. What is left out is handed to `inner` as
    `without`, so any retriever can rank; that suits sources of up to some ten thousand passages.
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
        """Load what the inner retriever needs."""
        warm(self._inner)

    def retrieve(self, requests: Sequence[Request]) -> list[list[Evidence]]:
        read: dict[tuple[Scope, str], Titles] = {}
        found = self._inner.retrieve([self._narrowed(request, read) for request in requests])
        return [list(row) for row in found]

    def _narrowed(self, request: Request, read: dict[tuple[Scope, str], Titles]) -> Request:
        without = request.without
        for source in request.sources:
            key = (source.scope(request.context.scope), source.name)
            if key not in read:
                read[key] = self._read(*key)
            about = read[key].about(request.context, most=self._most)
            if about:
                without |= read[key].outside(about)
        return replace(request, without=without)

    def _read(self, scope: Scope, source: str) -> Titles:
        """A source's titles.

        Those of shared rows are kept from call to call while their number is the same; a user's are not, so that what
        was forgotten is nowhere. A row that took another's place since is left to the inner retriever to find.
        """
        count = self._store.count(scope, source)
        with self._lock:
            kept = self._shared.get((scope, source))
            if kept is not None and kept[0] == count:
                self._shared.move_to_end((scope, source))
                return kept[1]
        titles = Titles(self._store.passages(scope, source))
        if scope.user == SHARED_USER:
            with self._lock:
                self._shared[scope, source] = count, titles
                while len(self._shared) > _KEPT:
                    self._shared.popitem(last=False)
        return titles
