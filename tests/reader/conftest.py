"""Parts that the readers' tests share."""

import pytest

from dragoman.core.values import Source
from dragoman.models.scripted import ScriptedEncoder


@pytest.fixture
def encoder():
    return ScriptedEncoder()


@pytest.fixture
def sources():
    return (
        Source("PERSONA", about="bot"),
        Source("MEMORY", about="user", private=True),
        Source("DOCUMENTS", needs=("PERSONA",)),
    )
