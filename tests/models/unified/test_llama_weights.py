"""The unified model in llama.cpp: with real weights it says what torch says, and spoilt ones are errors."""

from __future__ import annotations

import math
import shutil
import time
from dataclasses import replace

import pytest
from tests.models.ferry_turn import CANDIDATES, CONTEXT, JUDGING, ORDERS, OTHER, WRITING

from dragoman.core.errors import WeightsError
from dragoman.core.tokens import Grammar, WrittenSequence
from dragoman.core.values import Context
from dragoman.models.base_weights import base_digest
from dragoman.models.part import Head, Part, write_part
from dragoman.models.unified import turn_trees
from dragoman.models.unified.llama_model import LlamaUnified
from dragoman.models.unified.loading import open_unified
from dragoman.models.unified.model import KIND, Judging, TreeShape, Writing
from dragoman.models.unified.token_spelling import spell

pytestmark = [pytest.mark.integration, pytest.mark.slow]

NAME = "smollm2-135m-instruct"
END = 2


def options(shape, spelling):
    said = {"shape": shape.to_json(), "spelling": spelling.to_json()}
    return said | {"base": NAME, "base_sha256": "", "end": END}


def smol_part(folder, *, precision="f16", scale=0.01, rank=4):
    """A part with an adapter of chance, made without torch."""
    import numpy as np
    from safetensors.numpy import save_file

    from dragoman.models import weights
    from dragoman.models.llamacpp.gguf_adapter import write_gguf_adapter
    from dragoman.models.llamacpp.server import LlamaServer
    from dragoman.models.unified.vocabularies import LlamaVocabulary

    chance = np.random.default_rng(7)
    sizes = {"self_attn.q_proj": (576, 576), "self_attn.k_proj": (576, 192), "mlp.down_proj": (1536, 576)}
    state = {}
    for layer in range(30):
        for name, (width, out) in sizes.items():
            key = f"base_model.model.model.layers.{layer}.{name}.lora_"
            state[f"{key}A.weight"] = chance.normal(0, 1 / width**0.5, (rank, width)).astype(np.float32)
            state[f"{key}B.weight"] = chance.normal(0, scale, (out, rank)).astype(np.float32)
    save_file(state, folder / "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text('{"lora_alpha": 8}')
    write_gguf_adapter(folder, weights.path(NAME), precision=precision)
    shape = TreeShape(Grammar(("PERSONA", "DOCUMENTS")), window=512, response=64)
    spelling = spell(shape.grammar, "reserved", LlamaVocabulary(LlamaServer(NAME, 256, 1, 1)))
    given = options(shape, spelling) | {"base_sha256": base_digest(NAME)}
    return write_part(Part(folder, KIND, {"similarity": Head(("similar",))}, given), ("adapter.gguf",))


@pytest.fixture(scope="module")
def light_part(tmp_path_factory, weights_home):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DRAGOMAN_HOME", str(weights_home))
        return smol_part(tmp_path_factory.mktemp("smol"))


@pytest.fixture(scope="module")
def smol(light_part):
    runtime = LlamaUnified(light_part, threads=1)
    yield runtime
    runtime.close()


@pytest.fixture
def spoilt(light_part, tmp_path):
    """A copy of the part, whose adapter a test may spoil."""
    shutil.copytree(light_part.folder, tmp_path / "spoilt")
    return replace(light_part, folder=tmp_path / "spoilt")


def test_opened_part_runs_in_llama_cpp_and_on_no_other_base(spoilt):
    opened = open_unified(spoilt.folder)
    assert isinstance(opened.runtime, LlamaUnified)
    assert not opened.runtime.server.is_loaded
    write_part(replace(spoilt, options={**spoilt.options, "base_sha256": "0" * 64}), ("adapter.gguf",))
    with pytest.raises(WeightsError, match="other weights"):
        open_unified(spoilt.folder)


def test_scores_do_not_depend_on_what_was_read_before(smol):
    together = smol.judge([JUDGING])[0]
    smol.clear_cache()
    backwards = Judging(CONTEXT, (CANDIDATES[1], CANDIDATES[0], replace(CANDIDATES[3], parent=0)))
    assert smol.judge([backwards])[0] == pytest.approx([together[1], together[0], together[3]], abs=0.02)
    assert all(0 < score < 1 for score in together)


def test_whole_turn_reads_its_dialogue_once(smol):
    smol.clear_cache()
    chances = smol.plan([CONTEXT], ORDERS)[0]
    assert math.fsum(chances.values()) == pytest.approx(1.0)
    smol.judge([Judging(CONTEXT, CANDIDATES[:3])])
    draft = smol.write([WRITING], max_tokens=4)[0]
    dialogue = len(turn_trees.trunk(smol.turns, CONTEXT).segments[0].tokens)
    assert draft.notes["cached_tokens"] >= dialogue


def test_stream_is_the_draft_in_pieces_without_special_tokens(smol):
    smol.write([WRITING], max_tokens=1)  # a prompt that was read before is rounded otherwise, by which words change
    *pieces, draft = smol.stream(WRITING, max_tokens=12)
    assert "".join(pieces) == draft.text == smol.write([WRITING], max_tokens=12)[0].text
    assert draft.text
    assert not any(mark in draft.text for mark in ("<|", "<repo", "<file", "<jupyter", "<issue"))
    assert 0 < draft.confidence <= 1
    assert draft.usage.completion_tokens <= 12


def test_drafts_repeat_themselves_with_their_seed_and_near_zero_are_the_most_probable(smol):
    smol.write([WRITING], max_tokens=1)
    hot = [replace(WRITING, temperature=1.5, seed=seed) for seed in (1, 2)]
    asked = [WRITING, replace(WRITING, temperature=1e-4, seed=3), *hot]
    plain, cold, one, other = (draft.text for draft in smol.write(asked, max_tokens=12))
    assert cold == plain
    assert len({plain, one, other}) == 3
    assert smol.write(hot[:1], max_tokens=12)[0].text == one


def test_closing_a_stream_early_frees_the_model(smol):
    stream = smol.stream(WRITING, max_tokens=64)
    assert isinstance(next(stream), str)
    stream.close()
    deadline = time.monotonic() + 5
    while any(slot["is_processing"] for slot in smol.server.get("/slots")):
        assert time.monotonic() < deadline, "the generation goes on"
        time.sleep(0.05)


def test_control_token_that_the_server_does_not_know_for_an_end_ends_a_response(smol):
    """The model is made to say the end at once: it must say one token first, and stops at the second."""
    end = smol.vocabulary.reserved[-1]
    ended = LlamaUnified.__new__(LlamaUnified)
    ended.__dict__.update(smol.__dict__ | {"_end": end, "_written": None})
    ended._written = ended._saying() | {"logit_bias": [[end, 100.0]]}
    draft = ended.write([WRITING], max_tokens=12)[0]
    assert draft.notes["finish"] == "stop"
    assert 0 < len(smol.vocabulary.encode(draft.text)) < 3


def test_adapter_that_does_not_fit_or_is_damaged_is_an_error_and_not_a_crash(spoilt):
    adapter = spoilt.folder / "adapter.gguf"
    whole = adapter.read_bytes()
    for damaged in (b"nonsense", whole[: len(whole) // 3]):
        adapter.write_bytes(damaged)
        with pytest.raises(WeightsError, match=r"adapter\.gguf' cannot be loaded"):
            LlamaUnified(spoilt, threads=1).warm_up()


def test_adapter_of_another_base_is_an_error_and_not_a_crash(spoilt):
    import gguf
    import numpy as np

    writer = gguf.GGUFWriter(spoilt.folder / "adapter.gguf", "llama")
    writer.add_type(gguf.GGUFType.ADAPTER)
    writer.add_string(gguf.Keys.Adapter.TYPE, "lora")
    writer.add_float32(gguf.Keys.Adapter.LORA_ALPHA, 8.0)
    writer.add_tensor("blk.0.attn_q.weight.lora_a", np.zeros((4, 64), np.float32))
    writer.add_tensor("blk.0.attn_q.weight.lora_b", np.zeros((64, 4), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(WeightsError, match=r"adapter\.gguf' cannot be loaded") as refused:
        LlamaUnified(spoilt, threads=1).warm_up()
    assert "base" in refused.value.remedy


def test_real_weights_with_an_adapter_say_in_llama_cpp_what_they_say_in_torch(tmp_path):
    """Four-bit weights with quantised activations against the same weights in float32: close, alike where it counts."""
    import torch

    from dragoman.models import weights
    from dragoman.models.llamacpp.gguf_adapter import write_gguf_adapter
    from dragoman.models.torch.causal_lm import load_causal
    from dragoman.models.torch.lora import FILES, LoraSpec, add_adapter, save_adapter
    from dragoman.models.unified.model import TurnTokens
    from dragoman.models.unified.torch_model import LoadedUnified, TorchUnified
    from dragoman.models.unified.vocabularies import tokenizer_vocabulary

    causal = add_adapter(load_causal(NAME), LoraSpec(rank=16, alpha=16), seed=1)
    torch.manual_seed(3)
    for name, parameter in causal.model.named_parameters():
        if "lora_B" in name:
            parameter.data.normal_(0, 0.02)
    causal.model.eval()
    save_adapter(causal, tmp_path, base=NAME)
    write_gguf_adapter(tmp_path, weights.path(NAME), precision="f16")
    assert (tmp_path / "adapter.gguf").stat().st_size < 10_000_000
    shape = TreeShape(Grammar(("PERSONA", "DOCUMENTS")), window=512, response=64)
    vocabulary = tokenizer_vocabulary(causal.tokenizer)
    spelling = spell(shape.grammar, "reserved", vocabulary)
    turns = TurnTokens(shape, spelling, vocabulary.encode, END)
    given = options(shape, spelling)
    light = LlamaUnified(write_part(Part(tmp_path, KIND, {}, given), (*FILES, "adapter.gguf")), threads=1)
    heavy = TorchUnified(shape, lambda: LoadedUnified(causal, turns))
    asked = [
        Writing(Context.of("Count to ten: one two three", "four five six", "seven eight"), WrittenSequence()),
        WRITING,
    ]
    try:
        plans = [runtime.plan([CONTEXT, OTHER], ORDERS) for runtime in (light, heavy)]
        scores = [runtime.judge([JUDGING])[0] for runtime in (light, heavy)]
        texts = [draft.text for draft in light.write(asked, max_tokens=10)]
    finally:
        light.close()
    for one, other in zip(*plans, strict=True):
        assert one == pytest.approx(other, abs=0.04)
    assert scores[0] == pytest.approx(scores[1], abs=0.03)
    assert max(range(5), key=scores[0].__getitem__) == max(range(5), key=scores[1].__getitem__)
    sure = [greedy(causal, turn_trees.writing(turns, one).segments[0].tokens, 10) for one in asked]
    assert sum(map(len, sure)) > 3, sure
    assert all(text.startswith(causal.text(said)) for text, said in zip(texts, sure, strict=True))


def greedy(causal, tokens, count):
    """The most probable tokens after a line, as far as each is well ahead of the next, and to the end at most."""
    import torch

    said = []
    with torch.inference_mode():
        while len(said) < count:
            best = causal.logits([[*tokens, *said]])[0].topk(2)
            if best.values[0] - best.values[1] < 0.5 or int(best.indices[0]) == END:
                break
            said.append(int(best.indices[0]))
    return said
