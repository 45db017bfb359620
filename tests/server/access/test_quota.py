"""How much may be kept: what is beyond it is refused in clear words, and nothing is lost."""

from __future__ import annotations

import io
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import ServiceError
from dragoman.server.access.caller import Limits
from dragoman.server.access.keys import create
from dragoman.server.access.quota import Quota, Stock, counted
from dragoman.sources.upload_folders import UploadUsage

pytestmark = pytest.mark.trust


def note(word, times=1):
    return f"# {word}\n\n".encode() + b"".join(f"## {i}\n\nThe {word} of {i}.\n\n".encode() for i in range(times))


def upload(client, source, **files):
    given = [("files", (f"{name}.md", io.BytesIO(content))) for name, content in files.items()]
    return client.post(f"/v1/sources/{source}/files", files=given)


def names(client, source):
    return [file["name"] for file in client.get(f"/v1/sources/{source}/files").json()["data"]]


def refused(response, *words):
    problem = response.json()
    assert (response.status_code, problem["code"]) == (409, "quota")
    assert problem["remedy"] and all(word in problem["detail"] for word in words)
    return True


def test_a_user_may_keep_so_many_bytes_and_other_users_theirs(make_house, serve):
    started = serve(make_house(quota=Quota(user_bytes=100)))
    ana, ben = (started.client(**{"x-dragoman-user": user}) for user in ("ana", "ben"))
    assert upload(ana, "NOTES", a=note("a")).json()["files"] == 1
    assert refused(upload(ana, "NOTES", b=note("b"), c=b"x" * 90), "A user", "MB")
    assert names(ana, "NOTES") == ["a.md"]
    assert upload(ben, "NOTES", b=note("b")).json()["files"] == 1
    assert upload(ana, "NOTES", a=note("z")).json()["files"] == 1  # the same name again is no more
    ana.delete("/v1/sources/NOTES/files/a.md")
    assert upload(ana, "NOTES", b=b"The boat leaves at nine. " * 3).json()["files"] == 1


def test_a_tenant_may_keep_so_many_files_those_of_its_users_included(make_house, serve):
    service = make_house(keys=True, quota=Quota(tenant_files=3))
    texts = [create(service.ledger, "k", tenant=tenant, user="u", admin=True)[1] for tenant in ("one", "two")]
    started = serve(service)
    one, two = (started.client(text) for text in texts)
    assert upload(one, "NOTES", a=note("a"), b=note("b")).json()["files"] == 2
    assert upload(one, "DOCUMENTS", a=note("a")).json()["files"] == 1
    assert refused(upload(one, "DOCUMENTS", b=note("b")), "This tenant", "3")
    assert refused(upload(started.client(texts[0], **{"x-dragoman-user": "v"}), "NOTES", b=note("b")), "This tenant")
    assert upload(two, "DOCUMENTS", b=note("b")).json()["files"] == 1
    assert one.delete("/v1/memory?everything=true&confirm=true").status_code == 200
    assert upload(one, "DOCUMENTS", b=note("b")).json()["files"] == 1


def test_a_file_with_too_many_passages_is_refused_and_the_one_before_it_stays(make_house, serve):
    started = serve(make_house(quota=Quota(user_passages=4)))
    client = started.client()
    assert upload(client, "NOTES", a=note("boat", 3)).json()["added"] == 3
    assert refused(upload(client, "NOTES", a=note("boat", 5)), "4 passages")
    assert refused(upload(client, "NOTES", b=note("ship", 2)), "4 passages")
    report = upload(client, "NOTES", b=note("ship", 1), c=note("raft", 9)).json()
    assert (report["files"], report["added"]) == (1, 1)
    assert report["failed"][0]["path"] == "c.md" and "room for 0" in report["failed"][0]["reason"]
    assert names(client, "NOTES") == ["a.md", "b.md"]
    assert [row["passages"] for row in client.get("/v1/sources").json()["data"] if row["name"] == "NOTES"] == [4]
    assert upload(client, "NOTES", a=note("boat", 2)).json()["removed"] == 1


def test_a_user_may_keep_so_many_facts_and_correct_and_forget_them(make_house, serve):
    client = serve(make_house(quota=Quota(facts=2))).client()
    for fact in ("I live in Bern.", "My dog is called Rex."):
        assert client.post("/v1/memory", json={"text": fact}).json()["added"]
    assert refused(client.post("/v1/memory", json={"text": "I am allergic to nuts."}), "2 facts")
    assert client.post("/v1/memory", json={"text": "I live in Bern."}).json()["joined"]
    assert client.post("/v1/memory", json={"text": "I live in Basel."}).json()["superseded"]
    said = client.post("/v1/turns", json={"text": "I am allergic to nuts.", "dialogue": "d"})
    assert said.status_code == 200 and "event: done" in said.text and "event: memory" not in said.text
    texts = {fact["text"]: fact["id"] for fact in client.get("/v1/memory").json()["data"]}
    assert set(texts) == {"My dog is called Rex.", "I live in Basel."}
    corrected = client.put(f"/v1/memory/{texts['I live in Basel.']}", json={"text": "I am allergic to nuts."}).json()
    assert corrected["added"] and corrected["forgotten"]
    assert len(client.get("/v1/memory").json()["data"]) == 2


def test_what_users_take_back_again_and_again_is_not_kept_without_end(make_house, serve):
    client = serve(make_house(quota=Quota(facts=1))).client()
    codes = [
        client.post("/v1/memory", json={"text": f"I live in City{'abcdefghijkl'[i]}."}).status_code for i in range(12)
    ]
    assert codes == [200] * 10 + [409] * 2


def test_uploads_and_facts_count_as_turns(make_house, serve):
    service = make_house(keys=True, limits=Limits(turns_per_minute=2))
    client = serve(service).client(create(service.ledger, "a", user="ana")[1])
    assert upload(client, "NOTES", a=note("a")).status_code == 200
    assert client.post("/v1/memory", json={"text": "I live in Bern."}).status_code == 200
    assert upload(client, "NOTES", b=note("b")).json()["code"] == "too-many-turns"
    assert client.post("/v1/memory", json={"text": "I am old."}).json()["code"] == "too-many-turns"


def test_two_who_write_at_once_do_not_both_get_the_last_room(tmp_path):
    stock, quota, more = Stock(), Quota(tenant_files=1), UploadUsage(1, 1)
    went = threading.Barrier(2, timeout=60)
    outcomes = []

    def write(user):
        try:
            with stock.claiming(tmp_path / user, more, quota, private=True):
                outcomes.append("wrote")
                went.wait()
        except ServiceError as error:
            outcomes.append(error.code)
            went.wait()

    threads = [threading.Thread(target=write, args=(user,)) for user in ("ana", "ben")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(outcomes) == ["quota", "wrote"]


def test_room_that_was_claimed_in_vain_is_given_back(tmp_path):
    stock, quota = Stock(), Quota(user_files=1)
    for _ in range(3):
        with pytest.raises(KeyError), stock.claiming(tmp_path / "ana", UploadUsage(1, 1), quota, private=True):
            raise KeyError
    with stock.claiming(tmp_path / "ana", UploadUsage(1, 1), quota, private=True):
        pass
    with pytest.raises(ServiceError), stock.claiming(tmp_path / "ana", UploadUsage(1, 1), quota, private=True):
        pass


def test_what_is_counted_while_it_is_written_is_counted_again(tmp_path):
    stock, quota = Stock(), Quota(user_files=2)
    (tmp_path / "ana").mkdir()
    with stock.claiming(tmp_path / "ana", UploadUsage(2, 2), quota, private=True):
        (tmp_path / "ana" / "a").write_text("a")
        stock.recount(tmp_path / "ana")
        stock.add(tmp_path / "ana", UploadUsage())  # somebody asks
        (tmp_path / "ana" / "b").write_text("b")
    with pytest.raises(ServiceError), stock.claiming(tmp_path / "ana", UploadUsage(1, 1), quota, private=True):
        pass


@given(st.dictionaries(st.sampled_from(["a", "b", "c/d", ".hidden"]), st.integers(0, 50)))
def test_a_count_is_what_lies_there(tmp_path_factory, sizes):
    root = tmp_path_factory.mktemp("t")
    for name, size in sizes.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(b"x" * size)
    seen = {name: size for name, size in sizes.items() if not name.startswith(".")}
    assert counted(root) == UploadUsage(sum(seen.values()), len(seen))
