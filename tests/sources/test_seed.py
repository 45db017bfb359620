import pytest

from dragoman.core.errors import InputError
from dragoman.core.values import Scope, Source
from dragoman.sources.seed import facts, seed
from dragoman.testing import StubEncoder

MEMORY = Source("MEMORY", about="user", private=True)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "ana.md").write_text("# Ana\n- I live in Basel.\n- I have a dog. {#dog}\n", encoding="utf-8")
    (tmp_path / "小李.md").write_text("我住在北京。\n我喜欢茶。\n", encoding="utf-8")
    return tmp_path


def known(store, user):
    return [passage.text for passage in store.passages(Scope("t", user), "MEMORY")]


def test_each_user_gets_the_facts_of_their_file_alone(folder, store, encoder):
    assert seed(store, encoder, MEMORY, folder, "t") == 4
    assert known(store, "ana") == ["I live in Basel.", "I have a dog."]
    assert known(store, "小李") == ["我住在北京。", "我喜欢茶。"]
    assert known(store, "") == []


def test_forgotten_fact_does_not_come_back(folder, store, encoder):
    seed(store, encoder, MEMORY, folder, "t")
    store.remove(Scope("t", "ana"), ["dog"])
    assert seed(store, encoder, MEMORY, folder, "t") == 0
    assert known(store, "ana") == ["I live in Basel."]


def test_forgotten_user_does_not_come_back_and_leaves_no_name(folder, store, encoder):
    seed(store, encoder, MEMORY, folder, "t")
    store.forget(Scope("t", "ana"))
    assert seed(store, encoder, MEMORY, folder, "t") == 0
    assert known(store, "ana") == []
    assert "ana" not in str(store._by_scope[Scope("t", "")].kept)


def test_tenants_are_seeded_apart(folder, store, encoder):
    seed(store, encoder, MEMORY, folder, "t")
    assert seed(store, encoder, MEMORY, folder, "other") == 4


def test_stop_before_the_ledger_is_written_gives_the_facts_once(folder, store, encoder):
    store.fail_at = 1
    with pytest.raises(KeyboardInterrupt):
        seed(store, encoder, MEMORY, folder, "t")
    store.fail_at = None
    seed(store, encoder, MEMORY, folder, "t")
    assert known(store, "ana") == ["I live in Basel.", "I have a dog."]


def test_facts_are_items_and_lines_without_headings_front_matter_and_repeats():
    text = "---\ntitle: x\n---\n# Head\n\n- one\n  goes on\n* two\n3. three\nfour\n- one\n  goes on\n"
    assert facts(text) == ("one goes on", "two", "three", "four")


@pytest.mark.parametrize(("about", "asked"), [("user", ["encode"]), ("world", ["encode_passages", "encode"])])
def test_rows_are_read_as_their_source_is(tmp_path, store, about, asked):
    calls = []

    class Apart(StubEncoder):
        def encode(self, texts):
            calls.append("encode")
            return super().encode(texts)

        def encode_passages(self, texts):
            calls.append("encode_passages")
            return self.encode(texts)

    (tmp_path / "ana.md").write_text("- The ferry leaves at nine.\n", encoding="utf-8")
    seed(store, Apart(), Source("NOTES", about=about, private=True), tmp_path, "t")
    assert calls == asked


def test_shared_source_cannot_be_seeded(folder, store, encoder):
    with pytest.raises(InputError, match="'DOCS' is shared"):
        seed(store, encoder, Source("DOCS"), folder, "t")


def test_missing_folder_is_named(tmp_path, store, encoder):
    with pytest.raises(InputError, match="There is no folder"):
        seed(store, encoder, MEMORY, tmp_path / "gone", "t")
