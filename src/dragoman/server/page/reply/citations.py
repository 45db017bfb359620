"""Numbered citations of a reply: which passage stands behind which words."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from dragoman.server.page.text_diff import quoted_spans
from dragoman.server.page.turn_view import Card


@dataclass(frozen=True, slots=True)
class Citation:
    """A number in a reply, right after the words that its passage supports."""

    number: int
    place: int
    card: Card


def citations(text: str, cards: Sequence[Card], *, private: Collection[str] = ()) -> tuple[Citation, ...]:
    """The citations of a reply, numbered in order of appearance.

    Quoted passages are cited after the last words taken from them, or at the end of the reply. Passages of `private`
    sources are facts about the user, which are no documents.
    """
    places: list[tuple[int, Card]] = []
    for card in cards:
        if card.quoted and not card.is_gone and card.evidence.source not in private:
            spans = quoted_spans(text, card.evidence.text)
            places.append((_outside_word(text, max((end for _, end in spans), default=len(text.rstrip()))), card))
    places.sort(key=lambda each: each[0])
    return tuple(Citation(number, place, card) for number, (place, card) in enumerate(places, start=1))


def used_facts(cards: Sequence[Card], private: Collection[str]) -> tuple[str, ...]:
    """The facts about the user that a reply rests on."""
    return tuple(dict.fromkeys(card.evidence.text for card in cards if card.quoted and card.evidence.source in private))


def _outside_word(text: str, place: int) -> int:
    """The end of the word at a place, closing marks included."""
    while place < len(text) and (text[place].isalnum() or text[place] in "*_`"):
        place += 1
    return place
