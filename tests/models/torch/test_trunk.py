"""The trunk: pooling without the padding, scores that do not depend on the batch, loading and refusing weights."""

from __future__ import annotations

import shutil

import pytest
import torch
from safetensors.torch import save_file

from dragoman.core.errors import ConfigError, WeightsError
from dragoman.models.torch.trunk import embed, load_trunk, read_weights, score

TEXTS = ["hello", "what is the price of a room with a view", "thanks", "who are you?"]


@pytest.fixture
def opened(make_bert):
    trunk, tokens = load_trunk(make_bert(), {"gate": 1, "plan": 3}, max_tokens=16)
    trunk.eval()
    return trunk, tokens


def rows(tokens, *texts):
    return tokens.rows(tokens.encode(texts))


def test_mean_is_over_the_tokens_without_the_padding(opened):
    trunk, tokens = opened
    with torch.no_grad():
        states = trunk.states(rows(tokens, TEXTS[0]))
        beside_longer = trunk.pooled(rows(tokens, TEXTS[0], TEXTS[1]))[0]
    assert torch.allclose(beside_longer, states[0].mean(0), atol=1e-5)


def test_cls_pooling_is_the_first_tokens_state(make_bert):
    trunk, tokens = load_trunk(make_bert(), {"gate": 1}, pooling="cls")
    trunk.eval()
    given = rows(tokens, *TEXTS)
    with torch.no_grad():
        assert torch.equal(trunk.pooled(given), trunk.states(given)[:, 0])


def test_vectors_have_length_one(opened):
    trunk, tokens = opened
    assert embed(trunk, tokens, TEXTS).norm(dim=1).tolist() == pytest.approx([1.0] * 4, abs=1e-5)


def test_head_reads_the_vectors_that_are_not_of_length_one(opened):
    trunk, tokens = opened
    vectors = embed(trunk, tokens, TEXTS, unit=False)
    with torch.no_grad():
        expected = trunk.heads["plan"](vectors)
    assert torch.allclose(score(trunk, tokens, TEXTS, "plan"), expected, atol=1e-5)


def test_scores_do_not_depend_on_the_batch_and_keep_the_order(opened):
    trunk, tokens = opened
    together = score(trunk, tokens, TEXTS, "plan")
    alone = torch.cat([score(trunk, tokens, [text], "plan") for text in TEXTS])
    assert together.shape == (4, 3)
    assert torch.allclose(together, alone, atol=1e-4)


def test_scoring_turns_dropout_off_and_back_on(opened):
    trunk, tokens = opened
    trunk.train()
    assert torch.equal(score(trunk, tokens, TEXTS, "gate"), score(trunk, tokens, TEXTS, "gate"))
    assert trunk.training


def test_nothing_to_score_is_an_empty_table(opened):
    assert score(*opened, [], "plan").shape == (0, 3)
    assert embed(*opened, []).shape == (0, 32)


def test_first_and_second_text_of_a_pair_are_told_apart(opened):
    _, tokens = opened
    given = rows(tokens, ("hello", "good"))
    assert given["token_type_ids"][0].tolist() == sorted(given["token_type_ids"][0].tolist())
    assert set(given["token_type_ids"][0].tolist()) == {0, 1}


def test_long_text_is_cut_to_the_most_tokens(opened):
    _, tokens = opened
    assert len(tokens.encode(["hello " * 500])[0].ids) == 16


def test_lone_surrogates_do_not_break_the_tokenizer(opened):
    _, tokens = opened
    assert len(tokens.encode(["broken \ud800 text"])) == 1


def test_padding_is_masked(opened):
    _, tokens = opened
    given = rows(tokens, TEXTS[0], TEXTS[1])
    lengths = [len(found.ids) for found in tokens.encode(TEXTS[:2])]
    assert given["attention_mask"].sum(1).tolist() == lengths


def test_first_layers_can_be_kept_alone(make_bert):
    trunk, _ = load_trunk(make_bert(), {"gate": 1}, layers=1)
    assert len(trunk.encoder.encoder.layer) == trunk.encoder.config.num_hidden_layers == 1


def test_what_is_frozen_reads_the_same_in_training_and_the_rest_does_not(make_bert):
    trunk, tokens = load_trunk(make_bert(), {"gate": 1}, max_tokens=16)
    for module in trunk.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.5
    given = rows(tokens, *TEXTS)

    def twice():
        with torch.no_grad():
            return torch.equal(trunk.states(given), trunk.states(given))

    trunk.train()
    assert not twice()
    trunk.freeze()
    assert trunk.training and twice()
    trunk.freeze(layers=1)
    trunk.train()
    assert not twice()
    trunk.eval()
    assert twice()


def test_freezing_leaves_heads_and_last_layers_to_be_trained(opened):
    trunk, _ = opened
    trunk.freeze(layers=1)
    learned = {name for name, parameter in trunk.named_parameters() if parameter.requires_grad}
    assert trunk.head_parameters <= learned
    assert any(".layer.1." in name for name in learned)
    assert not any(".layer.0." in name or "embeddings" in name for name in learned)


def test_same_seed_gives_the_same_heads(make_bert):
    first, second, other = (load_trunk(make_bert(), {"gate": 1}, seed=seed)[0] for seed in (1, 1, 2))
    assert torch.equal(first.heads["gate"].weight, second.heads["gate"].weight)
    assert not torch.equal(first.heads["gate"].weight, other.heads["gate"].weight)


def test_loading_does_not_disturb_the_chance_of_others(make_bert):
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    load_trunk(make_bert(), {"gate": 1}, seed=9)
    assert torch.equal(torch.rand(1), expected)


def test_loading_prints_nothing(make_bert, capfd):
    load_trunk(make_bert(), {"gate": 1})
    assert capfd.readouterr() == ("", "")


def test_folder_without_an_encoder_is_told(tmp_path):
    with pytest.raises(WeightsError, match="No encoder can be loaded"):
        load_trunk(tmp_path, {"gate": 1})


def test_more_layers_than_there_are_is_an_error(make_bert):
    with pytest.raises(WeightsError, match="2 layers"):
        load_trunk(make_bert(), {"gate": 1}, layers=3)


def test_weights_of_another_model_are_refused(opened, tmp_path):
    trunk, _ = opened
    save_file({"other": torch.zeros(1)}, tmp_path / "w.safetensors")
    with pytest.raises(WeightsError, match="does not fit this model"):
        read_weights(trunk, tmp_path / "w.safetensors")


def test_weights_that_cannot_be_read_are_told(opened, tmp_path):
    trunk, _ = opened
    (tmp_path / "w.safetensors").write_bytes(b"not tensors")
    with pytest.raises(WeightsError, match="cannot be read"):
        read_weights(trunk, tmp_path / "w.safetensors")
    with pytest.raises(WeightsError, match="cannot be read"):
        read_weights(trunk, tmp_path / "missing.safetensors")


def test_more_tokens_than_the_encoder_has_places_for_are_refused(opened):
    trunk, _ = opened
    most = trunk.encoder.config.max_position_embeddings
    trunk.refuse_longer(most)
    with pytest.raises(ConfigError, match=rf"max_tokens = {most + 1} is more than the {most} tokens"):
        trunk.refuse_longer(most + 1)


def test_layers_of_an_encoder_of_another_shape_are_not_counted(make_bert, tmp_path):
    from transformers import DistilBertConfig, DistilBertModel

    shape = DistilBertConfig(vocab_size=99, dim=32, n_layers=1, n_heads=2, hidden_dim=64, max_position_embeddings=64)
    DistilBertModel(shape).save_pretrained(tmp_path)
    shutil.copy(make_bert() / "tokenizer.json", tmp_path)
    trunk, _ = load_trunk(tmp_path, {"gate": 1}, max_tokens=64)
    with pytest.raises(WeightsError, match=r"DistilBertModel has others.*model\.fixed = 0"):
        trunk.freeze(layers=1)
    with pytest.raises(WeightsError, match=r"model\.layers counts"):
        load_trunk(tmp_path, {"gate": 1}, layers=1, max_tokens=64)
