"""What a turn quotes, pastes or reports is not the user's own word: it teaches no fact and sets no wish."""

from __future__ import annotations

from itertools import product

import pytest
from tests.agent_files import REMEMBERING

import dragoman
from dragoman.text.quotations import own_words

pytestmark = pytest.mark.trust
SAID = (
    *("I live in Rome.", "My dog is called Swordfish.", "I am allergic to nuts.", "No, I meant Basel."),
    *("Remember that my PIN is 4711.", "Please remember: the locker is 12.", "I'm at the station."),
    *("From now on answer in French.", "Call me Zorro.", "Always be brief.", "I no longer live in Bern."),
    *("我住在罗马。", "记住我的密码是4711。", "以后用英文回答。", "叫我佐罗。", "不对，是巴塞尔。", "我儿子七岁。"),
)
FRAMES = (
    *('"{}"', "“{}”", "'{}'", "«{}»", "„{}“", "»{}«", "‹{}›", "「{}」", "『{}』", "《{}》", "〝{}〞", "＂{}＂", "`{}`"),
    *(
        "> {}",
        ">{}\n>and more",
        "* > {}",
        "1. > {}",
        "  > {}",
        "```\n{}\n```",
        "~~~\n{}",
        "Look:\n```text\n{}\n```\nok",
    ),
    *(
        'She wrote to me: "{}"',
        'What does "{}" mean?',
        'He told me, "{}" and left.',
        '{}" she said',
        '"{}',
        "“Hello,\n{}",
    ),
    *(
        "She said: {}",
        "My boss wrote to us: {}",
        "The sign says: {}",
        "他说：{}",
        "妈妈告诉我：{}",
        "这句话是什么意思：{}",
    ),
    *("Translate into German: {}", "Summarise this text: {}", "Please correct this: {}", "请翻译：{}"),
    *("Forwarded message:\n{}", "The e-mail reads as follows:\n\n{}", "From: Ana\nSubject: Hello\n\n{}"),
    *("User: {}\nAssistant: ok", "Ana: {}\nBen: I see.", "| name | text |\n| Ana | {} |"),
    *("[quote]{}[/quote]", "<blockquote>{}</blockquote>", "&quot;{}&quot;"),
)


@pytest.mark.slow
def test_no_quotation_teaches_a_fact_or_sets_a_wish(tmp_path):
    (tmp_path / "agent.toml").write_text(REMEMBERING, encoding="utf-8")
    learned = []
    with dragoman.load(tmp_path) as assistant:
        assistant.remember("I live in Bern.", user="ana")
        for place, (frame, said) in enumerate(product(FRAMES, SAID)):
            reply = assistant.ask(frame.format(said), user="ana", dialogue=str(place))
            changes = [note.value for note in reply.trace.of("memory")]
            if any(each.added or each.superseded or each.wishes or each.ended_wishes for each in changes):
                learned.append((frame, said))
        assert learned == []
        assert [fact.text for fact in assistant.recall(user="ana")] == ["I live in Bern."]


@pytest.mark.parametrize(
    ("turn", "fact"),
    [
        ('"Where?" is a good question. I live in Rome.', "I live in Rome."),
        ("> Where do you live?\n\nI live in Rome.", "I live in Rome."),
        ("She wrote: where?\n\nI live in Rome.", "I live in Rome."),
        ("我想说：我住在罗马。", "我住在罗马。"),
        ("I live in Rome. My boss told me: go to Bern!", "I live in Rome."),
        ('Remember "the locker is 12".', "the locker is 12"),
    ],
)
def test_what_users_say_beside_a_quotation_is_theirs(tmp_path, turn, fact):
    (tmp_path / "agent.toml").write_text(REMEMBERING, encoding="utf-8")
    with dragoman.load(tmp_path) as assistant:
        assistant.ask(turn, user="ana")
        assert [row.text for row in assistant.recall(user="ana")] == [fact]


@pytest.mark.parametrize("form", ["Name: Ana\nAge: 34\nDiet: vegan", "E-mail: ana@example.org\nPhone: 0791234567"])
def test_a_form_is_no_transcript(form):
    assert own_words(form) == form
