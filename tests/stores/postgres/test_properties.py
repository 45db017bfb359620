"""Users of two tenants, driven through random operations: the PostgreSQL store does what the model does."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from dragoman.stores import PostgresStore
from dragoman.stores.in_memory import words

from ..test_properties import StoresAgree

pytestmark = [pytest.mark.slow, pytest.mark.trust]
SOME = settings(
    max_examples=6, stateful_step_count=12, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)


@pytest.mark.parametrize("threshold", [2000, 0])
def test_both_agree_whatever_is_done(schema, empty, threshold):
    class PostgresAgrees(StoresAgree):
        index_above = threshold

        def opened(self):
            folder = Path(self.folder.name)
            return PostgresStore(url=schema.url(), analyse=words, folder=folder, index_above=self.index_above)

        def teardown(self):
            super().teardown()
            empty()

    run_state_machine_as_test(PostgresAgrees, settings=SOME)
