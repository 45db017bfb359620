"""Over HTTP nobody reads another's words: random lives of people of two tenants, and every path that can be read."""

from __future__ import annotations

import io
import itertools
import logging

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

pytestmark = [pytest.mark.slow, pytest.mark.trust]

# ana and eve are both the user `ana`, of two tenants; the user `ben` of eve's tenant is acted for by her.
SECRETS = {"ana": "Quorvax", "ben": "Blenheist", "nameless": "Umbrizel", "eve": "Tramundo", "eve as ben": "Wexholdt"}
TELLING = ("My dog is called {0}.", "I live in {0}.", "Remember that my locker code is {0}.", "I moved to {0}.")
ASKING = ("What is my dog called?", "What do you know about me?", "Where does Ben live?", "Who keeps the harbour plan?")
ACTS = {
    "turn": TELLING + ASKING + ("Forget my dog.", "Forget everything about me.", "Yes, delete everything."),
    "chat": TELLING + ASKING,
    "remember": TELLING,
    "search": ("harbour plan", "dog", "{0}"),
    "embed": ("{0}",),
    "upload": ("notes.md", "{0}.md", "../{0}.md", "{0}.zip"),
    "rate": ("{0} would be better",),
    "wrong": ("{0}",),
    "forget": ("",),
}
STEP = st.sampled_from([(act, words) for act, several in ACTS.items() for words in several])
LIVES = st.lists(st.tuples(st.sampled_from(sorted(SECRETS)), STEP), min_size=4, max_size=12)
EVERYTHING = [
    (who, (act, words)) for act, several in ACTS.items() if act != "forget" for words in several for who in SECRETS
]


def act(client, verb, words, secret):
    """What somebody does; everything that comes back."""
    said = words.format(secret)
    if verb == "turn":
        return [client.post("/v1/turns", json={"text": said, "dialogue": "d"})]
    if verb == "chat":
        return [
            client.post(
                "/v1/chat/completions", json={"model": "robin", "messages": [{"role": "user", "content": said}]}
            )
        ]
    if verb == "remember":
        return [client.post("/v1/memory", json={"text": said})]
    if verb == "search":
        return [
            client.post(f"/v1/sources/{name}/search", json={"query": said}) for name in ("MEMORY", "NOTES", "DOCUMENTS")
        ]
    if verb == "embed":
        return [client.post("/v1/embeddings", json={"model": "robin", "input": said})]
    if verb == "upload":
        note = f"# Plan\n\nThe harbour plan is kept by {secret}.\n".encode()
        return [client.post("/v1/sources/NOTES/files", files={"files": (said, io.BytesIO(note))})]
    if verb == "rate":
        return [client.post("/v1/feedback", json={"dialogue": "d", "turn": 1, "thumb": "down", "better": said})]
    if verb == "wrong":
        return [
            client.post("/v1/turns", content=f'{{"text": "{said}'),
            client.get(f"/v1/dialogues/{said}"),
            client.put(f"/v1/memory/{said}", json={"txt": said}),
            client.post("/v1/turns", json={"text": said * 10_000}),
        ]
    return [client.delete("/v1/memory?everything=true&confirm=true")]


def _rows(client, path):
    response = client.get(f"/v1/{path}")
    assert response.status_code == 200, response.text
    return response.json()["data"]


def ids(client):
    """The addresses of somebody's own rows, which others may guess."""
    dialogues, facts, files = (_rows(client, path) for path in ("dialogues", "memory", "sources/NOTES/files"))
    return {
        *(f"/v1/dialogues/{row['id']}" for row in dialogues),
        *(f"/v1/memory/{row['id']}" for row in facts),
        *(f"/v1/sources/NOTES/files/{row['name']}" for row in files),
    }


def readable(server):
    """Every address that can be read and needs no id, as the API itself describes them."""
    paths = [path for path, ways in server.app.openapi()["paths"].items() if "get" in ways]
    plain = [path for path in paths if "{" not in path]
    assert {"/v1/memory", "/v1/memory/export", "/v1/dialogues", "/v1/feedback", "/metrics"} <= set(plain)
    return [*plain, "/v1/sources/MEMORY/files", "/v1/sources/NOTES/files", "/v1/sources/DOCUMENTS/files"]


def check(server, life, logged):
    clients = {name: server.of(name) for name in SECRETS if name != "eve as ben"}
    clients["eve as ben"] = server.of("eve", **{"x-dragoman-user": "ben"})
    try:
        for who, (verb, words) in life:
            unseen(who, (verb, words), act(clients[who], verb, words, SECRETS[who]))
        addresses = {who: ids(client) for who, client in clients.items()}
        for who, client in clients.items():
            for path in [*readable(server), *itertools.chain(*addresses.values())]:
                unseen(who, path, [client.get(path)])
            for path in itertools.chain(*(theirs for other, theirs in addresses.items() if other != who)):
                if path not in addresses[who]:
                    unseen(who, path, [client.delete(path)])
        assert {who: ids(client) for who, client in clients.items()} == addresses, "nobody removes another's rows"
        told = "\n".join(record.getMessage() for record in logged.records).casefold()
        assert not [secret for secret in SECRETS.values() if secret.casefold() in told]
    finally:
        logged.clear()
        for client in clients.values():
            client.delete("/v1/memory?everything=true&confirm=true")


def unseen(who, what, responses):
    others = [secret.casefold() for name, secret in SECRETS.items() if name != who]
    for response in responses:
        shown = f"{response.text}\n{response.headers}".casefold()
        assert not [secret for secret in others if secret in shown], (who, what)
        assert response.status_code < 500, (who, what, response.text)


@settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)
@example(EVERYTHING)
@given(LIVES)
def test_nobody_reads_or_removes_anothers_words_over_http(keyed, caplog, life):
    caplog.set_level(logging.DEBUG, "dragoman")
    check(keyed, life, caplog)


def test_the_check_would_see_a_leak(keyed, caplog, monkeypatch):
    from dragoman.core.values import Scope, Source

    monkeypatch.setattr(Source, "scope", lambda self, scope: Scope(scope.tenant, "ana"))
    with pytest.raises(AssertionError):
        check(keyed, EVERYTHING, caplog)


def test_everybody_reads_their_own(keyed):
    for who in ("ana", "ben", "nameless", "eve"):
        client = keyed.of(who)
        for verb in ("turn", "chat", "remember", "upload", "rate"):
            answers = act(client, verb, ACTS[verb][0], SECRETS[who])
            assert all(answer.status_code < 300 for answer in answers), (who, verb, answers[0].text)
        for path in ("/v1/memory", "/v1/memory/export", "/v1/dialogues/d", "/v1/sources/NOTES/files"):
            wanted = "notes.md" if path.endswith("files") else SECRETS[who]
            assert wanted in client.get(path).text, (who, path)
        assert SECRETS[who] in act(client, "search", "harbour plan", SECRETS[who])[1].text
