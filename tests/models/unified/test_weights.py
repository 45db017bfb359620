"""The weights of a unified model: made for training, saved, loaded again."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest
import torch

from dragoman.core.errors import WeightsError
from dragoman.core.tokens import Grammar
from dragoman.models.base_weights import base_digest
from dragoman.models.part import Part, write_part
from dragoman.models.torch.causal_lm import load_causal
from dragoman.models.torch.lora import LoraSpec
from dragoman.models.unified.token_spelling import spell
from dragoman.models.unified.vocabularies import tokenizer_vocabulary
from dragoman.models.unified.weights import (
    ROWS,
    WHOLE,
    GrownEmbedding,
    Tuning,
    end_of,
    first_rows,
    for_training,
    open_weights,
    save_weights,
    told_apart,
    vocabulary_rows,
)

GRAMMAR = Grammar(("PERSONA", "DOCUMENTS"))


@pytest.fixture(scope="module")
def untied(tiny_causal, tmp_path_factory):
    """The same tokenizer over a model whose output is not its embedding."""
    from transformers import LlamaConfig, LlamaForCausalLM

    folder = tmp_path_factory.mktemp("untied")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(tiny_causal / name, folder / name)
    sizes = {"vocab_size": 560, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1}
    with torch.random.fork_rng():
        torch.manual_seed(6)
        config = LlamaConfig(**sizes, num_attention_heads=4, num_key_value_heads=2, tie_word_embeddings=False)
        LlamaForCausalLM(config).save_pretrained(folder)
    return folder


def opened(base, way="rows", kept="lora", seed=1):
    causal = load_causal(base)
    vocabulary = tokenizer_vocabulary(causal.tokenizer, vocabulary_rows(causal))
    spelling = spell(GRAMMAR, way, vocabulary)
    tuning = Tuning(kept, LoraSpec(rank=2, alpha=4, dropout=0.0))
    made = for_training(causal, spelling, tuning, seed=seed, sources={"PERSONA": "who I am"}, vocabulary=vocabulary)
    return made, spelling


def disturbed(causal):
    """As if it were trained: all that is trained is moved."""
    chance = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in causal.model.parameters():
            if parameter.requires_grad:
                parameter.add_(0.05 * torch.randn(parameter.shape, generator=chance))
    return causal


def part_of(folder, base, names, kept):
    options = {"base": str(base), "base_sha256": base_digest(base), "weights": kept}
    return write_part(Part(folder, "unified", {}, options), names)


@torch.no_grad()
def logits(causal, ids):
    causal.model.eval()
    return causal.model(input_ids=torch.tensor([ids])).logits[0]


@pytest.mark.parametrize("base", ["tiny_causal", "untied"])
def test_only_the_adapter_and_the_new_rows_are_trained_and_saved(base, request, tmp_path):
    base = request.getfixturevalue(base)
    causal, _ = opened(base)
    trained = {name for name, one in causal.model.named_parameters() if one.requires_grad}
    assert all("lora_" in name or name.endswith(".rows") for name in trained)
    rows = [one for name, one in causal.model.named_parameters() if name.endswith(".rows")]
    assert [tuple(one.shape) for one in rows] == [(len(GRAMMAR.tokens), 32)] * (1 if "tiny" in str(base) else 2)
    names = save_weights(causal, tmp_path, kept="lora", base=str(base))
    assert names == ("adapter_config.json", "adapter_model.safetensors", ROWS)
    assert (tmp_path / ROWS).stat().st_size < 8_000


@pytest.mark.parametrize("base", ["tiny_causal", "untied"])
@pytest.mark.parametrize(("way", "kept"), [("rows", "lora"), ("rows", "full"), ("text", "lora")])
def test_what_was_trained_is_what_is_loaded(base, way, kept, request, tmp_path):
    base = request.getfixturevalue(base)
    causal, spelling = opened(base, way, kept)
    ids = [5, 9, *(spelling.ids[token][0] for token in GRAMMAR.tokens[:4]), 7]
    before = logits(causal, ids)
    expected = logits(disturbed(causal), ids)
    assert not torch.allclose(before, expected, atol=1e-2)
    names = save_weights(causal, tmp_path, kept=kept, base=str(base))
    found = open_weights(part_of(tmp_path, base, names, kept))
    assert not isinstance(found.model.get_input_embeddings(), GrownEmbedding)  # a plain model with more rows
    close = 0.1 if kept == "full" else 1e-4  # all weights are kept in half precision
    assert torch.allclose(logits(found, ids), expected, atol=close)
    assert not any(one.requires_grad for one in found.model.parameters())


def test_new_rows_begin_near_their_description_and_the_seed_decides(tiny_causal):
    causal = load_causal(tiny_causal)
    vocabulary = tokenizer_vocabulary(causal.tokenizer, vocabulary_rows(causal))
    spelling = spell(GRAMMAR, "rows", vocabulary)
    meant = dict.fromkeys(GRAMMAR.tokens, "the boat leaves")
    rows = first_rows(causal, spelling, vocabulary, meant, seed=1)["rows"]
    weight = causal.model.get_input_embeddings().weight
    mean = weight[vocabulary.encode("the boat leaves")].mean(0)
    assert float((rows - mean).norm(dim=1).max()) < 0.2 * float(weight.std()) * 32**0.5
    assert len({tuple(row.tolist()) for row in rows}) == len(rows)  # no two alike
    assert torch.equal(rows, first_rows(causal, spelling, vocabulary, meant, seed=1)["rows"])
    assert not torch.equal(rows, first_rows(causal, spelling, vocabulary, meant, seed=2)["rows"])


def test_rows_that_no_training_touched_are_not_told_apart(tiny_causal):
    causal = load_causal(tiny_causal)
    with torch.no_grad():
        weight = causal.model.get_input_embeddings().weight
        weight[11] = weight[10] * 1.001
    assert told_apart(causal, (9, 10, 11, 12)) == (9, 10, 12)


def test_a_base_without_an_end_takes_the_one_of_a_plan(tiny_causal):
    causal = load_causal(tiny_causal)
    _, spelling = opened(tiny_causal)
    assert end_of(causal, spelling) == causal.tokenizer.eos_token_id
    causal.tokenizer.eos_token = None
    causal.model.generation_config.eos_token_id = None
    assert end_of(causal, spelling) == spelling.ids[GRAMMAR.indicators[1]][0]
    vocabulary = tokenizer_vocabulary(causal.tokenizer, vocabulary_rows(causal))
    with pytest.raises(WeightsError, match="no token that ends a text"):
        end_of(causal, spell(GRAMMAR, "text", vocabulary))


def test_an_adapter_of_another_base_is_refused_by_its_hash(tiny_causal, untied, tmp_path):
    causal, _ = opened(tiny_causal)
    part = part_of(tmp_path, tiny_causal, save_weights(causal, tmp_path, kept="lora", base="tiny"), "lora")
    other = replace(part, options={**part.options, "base": str(untied)})
    with pytest.raises(WeightsError, match="trained on other weights"):
        open_weights(other)


def test_damaged_or_foreign_weights_are_refused(tiny_causal, untied, tmp_path):
    causal, _ = opened(tiny_causal, kept="full")
    part = part_of(tmp_path, tiny_causal, save_weights(causal, tmp_path, kept="full", base="tiny"), "full")
    (tmp_path / WHOLE).write_bytes(b"no safetensors")
    with pytest.raises(WeightsError, match="cannot be read"):
        open_weights(part)
    causal, _ = opened(untied, kept="full")
    save_weights(causal, tmp_path, kept="full", base="tiny")
    with pytest.raises(WeightsError, match="of another model"):
        open_weights(part)


def test_gradients_reach_the_rows_of_both_sides(tiny_causal):
    causal, spelling = opened(tiny_causal)
    token = spelling.ids[GRAMMAR.tokens[0]][0]
    told = causal.model(input_ids=torch.tensor([[5, token, 6]])).logits
    told[0, 2, token].backward()
    (rows,) = [one for name, one in causal.model.named_parameters() if name.endswith(".rows")]
    assert rows.grad is not None and float(rows.grad[0].abs().sum()) > 0
    assert causal.model.get_input_embeddings().base.weight.grad is None


@pytest.mark.parametrize("way", ["rows", "text"])
def test_the_logits_of_some_tokens_are_those_of_all(tiny_causal, way):
    from dragoman.models.unified.packed import some_logits, vocabulary_logits

    causal, spelling = opened(tiny_causal, way)
    tokens = [3, *spelling.ids[GRAMMAR.tokens[0]], 9]
    hidden = torch.randn(4, 32, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        assert torch.allclose(
            some_logits(causal.model, hidden, tokens), vocabulary_logits(causal.model, hidden)[:, tokens], atol=1e-5
        )


def test_a_part_for_llama_cpp_alone_says_so(tiny_causal, tmp_path):
    (tmp_path / "adapter.gguf").write_bytes(b"GGUF")
    options = {"base": str(tiny_causal), "base_sha256": base_digest(tiny_causal)}
    part = write_part(Part(tmp_path, "unified", {}, options), ("adapter.gguf",))
    with pytest.raises(WeightsError, match=r"runs in llama\.cpp alone"):
        open_weights(part)
