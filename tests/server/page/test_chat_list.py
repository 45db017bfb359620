"""Groups of the list of chats."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dragoman.server.data.chats import ChatRow
from dragoman.server.page.chat_list import group_of

NOW = datetime(2026, 11, 17, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("age", "group"),
    [(0, "today"), (11, "today"), (13, "yesterday"), (40, "week"), (24 * 7, "week"), (24 * 9, "older")],
)
def test_chats_are_grouped_by_the_day_they_began(age, group):
    assert group_of(ChatRow("x", "Title", "page", NOW - timedelta(hours=age)), NOW) == group


def test_pins_come_before_programs_and_programs_before_days():
    assert group_of(ChatRow("x", "Title", "api", NOW), NOW) == "programs"
    assert group_of(ChatRow("x", "Title", "mcp", NOW, pinned=True), NOW) == "pinned"
    assert group_of(ChatRow("x", "Title", "page", None), NOW) == "older"
