from __future__ import annotations

from dragoman.core.values import Message
from dragoman.models.context_window import OVERHEAD, fit

SYSTEM = Message("system", "be kind")


def words(text):
    return len(text.split())


def middle(text, size):
    parts = text.split()
    return " ".join(parts[: size // 2] + parts[len(parts) - (size - size // 2) :])


def long(role, word, count):
    return Message(role, " ".join([word] * count))


def test_what_fits_is_left_alone():
    messages = (SYSTEM, Message("user", "hello"))
    assert fit(messages, 100, words, middle) == (messages, 0)


def test_text_with_more_bytes_than_tokens_may_still_fit():
    messages = (long("user", "incomprehensibilities", 50),)
    assert fit(messages, 50 + OVERHEAD, words, middle) == (messages, 0)


def test_oldest_messages_go_first_and_the_system_message_stays():
    messages = (SYSTEM, long("user", "aaaa", 40), long("assistant", "bbbb", 40), long("user", "cccc", 40))
    kept, cuts = fit(messages, 40 + 40 + 2 + 3 * OVERHEAD, words, middle)
    assert kept == (SYSTEM, messages[2], messages[3])
    assert cuts == 1


def test_a_last_message_that_is_too_long_loses_its_middle():
    last = Message("user", " ".join(str(n) for n in range(1000)))
    kept, cuts = fit((SYSTEM, Message("user", "old"), last), 200, words, middle)
    assert kept[0] == SYSTEM
    assert kept[1].content.startswith("0 1 2")
    assert kept[1].content.endswith("998 999")
    assert sum(words(message.content) + OVERHEAD for message in kept) <= 200
    assert cuts == 2


def test_two_messages_that_are_too_long_share_the_room():
    kept, _ = fit((long("system", "s", 5000), long("user", "u", 5000)), 300, words, middle)
    assert [message.role for message in kept] == ["system", "user"]
    assert all(words(message.content) > 50 for message in kept)
    assert sum(words(message.content) + OVERHEAD for message in kept) <= 300
