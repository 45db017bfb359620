import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import InputError
from dragoman.sources import files
from dragoman.sources.document import Document, DocumentBlock, Section
from dragoman.sources.files import find, load, parse, read
from dragoman.sources.passages import cut


def write(path, text="text"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def origins(found):
    return [file.origin for file in found.files]


def test_folders_are_searched_in_sorted_order(tmp_path):
    for name in ("b.md", "a/z.txt", "a/b/c.md", "c.csv"):
        write(tmp_path / name)
    assert origins(find([tmp_path], base=tmp_path)) == ["a/b/c.md", "a/z.txt", "b.md", "c.csv"]


def test_hidden_and_generated_folders_are_passed_over(tmp_path):
    for name in ("a.md", ".hidden.md", ".git/x.md", "node_modules/y.md", "__pycache__/z.txt", ".dragoman/q.md"):
        write(tmp_path / name)
    assert origins(find([tmp_path], base=tmp_path)) == ["a.md"]


def test_hidden_path_that_is_named_is_taken(tmp_path):
    write(tmp_path / ".notes" / "a.md")
    assert origins(find([tmp_path / ".notes"], base=tmp_path)) == [".notes/a.md"]


def test_links_in_a_circle_are_followed_once(tmp_path):
    write(tmp_path / "docs" / "a.md")
    (tmp_path / "docs" / "again").symlink_to(tmp_path / "docs")
    (tmp_path / "docs" / "up").symlink_to(tmp_path)
    for follow in (False, True):
        assert origins(find([tmp_path / "docs"], base=tmp_path, follow_links=follow)) == ["docs/a.md"]


def test_link_to_a_folder_elsewhere_is_followed_under_its_own_name(tmp_path):
    write(tmp_path / "elsewhere" / "a.md")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "more").symlink_to(tmp_path / "elsewhere")
    assert origins(find([tmp_path / "docs"], base=tmp_path, follow_links=True)) == ["docs/more/a.md"]
    (skipped,) = find([tmp_path / "docs"], base=tmp_path).skipped
    assert skipped == ("docs/more", "It is a link that leads out of the folder.")


def test_origin_is_the_same_however_the_path_is_written(tmp_path, monkeypatch):
    write(tmp_path / "docs" / "a.md")
    monkeypatch.chdir(tmp_path)
    written = (Path("docs"), "./docs", tmp_path / "docs", "docs/../docs", "docs/a.md")
    assert {tuple(origins(find([path]))) for path in written} == {("docs/a.md",)}


def test_origin_outside_the_base_is_absolute(tmp_path):
    path = write(tmp_path / "a.md")
    assert origins(find([path], base=tmp_path / "elsewhere")) == [path.as_posix()]


def test_file_found_twice_is_taken_once(tmp_path):
    path = write(tmp_path / "a.md")
    assert origins(find([tmp_path, path], base=tmp_path)) == ["a.md"]


def test_missing_path_is_named_with_a_close_one(tmp_path):
    write(tmp_path / "documents" / "a.md")
    with pytest.raises(InputError, match=r"no file or folder '.*document'. Did you mean '.*documents'\?"):
        find([tmp_path / "document"])


def test_missing_path_in_a_missing_folder_is_named(tmp_path):
    with pytest.raises(InputError, match="no file or folder"):
        find([tmp_path / "x" / "y"])


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.png", b"\x89PNG", r"kind '.png' cannot be read. Kinds that can: .txt"),
        ("a.docm", b"PK", r"'a.docm' cannot be read. It may contain macros"),
        ("a.XLS", b"PK", r"'a.XLS' cannot be read. It is in an old binary format"),
        ("a.docx", b"PK", "'a.docx' is damaged"),
        ("a.md", b"", "'a.md' is empty"),
        ("a.md", b" \n\t\n", "'a.md' is empty"),
        ("a.txt", b"\x7fELF\x00\x01", "binary"),
        ("a.md", b"<!-- only a comment -->", "holds no text"),
        ("a.txt", b"\xff\xfe", "holds no text"),
        ("a.html", b"<script>x()</script>", "holds no text"),
        ("README", b"\x00", "binary"),
    ],
)
def test_file_that_cannot_be_used_says_why(tmp_path, name, content, reason):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=reason):
        read(tmp_path / name)


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
def test_unreadable_file_and_folder_say_why(tmp_path):
    path = write(tmp_path / "a.md")
    path.chmod(0)
    with pytest.raises(InputError, match="Permission denied"):
        load(path)
    folder = write(tmp_path / "closed" / "b.md").parent
    folder.chmod(0)
    found = find([tmp_path], base=tmp_path)
    folder.chmod(0o755)
    assert [failure.path for failure in found.failed] == ["closed"]


def test_pipe_is_refused_and_does_not_block(tmp_path):
    os.mkfifo(tmp_path / "a.txt")
    with pytest.raises(InputError, match="is not a file"):
        read(tmp_path / "a.txt")


def test_broken_link_in_a_folder_is_found_and_fails_alone(tmp_path):
    (tmp_path / "a.md").symlink_to(tmp_path / "gone.md")
    assert origins(find([tmp_path], base=tmp_path)) == ["a.md"]
    with pytest.raises(InputError):
        read(tmp_path / "a.md")


def test_suffix_is_known_in_any_case():
    assert parse(b"# T\ntext", "A.MD").title == "T"


MARKDOWN = ["# ", "\n", "\n\n", "- ", "1. ", "{#a}", "| a | b |\n|---|---|\n", "```", "> ", "---\n", "    ", "\t"]
HTML = ["<table><tr>", "<li>", "</ul>", "<h2>", "<!--", "&amp;", "<ol start=x>"]
OTHERS = [",", ";", '"', '{"text": "x"}', "[", "我。", "a", "\x00", "\ud7ff", "🙂", "%PDF-1.4\n"]
PIECES = st.sampled_from(MARKDOWN + HTML + OTHERS)


@pytest.mark.trust
@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html", "a.pdf", "a.csv", "a.jsonl"])
@given(content=st.lists(PIECES, max_size=25).map(lambda parts: "".join(parts).encode()) | st.binary(max_size=60))
def test_any_bytes_give_passages_or_an_input_error(name, content):
    try:
        passages = cut(parse(content, name), "S", name)
    except InputError:
        return
    assert all(passage.text.strip() for passage in passages)


def test_importing_ingest_loads_no_parser():
    code = (
        "import sys, dragoman.sources.ingest, dragoman.sources.seed, dragoman.sources.graph\n"
        "print([m for m in ('markdown_it', 'selectolax', 'pypdf', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_installed_package_brings_a_reader(tmp_path, monkeypatch):
    def read_picture(content, name):
        return Document(name, (Section((DocumentBlock(content.decode()),)),))

    monkeypatch.setattr(files, "plugins", lambda role: [("PNG", read_picture)] if role == "format" else [])
    files.readers.cache_clear()
    try:
        (tmp_path / "sign.png").write_text("No dogs on the beach.")
        assert read(tmp_path / "sign.png").sections[0].blocks[0].text == "No dogs on the beach."
    finally:
        files.readers.cache_clear()


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        (
            "knee.docx",
            b"%PDF-1.7 ...",
            "'knee.docx' is a PDF, whatever its name says. Rename it so that it ends in .pdf.",
        ),
        ("notes.md", b"PK\x03\x04\0\0word/document.xml", "is a Word document, whatever its name says. Rename it"),
        ("notes.txt", b"\x89PNG\r\n\x1a\n\0", "is a picture"),
        ("notes.docx", b"PK\x03\x04\0\0word/document.xml", "is damaged"),
        ("notes.pdf", b"%PDF-1.7 ...", "cannot be read as a PDF"),
    ],
)
def test_a_file_whose_name_is_not_that_of_its_content_is_called_what_it_is(name, content, reason):
    with pytest.raises(InputError) as raised:
        parse(content, name)
    assert reason in f"{raised.value} {raised.value.remedy}"
