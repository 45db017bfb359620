import shutil
import subprocess
from functools import partial

import pytest

from dragoman.core.errors import InputError
from dragoman.core.values import Scope, Source
from dragoman.sources.ingest import ingest
from dragoman.sources.web.git import fetch_repository, is_repository
from dragoman.sources.web.site import WebLimits
from dragoman.stores.in_memory import InMemoryStore
from dragoman.testing.stubs import StubEncoder

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "repository"
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "ferry.md").write_text("# Ferry\n\nIt leaves at nine.\n")
    (folder / "code.c").write_text("int main;")
    (folder / "LICENSE").write_text("free")
    commit = ["-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "x"]
    for command in (["init", "-q", "-b", "trunk"], ["add", "-A"], commit):
        subprocess.run(["git", "-C", folder, *command], check=True)
    return f"git+file://{folder}"


def test_files_that_can_be_read_come_under_the_address(repository, tmp_path):
    found = fetch_repository(repository, tmp_path / "clone", allow_private=True)
    root = repository.removeprefix("git+")
    assert [file.origin for file in found.files] == [f"{root}/docs/ferry.md"]
    assert fetch_repository(f"{repository}#trunk", tmp_path / "again", allow_private=True).files


def test_a_repository_is_ingested_and_files_that_are_gone_are_removed(repository, tmp_path):
    store, source = InMemoryStore(), Source("DOCUMENTS")
    limits = WebLimits(allow_private=True)
    assert ingest(store, StubEncoder(), source, [repository], scope=Scope(), web=limits).added == 1
    folder = tmp_path / "repository"
    (folder / "docs" / "ferry.md").rename(folder / "docs" / "boat.md")
    subprocess.run(["git", "-C", folder, "add", "-A"], check=True)
    subprocess.run(
        ["git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "y"], check=True
    )
    report = ingest(store, StubEncoder(), source, [repository], scope=Scope(), web=limits, sync=True)
    assert (report.added, report.removed) == (1, 1)


@pytest.mark.trust
def test_local_and_private_repositories_are_refused(repository, tmp_path):
    for address in (repository, "git+https://127.0.0.1/x.git", "git+ssh://example.org/x", "git+ext::sh -c ls"):
        with pytest.raises(InputError):
            fetch_repository(address, tmp_path / "clone")


def test_a_repository_that_cannot_be_cloned_is_reported(tmp_path):
    report = ingest(
        InMemoryStore(),
        StubEncoder(),
        Source("DOCUMENTS"),
        [f"git+file://{tmp_path}/none"],
        scope=Scope(),
        web=WebLimits(allow_private=True),
    )
    assert "cannot be cloned" in report.failed[0].reason


def test_repositories_are_told_from_pages():
    assert is_repository("git+https://a.org/x") and is_repository("https://a.org/x.git")
    assert not is_repository("https://a.org/x")


@pytest.mark.trust
def test_a_repository_that_stands_for_too_many_files_is_refused_before_they_are_written(tmp_path, monkeypatch):
    """Five levels of folders that hold the same folder ten times: 100,000 files from a handful of objects."""
    folder = tmp_path / "bomb"
    run = partial(subprocess.run, check=True, capture_output=True, text=True)
    run(["git", "init", "-q", "-b", "trunk", folder])
    made = run(["git", "-C", folder, "hash-object", "-w", "--stdin"], input="boom").stdout.strip()
    kind = "100644 blob"
    for _ in range(5):
        rows = "".join(f"{kind} {made}\tf{number}.md\n" for number in range(10))
        made, kind = run(["git", "-C", folder, "mktree"], input=rows).stdout.strip(), "040000 tree"
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    commit = run(["git", "-C", folder, *identity, "commit-tree", made, "-m", "x"]).stdout.strip()
    run(["git", "-C", folder, "update-ref", "refs/heads/trunk", commit])
    with pytest.raises(InputError, match="more than 50,000 files"):
        fetch_repository(f"git+file://{folder}", tmp_path / "clone", allow_private=True)
    assert not list((tmp_path / "clone").glob("f*"))


@pytest.mark.trust
def test_git_follows_no_redirect(site, tmp_path):
    """A public host could send git to an address of this network."""
    site.pages["/x.git/info/refs?service=git-upload-pack"] = (302, {"location": f"{site.url}/private"}, b"")
    with pytest.raises(InputError, match="cannot be cloned"):
        fetch_repository(f"{site.url}/x.git", tmp_path / "clone", allow_private=True)
    assert site.asked and "/private" not in "".join(site.asked)


@pytest.mark.trust
def test_git_connects_to_the_address_that_was_checked(site, tmp_path, monkeypatch):
    """The name resolves to nothing by the time git looks it up."""
    monkeypatch.setattr("dragoman.sources.web.git.public_address", lambda *_, **__: "127.0.0.1")
    port = site.url.rpartition(":")[2]
    with pytest.raises(InputError, match="cannot be cloned"):
        fetch_repository(f"http://nowhere.invalid:{port}/x.git", tmp_path / "clone")
    assert any("/x.git/info/refs" in path for path in site.asked)
