from __future__ import annotations

import pytest

from dragoman.memory.english.wording import written_out


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("im alergic to nuts", "I am allergic to nuts"),
        ("i has a dog", "I have a dog"),
        ("my sun is 5 year old", "my son is 5 years old"),
        ("I can't swim", "I can not swim"),
        ("my dog's called Bo", "my dog is called Bo"),
        ("I have 23 years", "I am 23 years old"),
    ],
)
def test_contractions_and_slips_are_written_out(typed, meant):
    assert written_out(typed) == meant


@pytest.mark.parametrize("text", ["the sun is warm", "my other bag", "another president", "we gather here"])
def test_words_that_only_look_like_slips_stay(text):
    assert written_out(text) == text
