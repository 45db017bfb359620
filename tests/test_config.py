"""agent.toml: defaults, overrides, and errors that say where and what was meant."""

from __future__ import annotations

import pytest

from dragoman.config import DEFAULT_KINDS, load_config
from dragoman.core.errors import ConfigError
from dragoman.core.registry import REGISTRIES
from dragoman.core.values import Source


@pytest.fixture
def write(tmp_path):
    def write(text):
        file = tmp_path / "agent.toml"
        file.write_text(text, encoding="utf-8")
        return file

    return write


def test_a_name_is_enough(write):
    config = load_config(write('name = "Marlow"'))
    assert config.name == "Marlow"
    assert {role: config.table(role)["kind"] for role in DEFAULT_KINDS} == DEFAULT_KINDS
    assert config.models.language["weights"] == "smollm2-135m-instruct"
    assert [source.name for source in config.declared()] == ["MEMORY", "DOCUMENTS"]
    assert config.refiner.mode == "off"


def test_a_folder_means_the_file_in_it(write):
    assert load_config(write('name = "Marlow"').parent).name == "Marlow"


def test_sources_are_read_as_declared(write):
    config = load_config(
        write('[[sources]]\nname = "A"\nneeds = ["B"]\nabout = "bot"\n[[sources]]\nname = "B"\nprivate = true\n')
    )
    assert config.declared() == (Source("A", "", ("B",), "bot"), Source("B", private=True))


def test_another_kind_of_model_gets_no_default_weights(write):
    assert load_config(write('[models.language]\nkind = "remote"')).models.language == {"kind": "remote"}


@pytest.mark.parametrize(
    "overrides",
    [
        ["gate.threshold=0.6", "name=Bob", "sources.DOCUMENTS.private=true"],
        ["--gate.threshold=0.6", "--name=Bob", "--sources.DOCUMENTS.private=true"],
        ["--gate.threshold 0.6", "--name Bob", "--sources.DOCUMENTS.private true"],
        {"gate.threshold": "0.6", "name": "Bob", "sources.DOCUMENTS.private": True},
    ],
)
def test_overrides_take_the_same_paths(write, overrides):
    config = load_config(write('name = "Marlow"\n[[sources]]\nname = "DOCUMENTS"'), overrides)
    assert config.gate["threshold"] == 0.6
    assert config.name == "Bob"
    assert config.declared()[0].private


@pytest.mark.parametrize(
    ("written", "value"),
    [("true", True), ("3", 3), ("0.5", 0.5), ('"3"', "3"), ("word", "word"), ("[1, 2]", [1, 2]), ("a = b", "a = b")],
)
def test_override_values_are_toml_or_else_words(written, value):
    assert load_config(None, {"gate.option": written}).gate["option"] == value


def test_overrides_win_over_the_file(write):
    assert load_config(write("[retriever]\nk = 3"), ["retriever.k=5"]).retriever["k"] == 5


@pytest.mark.parametrize("override", ["nothing", "gate..=", "name.first=x", "sources.NONE.private=true"])
def test_an_override_that_leads_nowhere_is_an_error(write, override):
    with pytest.raises(ConfigError):
        load_config(write('name = "Marlow"\n[[sources]]\nname = "A"'), [override])


@pytest.mark.parametrize(
    ("text", "key", "meant"),
    [
        ('nmae = "x"', "nmae", "name"),
        ("[gaet]\nkind = 'x'", "gaet", "gate"),
        ("[refiner]\nmodes = 'off'", "refiner.modes", "mode"),
        ("[models.languages]\nkind = 'x'", "models.languages", "language"),
        ("[[sources]]\nname = 'A'\nneed = ['B']", "sources.0.need", "needs"),
    ],
)
def test_an_unknown_key_is_named_with_its_path_its_file_and_what_was_meant(write, text, key, meant):
    file = write(text)
    with pytest.raises(ConfigError) as caught:
        load_config(file)
    message = str(caught.value)
    assert message.startswith(f"{file}: unknown key '{key}'. Did you mean '{meant}'?")
    assert caught.value.fields == {"file": str(file), "key": key}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[refiner]\nmode = 'sometimes'", ["refiner.mode", "within-step", "sometimes"]),
        ("history = -1", ["history", "-1"]),
        ("gate = 3", ["gate", "3"]),
        ("[gate]\nkind = 3", ["gate", "kind must be a string"]),
        ("[[sources]]\ndescription = 'x'", ["sources.0.name"]),
    ],
)
def test_a_wrong_value_is_named_with_its_path(write, text, words):
    with pytest.raises(ConfigError) as caught:
        load_config(write(text))
    assert all(word in str(caught.value) for word in words)


def test_bad_toml_is_an_error_with_the_line(write):
    with pytest.raises(ConfigError, match=r"not valid TOML.*line 2"):
        load_config(write('name = "x"\n[gate\n'))


def test_a_file_that_is_missing_or_not_text_is_an_error(tmp_path):
    with pytest.raises(ConfigError, match=r"There is no .*dragoman init"):
        load_config(tmp_path / "agent.toml")
    (tmp_path / "agent.toml").write_bytes(b"name = '\xff'")
    with pytest.raises(ConfigError, match="not UTF-8"):
        load_config(tmp_path)


@pytest.mark.trust
@pytest.mark.parametrize(
    "text",
    [
        "[models.language]\napi_key = 'abc'",
        "[models.language]\nkey = 'abc'",
        "[models.language]\nauth_token = 'abc'",
        "[models.language]\nheader = 'sk-aaaaaaaaaaaaaaaaaaaaaaaa'",
    ],
)
def test_secrets_are_refused_and_the_way_out_is_named(write, text):
    with pytest.raises(ConfigError, match="key_env") as caught:
        load_config(write(text))
    assert "aaaa" not in str(caught.value)


@pytest.mark.trust
@pytest.mark.parametrize(
    "url", ["postgresql://ana:hunter2@db/agents", "host=db password=hunter2", "postgresql://db/a?password=hunter2"]
)
def test_a_password_in_an_address_is_refused(write, url):
    with pytest.raises(ConfigError, match="env:") as caught:
        load_config(write(f"[store]\nkind = 'postgres'\nurl = '{url}'"))
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("url", ["env:STORE", "postgresql://ana@db:5432/agents", "postgresql:///agents"])
def test_an_address_without_a_password_is_allowed(write, url):
    assert load_config(write(f"[store]\nkind = 'postgres'\nurl = '{url}'")).store["url"] == url


def test_what_only_sounds_like_a_secret_is_allowed(write):
    config = load_config(write("[models.language]\nkind='x'\nkey_env = 'MY_KEY'\nmax_tokens = 5\n[gate]\nmonkey = 'a'"))
    assert config.models.language["key_env"] == "MY_KEY"


def test_resolved_is_enough_to_repeat_the_run(write, monkeypatch):
    for role in DEFAULT_KINDS:
        monkeypatch.setattr(REGISTRIES[role], "_loaded", True)
        monkeypatch.setattr(REGISTRIES[role], "_factories", {f"{role}.plain.v1": dict, f"{role}.plain.v2": dict})
    kinds = "".join(
        f"[{'models.language' if r == 'model' else 'models.encoder' if r == 'encoder' else r}]\nkind = 'plain'\n"
        for r in DEFAULT_KINDS
    )
    config = load_config(write(kinds), ["gate.threshold=0.6"])
    resolved = config.resolved()
    assert resolved["gate"] == {"kind": "gate.plain.v2", "threshold": 0.6}
    assert resolved["models"]["encoder"]["kind"] == "encoder.plain.v2"
    again = type(config).model_validate(resolved)
    assert again.resolved() == resolved


def test_another_kind_does_not_take_over_the_options_of_the_one_it_replaces(tmp_path):
    file = tmp_path / "agent.toml"
    file.write_text('name = "A"\n[planner]\nkind = "similarity"\nthreshold = 0.4\nfallback = "none"\n')
    changed = load_config(file, ["planner.style=zero-shot", "planner.kind=prompted"]).table("planner")
    assert changed == {"kind": "prompted", "style": "zero-shot", "fallback": "none"}
    same = load_config(file, ["planner.kind=planner.similarity.v1"]).table("planner")
    assert same["threshold"] == 0.4
