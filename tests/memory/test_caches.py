"""Forgetting reaches what the process keeps of texts, wherever it is kept."""

from __future__ import annotations

from dragoman.core.caches import keeps_texts


class Keeper:
    def __init__(self):
        self.texts = ["I am allergic to nuts."]
        keeps_texts(self)

    def clear_cache(self):
        self.texts.clear()


def test_forgetting_clears_what_other_parts_keep(room):
    keeper = Keeper()
    room.say("I am allergic to nuts.")
    assert keeper.texts
    room.say("Forget that I am allergic to nuts.")
    assert keeper.texts == []
