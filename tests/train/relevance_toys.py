"""What the tests of relevance labels share: a few turns, and a method that counts what it is asked."""

from __future__ import annotations

from dragoman.core.examples import Example, Gold
from dragoman.core.values import Context, Passage, Scope, Source
from dragoman.train.contract import Corpus

PERSONA = Source("PERSONA", about="bot", private=True)
DOCUMENTS = Source("DOCUMENTS", needs=("PERSONA",), private=True)
POOL = (
    Passage("tea", "PERSONA", "I like tea."),
    Passage("sea", "PERSONA", "I live by the sea."),
    Passage("tea-1", "DOCUMENTS", "Tea is a drink.", parent="tea"),
    Passage("tea-2", "DOCUMENTS", "Tea grows on hills.", parent="tea"),
    Passage("sea-1", "DOCUMENTS", "The sea is salt.", parent="sea"),
)


def turn(number=0, *, evidence=("tea", "tea-2"), plan=("PERSONA", "DOCUMENTS"), text="Where does tea grow?"):
    context = Context.of("Hi.", "Hello!", text, scope=Scope("t", f"d{number}"), dialogue=f"d{number}")
    return Example(f"d{number}#1", context, (PERSONA, DOCUMENTS), POOL, Gold(bool(plan), plan, evidence))


def corpus(count=1, **options):
    return Corpus((), tuple(turn(number, **options) for number in range(count)))


class Sum:
    """A relevance that hangs on the turn, the passage and, where `beside` is set, on what is judged beside them."""

    def __init__(self, *, beside=False, stop=None):
        self.beside = beside
        self.stop = stop
        self.seen = []

    @property
    def about(self):
        return {"method": "sum", "version": 1}

    def judge(self, pools):
        if self.stop is not None and len(self.seen) >= self.stop:
            raise KeyboardInterrupt
        self.seen += [pool.example.id for pool in pools]
        extra = len(pools) if self.beside else 0
        return [
            [(hash_of(pool.example.id + passage.id) + extra) % 101 / 100 for passage in pool.candidates]
            for pool in pools
        ]


def hash_of(text):
    return sum(map(ord, text))
