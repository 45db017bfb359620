"""Files and vector stores, driven by OpenAI's official client."""

from __future__ import annotations

import io
import itertools

import httpx2
import openai
import pytest

from dragoman.server.data import file_objects, uploads

_USERS = itertools.count()
PIER = b"# Piers\n\nPier nine is closed in winter.\n"


@pytest.fixture
def api(server):
    """The official client, for a user whom no other test knows."""
    with connect(server.path, headers={"x-dragoman-user": f"files-{next(_USERS)}"}) as made:
        yield made


def connect(path, key="none", headers=None):
    http = httpx2.Client(transport=httpx2.HTTPTransport(uds=path, verify=False), headers=headers)
    return openai.OpenAI(base_url="http://localhost/v1", api_key=key, http_client=http, max_retries=0)


def named(content=PIER, name="piers.md"):
    file = io.BytesIO(content)
    file.name = name
    return file


def store_of(api, name):
    return next(store for store in api.vector_stores.list() if store.name == name)


def test_sources_of_documents_are_the_vector_stores(api):
    assert [store.name for store in api.vector_stores.list()] == ["NOTES", "DOCUMENTS"]  # not the user's memory
    notes = store_of(api, "NOTES")
    again = api.vector_stores.retrieve(notes.id)
    assert (again.name, again.status, again.file_counts.total) == ("NOTES", "completed", 0)


def test_a_file_is_uploaded_listed_read_and_deleted(api):
    made = api.files.create(file=named(), purpose="assistants")
    assert (made.filename, made.bytes, made.status) == ("piers.md", len(PIER), "processed")
    assert [file.id for file in api.files.list()] == [made.id]
    assert api.files.retrieve(made.id) == made
    assert api.files.wait_for_processing(made.id).id == made.id
    assert api.files.content(made.id).read() == PIER
    assert store_of(api, "NOTES").file_counts.completed == 1  # a source of the caller's own
    assert api.files.delete(made.id).deleted
    assert list(api.files.list()) == []
    with pytest.raises(openai.NotFoundError):
        api.files.retrieve(made.id)


def test_an_uploaded_file_is_found_by_search_and_answers_questions(api):
    file = api.files.create(file=named(), purpose="user_data")
    notes = store_of(api, "NOTES")
    (hit, *_) = api.vector_stores.search(notes.id, query=["When is pier nine closed?"], max_num_results=3)
    assert (hit.file_id, hit.filename) == (file.id, "piers.md") and 0 <= hit.score <= 1
    assert "closed in winter" in hit.content[0].text and hit.attributes["source"] == "NOTES"
    strict = {"score_threshold": 1.0}
    assert all(row.score >= 1 for row in api.vector_stores.search(notes.id, query="pier", ranking_options=strict))
    question = [{"role": "user", "content": "When is pier nine closed?"}]
    assert "winter" in api.chat.completions.create(model="robin", messages=question).choices[0].message.content


def test_declared_documents_are_searched_too(api):
    (hit, *_) = api.vector_stores.search(store_of(api, "DOCUMENTS").id, query="day ticket")
    assert hit.filename == "documents/prices.md" and "6 francs" in hit.content[0].text


def test_files_are_attached_to_a_store_and_polled(api):
    notes, documents = store_of(api, "NOTES"), store_of(api, "DOCUMENTS")
    file = api.files.create(file=named(), purpose="assistants")
    assert api.vector_stores.files.create(notes.id, file_id=file.id).status == "completed"
    copy = api.vector_stores.files.create_and_poll(file.id, vector_store_id=documents.id)  # the local user may
    assert copy.vector_store_id == documents.id and copy.attributes["passages"] >= 1
    (part,) = api.vector_stores.files.content(file.id, vector_store_id=documents.id)
    assert "closed in winter" in part.text
    assert [row.id for row in api.vector_stores.files.list(documents.id)] == [copy.id] != [file.id]
    assert api.vector_stores.files.delete(copy.id, vector_store_id=documents.id).deleted
    assert [row.id for row in api.files.list()] == [file.id]  # the first one stays


def test_a_batch_of_uploads_says_how_many_failed(api):
    notes = store_of(api, "NOTES")
    files = [named(name=f"pier-{i}.md") for i in range(3)]
    batch = api.vector_stores.file_batches.upload_and_poll(notes.id, files=files)
    assert (batch.status, batch.file_counts.completed, batch.file_counts.failed) == ("completed", 3, 0)
    gone = file_objects.file_id("robin", "NOTES", "nowhere.md")
    ids = [next(iter(api.files.list())).id, gone]
    batch = api.vector_stores.file_batches.create(notes.id, file_ids=ids)
    assert (batch.file_counts.completed, batch.file_counts.failed) == (1, 1)
    assert api.vector_stores.file_batches.retrieve(batch.id, vector_store_id=notes.id) == batch


def test_lists_come_in_pages(api):
    for place in range(3):
        api.files.create(file=named(name=f"pier-{place}.md"), purpose="assistants")
    first = api.files.list(limit=2)
    assert len(first.data) == 2 and first.has_more
    assert [file.filename for file in api.files.list(limit=2)] == ["pier-0.md", "pier-1.md", "pier-2.md"]
    assert next(iter(api.files.list(order="desc"))).filename == "pier-2.md"


def test_a_store_is_created_by_the_name_of_a_source(api):
    file = api.files.create(file=named(), purpose="assistants")
    assert api.vector_stores.create(name="NOTES", file_ids=[file.id]).file_counts.total == 1
    with pytest.raises(openai.BadRequestError, match="NOTES, DOCUMENTS") as caught:
        api.vector_stores.create(name="Support")
    assert caught.value.param == "name"
    with pytest.raises(openai.PermissionDeniedError, match="configuration"):
        api.vector_stores.delete(store_of(api, "NOTES").id)


@pytest.mark.parametrize(
    ("call", "param"),
    [
        (lambda api: api.files.create(file=named(), purpose="fine-tune"), "purpose"),
        (
            lambda api: api.files.create(
                file=named(), purpose="assistants", expires_after={"anchor": "created_at", "seconds": 3600}
            ),
            "expires_after",
        ),
        (lambda api: api.vector_stores.create(name="NOTES", metadata={"a": "b"}), "metadata"),
        (
            lambda api: api.vector_stores.search(
                store_of(api, "NOTES").id, query="x", filters={"type": "eq", "key": "a", "value": 1}
            ),
            "filters",
        ),
    ],
)
def test_what_is_not_honoured_is_refused_by_name(api, call, param):
    with pytest.raises(openai.BadRequestError) as caught:
        call(api)
    assert (caught.value.code, caught.value.param) == ("unsupported-parameter", param)


def test_a_file_that_cannot_be_read_is_told_and_not_kept(api):
    with pytest.raises(openai.BadRequestError, match="cannot be read") as caught:
        api.files.create(file=named(b"%PDF-1.4 nothing", "broken.pdf"), purpose="assistants")
    assert caught.value.body["message"].count("another format") <= 1
    with pytest.raises(openai.APIStatusError) as caught:
        api.files.create(file=named(b"x", "program.exe"), purpose="assistants")
    assert caught.value.code == "unsupported-kind" and list(api.files.list()) == []


@pytest.mark.parametrize("name", ["paper.txt", "paper.md", "paper.docx", "paper.csv"])
def test_a_file_of_another_kind_than_its_name_says_is_told_and_not_kept(api, name):
    with pytest.raises(openai.BadRequestError, match=name):
        api.files.create(file=named(b"%PDF-1.4\n1 0 obj\n", name), purpose="assistants")
    assert list(api.files.list()) == []


@pytest.mark.parametrize("id", ["file-", "file-x", "resp_WzFd", "file-W10", "file-WyJyb2JpbiIsICJOT1RFUyIsIDFd"])
def test_ids_that_are_none_are_not_found(api, id):
    with pytest.raises(openai.NotFoundError):
        api.files.retrieve(id)


@pytest.mark.trust
def test_an_id_opens_nothing_of_another_user(keyed):
    with connect(keyed.path, keyed.texts["ana"]) as ana, connect(keyed.path, keyed.texts["ben"]) as ben:
        file = ana.files.create(file=named(), purpose="assistants")
        notes = store_of(ben, "NOTES")
        for call in (
            lambda: ben.files.retrieve(file.id),
            lambda: ben.files.content(file.id),
            lambda: ben.files.delete(file.id),
            lambda: ben.vector_stores.files.create(notes.id, file_id=file.id),
            lambda: ben.vector_stores.files.content(file.id, vector_store_id=notes.id),
        ):
            with pytest.raises(openai.NotFoundError):
                call()
        assert list(ben.files.list()) == [] and len(list(ana.files.list())) == 1
        with pytest.raises(openai.PermissionDeniedError):  # shared sources are an admin's to write
            ben.files.create(file=named(), purpose="assistants", extra_query={"source": "DOCUMENTS"})


@pytest.mark.trust
@pytest.mark.parametrize("name", ["../../agent.toml", "/etc/passwd.md", ".hidden.md", "a/../../b.md"])
def test_an_id_leads_nowhere_else(api, name):
    with pytest.raises((openai.NotFoundError, openai.BadRequestError)):
        api.files.content(file_objects.file_id("robin", "NOTES", name))


@pytest.mark.trust
def test_one_file_is_looked_up_without_the_others(api, monkeypatch):
    """Somebody may have ten thousand: looking through all of them at each upload takes hours in all."""
    monkeypatch.setattr(uploads, "files", lambda *_: pytest.fail("all files were listed"))
    file = api.files.create(file=named(), purpose="assistants")
    assert api.files.retrieve(file.id).filename == "piers.md"
    api.files.delete(file.id)
    for name in ("piers.md", "../piers.md", "a\x00.md", "other.md"):
        with pytest.raises(openai.NotFoundError):
            api.files.retrieve(file_objects.file_id("robin", "NOTES", name))
