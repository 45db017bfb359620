"""Chats over the API: the file to share."""

from __future__ import annotations

import pytest

HOSTILE = "What does a day ticket cost? <script>alert(1)</script>"


@pytest.mark.parametrize(("accepts", "lang", "you"), [("en-GB", "en", "You"), ("zh-CN,en;q=0.5", "zh-CN", "您")])
def test_a_chat_is_shared_as_a_page_without_scripts(client, accepts, lang, you):
    dialogue = client.post("/v1/chat/completions", json=_asking(HOSTILE)).json()["dragoman"]["dialogue"]
    answer = client.get(f"/v1/dialogues/{dialogue}/export?format=html", headers={"accept-language": accepts})
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    assert f'<html lang="{lang}">' in answer.text and you in answer.text
    assert "&lt;script&gt;" in answer.text and "<script" not in answer.text
    assert '<ol class="sources"' in answer.text and "6 francs" in answer.text


@pytest.mark.parametrize(("accepts", "you"), [("en-GB", "You"), ("zh-CN", "您")])
def test_a_chat_is_exported_as_markdown_in_the_reader_s_language(client, accepts, you):
    dialogue = client.post("/v1/chat/completions", json=_asking(HOSTILE)).json()["dragoman"]["dialogue"]
    answer = client.get(f"/v1/dialogues/{dialogue}/export?format=markdown", headers={"accept-language": accepts})
    assert f"**{you}:**" in answer.text and "> [1] " in answer.text and "6 francs" in answer.text


def test_the_list_shows_the_title_and_the_pin_that_were_set(client):
    dialogue = client.post("/v1/chat/completions", json=_asking("Hello! What is there?")).json()["dragoman"]["dialogue"]
    (row,) = client.get("/v1/dialogues").json()["data"]
    assert (row["id"], row["title"], row["pinned"]) == (dialogue, "What is there?", False)
    assert client.patch(f"/v1/dialogues/{dialogue}", json={"title": "Tickets", "pinned": True}).status_code == 204
    (row,) = client.get("/v1/dialogues").json()["data"]
    assert (row["title"], row["pinned"]) == ("Tickets", True)


def test_nobody_else_s_chat_is_shared(keyed):
    dialogue = keyed.of("ana").post("/v1/chat/completions", json=_asking("Hello")).json()["dragoman"]["dialogue"]
    for name, status in (("ana", 200), ("ben", 404), ("eve", 404)):
        assert keyed.of(name).get(f"/v1/dialogues/{dialogue}/export?format=html").status_code == status


def _asking(text):
    return {"model": "robin", "messages": [{"role": "user", "content": text}]}
