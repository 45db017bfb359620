"""Everything in a process that keeps texts lets go of them at once, for as long as it lives."""

from __future__ import annotations

import gc

from dragoman.core.caches import _keeping, clear_caches, keeps_texts
from dragoman.text.names import Names


class Keeper:
    def __init__(self):
        self.texts = ["said"]
        keeps_texts(self)

    def clear_cache(self):
        self.texts.clear()


def test_all_that_live_let_go():
    keepers = [Keeper(), Keeper()]
    clear_caches()
    assert [keeper.texts for keeper in keepers] == [[], []]


def test_what_is_gone_is_not_held():
    gc.collect()  # what other tests left
    before = len(_keeping)
    keeper = Keeper()
    assert len(_keeping) == before + 1
    del keeper
    gc.collect()
    assert len(_keeping) == before


def test_names_let_go_of_the_texts_they_were_looked_for_in():
    names = Names(["Hotel Lensfield"])
    names.find("my secret stay at the Hotel Lensfield")
    clear_caches()
    assert names._said.cache_info().currsize == 0
