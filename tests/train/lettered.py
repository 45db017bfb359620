"""Turns over a vocabulary of letters, so that trees can be drawn by hand."""

from __future__ import annotations

from dragoman.core.examples import Example, Gold
from dragoman.core.tokens import Grammar
from dragoman.core.values import Context, Passage, Source
from dragoman.models.unified.model import TreeShape, TurnTokens
from dragoman.models.unified.token_spelling import spell
from dragoman.text.view import View
from dragoman.train.unified.sources import orders_of

SOURCES = (Source("P", "who the bot is"), Source("D", "facts", needs=("P",)))
END = 0


class Letters:
    size, reserved = 200, ()

    def encode(self, text):
        return [ord(letter) for letter in text]


def turns(layout="tree", style="unims", way="rows", sources=("P", "D"), **lengths):
    grammar = Grammar(sources, style)
    shape = TreeShape(grammar, layout, View(turns=0, order="oldest", labels=False), **lengths)
    return TurnTokens(shape, spell(grammar, way, Letters()), Letters().encode, END)


def told(made, tokens):
    """Tokens as they are read: letters, names in brackets, and | for the end."""
    names = {ids: str(token) for token, ids in made.spelling.ids.items()}
    return "".join(names.get((token,)) or ("|" if token == END else chr(token)) for token in tokens)


def passage(name, source, text, parent=None):
    return Passage(name, source, text, parent=parent)


CANDIDATES = (
    passage("p1", "P", "a"),
    passage("p2", "P", "b"),
    passage("d1", "D", "x", "p1"),
    passage("d2", "D", "y", "p1"),
    passage("d3", "D", "z", "p2"),
)


def example(plan=("P", "D"), evidence=("p1", "d2"), reply="ok", name="t1", candidates=CANDIDATES, said="hi"):
    gold = Gold(retrieve=bool(plan), plan=plan, evidence=evidence, reply=reply)
    return Example(name, Context.of(said, dialogue=name), SOURCES, candidates, gold)


def orders(sources=SOURCES):
    return orders_of(tuple(sources))
