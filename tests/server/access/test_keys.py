"""Who is who: keys, users, tenants, and what each may see."""

from __future__ import annotations

import os
import time
from pathlib import Path

import apsw
import pytest

from dragoman.core.errors import AccessError, InputError, StoreError
from dragoman.server.access.keys import create, digest, recognise
from dragoman.server.access.sqlite_ledger import SqliteLedger

pytestmark = pytest.mark.trust


@pytest.fixture
def ledger(tmp_path):
    made = SqliteLedger(tmp_path / "ledger.db")
    yield made
    made.close()


def ask(client, text="Hello", dialogue="d"):
    return client.post("/v1/turns", json={"text": text, "dialogue": dialogue})


def test_a_key_is_recognised_by_its_text_alone(ledger):
    key, text = create(ledger, "mine", tenant="t", user="ana")
    assert recognise(ledger, text) == key
    for wrong in ("", "x", text[:-1], text + "x", text.upper(), f"dk_{key.id}_", f"dk_00000000_{text[12:]}", "dk__"):
        with pytest.raises(AccessError) as caught:
            recognise(ledger, wrong)
        assert caught.value.code == "unauthorized"


def test_the_text_of_a_key_is_in_no_file(ledger, tmp_path):
    _, text = create(ledger, "mine")
    ledger.close()
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    secret = text.split("_", 2)[2]
    assert files and not [content for content in files if secret.encode() in content or text.encode() in content]
    assert any(digest(text) in content for content in files)
    assert (tmp_path / "ledger.db").stat().st_mode & 0o077 == 0


def test_the_file_of_keys_is_private_before_sqlite_opens_it(tmp_path, monkeypatch):
    modes = []

    class Recorded(apsw.Connection):
        def __init__(self, path):
            modes.append(Path(path).stat().st_mode & 0o777)
            super().__init__(path)

    monkeypatch.setattr(apsw, "Connection", Recorded)
    umask = os.umask(0)
    try:
        ledger = SqliteLedger(tmp_path / "private.db")
        create(ledger, "mine")
        beside = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.glob("private.db*")}
        ledger.close()
    finally:
        os.umask(umask)
    assert modes == [0o600]
    assert len(beside) > 1 and set(beside.values()) == {0o600}


def test_a_revoked_key_is_refused_also_by_a_process_that_knew_it(ledger, tmp_path):
    key, text = create(ledger, "mine")
    other = SqliteLedger(tmp_path / "ledger.db")
    recognise(other, text)
    assert ledger.revoke(key.id, time.time()) and not ledger.revoke(key.id, time.time())
    with pytest.raises(AccessError):
        recognise(other, text)
    other.close()


def test_a_file_that_is_no_ledger_is_left_alone(tmp_path):
    (tmp_path / "x.db").write_text("something else entirely, longer than a header" * 40, encoding="utf-8")
    with pytest.raises(StoreError):
        SqliteLedger(tmp_path / "x.db").listed()


@pytest.mark.parametrize("given", [{"name": ""}, {"name": "a", "tenant": " "}, {"name": "a", "user": "x\ny"}])
def test_names_that_nobody_could_have_are_refused(ledger, given):
    with pytest.raises(InputError):
        create(ledger, **given)


@pytest.mark.parametrize("key", [None, "wrong", "dk_12345678_wrong", "ключ"])
def test_without_a_valid_key_nothing_is_answered(keyed, key):
    bearer = {} if key is None else {"authorization": f"Bearer {key}".encode()}
    plain = keyed.client()
    for method, path in (("GET", "/v1/models"), ("GET", "/v1/memory"), ("GET", "/metrics"), ("GET", "/v1/runs")):
        response = plain.request(method, path, headers=bearer)
        assert (response.status_code, response.json()["code"]) == (401, "unauthorized")
        assert response.headers["www-authenticate"] == "Bearer"
    assert plain.get("/healthz").status_code == plain.get("/readyz").status_code == 200


def test_callers_are_whom_their_keys_say(keyed):
    who = {name: keyed.of(name).get("/v1/agents").json()["caller"] for name in keyed.texts}
    assert (who["ana"]["user"], who["ana"]["tenant"], who["ana"]["admin"]) == ("ana", "local", False)
    assert who["nameless"]["user"] == f"key:{keyed.keys['nameless'].id}"
    assert (who["eve"]["user"], who["eve"]["tenant"]) == ("ana", "other")


def test_only_an_admin_may_act_for_another_user(keyed):
    keyed.of("ana").post("/v1/memory", json={"text": "I live in Bern."})
    forged = keyed.of("ben").get("/v1/memory", headers={"x-dragoman-user": "ana"})
    assert (forged.status_code, forged.json()["code"]) == (403, "forbidden")
    assert keyed.of("ana").get("/v1/memory", headers={"x-dragoman-user": "ana"}).status_code == 200
    acted = keyed.of("admin").get("/v1/memory", headers={"x-dragoman-user": "ana"})
    assert "Bern" in acted.text
    assert keyed.of("admin").get("/v1/memory").json()["data"] == []
    assert keyed.of("admin").get("/v1/memory", headers={"x-dragoman-user": "x" * 300}).status_code == 400


def test_who_calls_is_said_once(keyed):
    """What stands before a server may add a header of its own to one that was sent, and mean its own."""
    admin = keyed.of("admin")
    for header, values in ((b"x-dragoman-user", (b"ana", b"ben")), (b"authorization", (b"Bearer x", b"Bearer y"))):
        twice = admin.get("/v1/memory", headers=[(header, value) for value in values])
        assert (twice.status_code, twice.json()["code"]) == (400, "bad-request")


def test_an_admin_of_another_tenant_is_nobody_here(keyed):
    keyed.of("ana").post("/v1/memory", json={"text": "I live in Bern."})
    ask(keyed.of("ana"), "I keep a secret badger.", "mine")
    eve = keyed.of("eve")
    assert eve.get("/v1/memory").json()["data"] == []
    assert eve.get("/v1/dialogues").json()["data"] == []
    assert "Bern" not in eve.get("/v1/memory", headers={"x-dragoman-user": "ana"}).text


def test_a_new_tenant_has_the_declared_documents_of_its_own(keyed):
    found = keyed.of("eve").post("/v1/sources/DOCUMENTS/search", json={"query": "day ticket"}).json()["data"]
    assert [piece["text"] for piece in found] and "6 francs" in found[0]["text"]


def test_foreign_and_unknown_ids_are_answered_alike(keyed):
    keyed.of("ana").post("/v1/memory", json={"text": "I live in Bern."})
    ask(keyed.of("ana"), "Hello", "mine")
    fact = keyed.of("ana").get("/v1/memory").json()["data"][0]["id"]
    ben = keyed.of("ben")
    for method, path, unknown, body in (
        ("GET", "/v1/dialogues/mine", "/v1/dialogues/none", None),
        ("DELETE", "/v1/dialogues/mine", "/v1/dialogues/none", None),
        ("DELETE", f"/v1/memory/{fact}", "/v1/memory/fact-0", None),
        ("PUT", f"/v1/memory/{fact}", "/v1/memory/fact-0", {"text": "I live in Basel."}),
    ):
        foreign, absent = (ben.request(method, each, json=body) for each in (path, unknown))
        assert foreign.status_code == absent.status_code == 404 and foreign.content == absent.content
    thumbs = [ben.post("/v1/feedback", json={"dialogue": name, "thumb": "up"}) for name in ("mine", "none")]
    assert thumbs[0].status_code == 404 and thumbs[0].content == thumbs[1].content
    assert keyed.of("ana").get("/v1/memory").json()["data"][0]["text"] == "I live in Bern."
    assert len(keyed.of("ana").get("/v1/dialogues/mine").json()["turns"]) == 2


def test_two_users_with_one_dialogue_name_have_two_dialogues(keyed):
    ask(keyed.of("ana"), "I am the first.", "d")
    ask(keyed.of("ben"), "I am the second.", "d")
    for name, own in (("ana", "first"), ("ben", "second")):
        turns = keyed.of(name).get("/v1/dialogues/d").json()["turns"]
        assert len(turns) == 2 and own in turns[0]["text"]


def test_what_is_the_operators_needs_an_admin_key(keyed):
    for path in ("/v1/runs", "/v1/runs/x", "/metrics"):
        assert keyed.of("ana").get(path).json()["code"] == "forbidden"
        assert keyed.of("admin").get(path).status_code in (200, 404)
    files = {"files": ("note.md", b"# A\n\nBoats leave at nine.\n")}
    assert keyed.of("ana").post("/v1/sources/DOCUMENTS/files", files=files).json()["code"] == "forbidden"
    assert keyed.of("admin").post("/v1/sources/DOCUMENTS/files", files=files).json()["added"] == 1


def test_identity_is_never_taken_from_a_body(keyed):
    messages = [{"role": "user", "content": "I live in Chur."}]
    body = {"model": "robin", "messages": messages, "user": "ana", "tenant": "other"}
    assert keyed.of("ben").post("/v1/chat/completions", json=body).status_code == 200
    assert keyed.of("ana").get("/v1/dialogues").json()["data"] == []
    assert keyed.of("ben").post("/v1/turns", json={"text": "Hi", "user": "ana"}).json()["code"] == "invalid"


def test_a_user_of_any_script_is_acted_for_by_their_own_name(keyed):
    """Headers are bytes; ours are UTF-8, as the ids of keys are."""
    admin, name = keyed.of("admin"), {b"x-dragoman-user": "张三 é".encode()}
    assert admin.get("/v1/agents", headers=name).json()["caller"]["user"] == "张三 é"
    broken = admin.get("/v1/agents", headers={b"x-dragoman-user": b"\xff\xfe"})
    assert (broken.status_code, broken.json()["code"]) == (400, "bad-request")
