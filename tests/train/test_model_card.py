"""The model card of a part says how to use it."""

from __future__ import annotations

import pytest

from dragoman.models.part import Head, Part, write_part
from dragoman.train.contract import Corpus, Job
from dragoman.train.model_card import card, size
from dragoman.train.spec import Recipe


def written(folder, kind, shares=""):
    folder.mkdir(parents=True, exist_ok=True)
    return write_part(Part(folder, kind, {"gate": Head(("retrieve",))}, shares=shares), ())


def card_of(part):
    return card(part, Job(Recipe(kind=part.kind), Corpus((), ()), Corpus((), ()), part.folder))


@pytest.mark.parametrize(
    ("kind", "tables"),
    [
        ("gate.linear", '[gate]\nkind = "linear"\npart = "mine"\n'),
        ("retriever.bi", '[models.encoder]\nweights = "mine"\n[retriever]\nkind = "dense"\npart = "mine"\n'),
        ("retriever.cross", '[retriever]\nkind = "rerank"\ninner = "hybrid"\npart = "mine"\n'),
    ],
)
def test_the_card_shows_the_tables_of_an_agent(tmp_path, kind, tables):
    told = card_of(written(tmp_path / "mine", kind))
    assert f"```toml\n{tables}```" in told
    assert "This folder, or a copy of `part.json`, lies beside the agent.toml" in told


def test_the_card_of_a_shared_model_names_its_parts_and_is_not_to_be_copied_in_pieces(tmp_path):
    whole = written(tmp_path / "mine", "shared")
    written(tmp_path / "mine" / "gate", "gate.encoder", "..")
    written(tmp_path / "mine" / "critic", "critic.nli", "..")
    told = card_of(whole)
    assert 'part = "mine/gate"' in told
    assert 'part = "mine/critic"' in told
    assert "This folder, with those in it, lies beside" in told


def test_the_size_of_a_part_is_that_of_the_files_it_runs_wherever_they_lie(tmp_path):
    (tmp_path / "gate").mkdir()
    (tmp_path / "model.onnx").write_bytes(b"12345")
    part = Part(tmp_path / "gate", "gate.encoder", {"gate": Head(("retrieve",))}, shares="..")
    assert size(write_part(part, ("model.onnx",))) == 5
