"""Vocabularies: what is in reserve, and that no text becomes a control token, whichever runtime reads it."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import WeightsError
from dragoman.core.tokens import EVALUATION, NULL, Grammar
from dragoman.models.unified.token_spelling import spell
from dragoman.models.unified.vocabularies import LlamaVocabulary, sound, tokenizer_vocabulary

pytestmark = pytest.mark.trust

NAME = "smollm2-135m-instruct"
TEMPLATE = "{{ '<|turn|>' + message['content'] }}"
SPECIAL = ("<|end|>", "<|turn|>", "<|box_start|>", "<|box_end|>", "<pad>", "<spare>")


@pytest.fixture(scope="module")
def tokenizer():
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = {letter: i for i, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    made = Tokenizer(models.BPE(letters, []))
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    made.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in SPECIAL])
    made.add_tokens([AddedToken("<|fim|>", normalized=False), AddedToken("<tool>", normalized=False)])
    wrapped = PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<|end|>", pad_token="<pad>")
    wrapped.chat_template = TEMPLATE
    return wrapped


def test_control_tokens_without_a_use_are_in_reserve_then_rows_that_are_no_tokens(tokenizer):
    vocabulary = tokenizer_vocabulary(tokenizer, len(tokenizer) + 3)
    named = [tokenizer.convert_ids_to_tokens(i) for i in vocabulary.reserved[:-3]]
    assert named == ["<|box_start|>", "<|box_end|>", "<spare>", "<|fim|>"]
    assert vocabulary.reserved[-3:] == tuple(range(len(tokenizer), len(tokenizer) + 3))
    assert vocabulary.size == len(tokenizer) + 3
    assert tokenizer_vocabulary(tokenizer).size == len(tokenizer)


@given(st.lists(st.sampled_from([*SPECIAL, "<|fim|>", "a", " ", "\n", "é", "你", "🙂", "\ud800"])).map("".join))
def test_no_text_becomes_a_control_token_and_nothing_is_lost(tokenizer, text):
    vocabulary = tokenizer_vocabulary(tokenizer)
    ids = vocabulary.encode(text)
    assert all(i < 256 for i in ids)
    assert tokenizer.decode(ids) == sound(text)


def test_tokens_that_are_words_stay_tokens(tokenizer):
    assert tokenizer_vocabulary(tokenizer).encode("<tool>") == [tokenizer.convert_tokens_to_ids("<tool>")]


def test_text_is_composed_and_has_a_utf8_form():
    assert sound("e\u0301\ud83d") == "é?"


@pytest.fixture
def gguf_file(tmp_path):
    """A GGUF file with a vocabulary like Qwen's, and rows that are no token's."""
    import gguf

    tokens = ["a", "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|box_start|>", "<|box_end|>", "<t>", "[PAD7]"]
    writer = gguf.GGUFWriter(tmp_path / "model.gguf", "llama")
    writer.add_token_list(tokens)
    writer.add_token_types([1, 3, 3, 3, 3, 3, 4, 5])
    writer.add_eos_token_id(3)
    writer.add_pad_token_id(1)
    writer.add_chat_template("{{ '<|im_start|>' }}")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return tmp_path / "model.gguf"


def test_gguf_file_tells_its_vocabulary_without_being_loaded(gguf_file):
    vocabulary = LlamaVocabulary(SimpleNamespace(weights=str(gguf_file)))
    assert vocabulary.size == 8
    assert vocabulary.reserved == (4, 5, 7)


def test_damaged_gguf_file_is_named(gguf_file):
    whole = gguf_file.read_bytes()
    for damaged in (b"nonsense", whole[: len(whole) // 2], whole[:20]):
        gguf_file.write_bytes(damaged)
        with pytest.raises(WeightsError, match=r"model\.gguf"):
            _ = LlamaVocabulary(SimpleNamespace(weights=str(gguf_file))).reserved


# with real weights


@pytest.fixture(scope="module")
def both(weights_home):
    from dragoman.models.llamacpp.server import LlamaServer
    from dragoman.models.torch.causal_lm import load_tokenizer

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DRAGOMAN_HOME", str(weights_home))
        heavy = tokenizer_vocabulary(load_tokenizer(NAME), 49152)
        server = LlamaServer(NAME, 256, 1, 1)
        server.load()
    yield heavy, LlamaVocabulary(server)
    server.close()


@pytest.mark.slow
@pytest.mark.integration
def test_smollm2_has_fourteen_tokens_in_reserve_in_both_runtimes(both):
    heavy, light = both
    assert heavy.reserved == light.reserved == tuple(range(3, 17))
    assert heavy.size == light.size == 49152


@pytest.mark.slow
@pytest.mark.integration
def test_both_runtimes_read_every_text_alike_and_never_a_control_token(both):
    heavy, light = both
    pieces = [*"aB \n7²①½🙂你é\t\u00a0\u3000_٣|", "  ", "42", "好。", "e\u0301", "don't", "\r\n", "==", " lead", "\x00"]
    pieces += [
        "<|im_end|>",
        "<repo_name>",
        "<|endoftext|>",
        "<|im_start|>system\n",
        "👩\u200d👩\u200d👧",
        "\ud800",
        "User: ",
    ]
    chance = random.Random(5)
    for _ in range(300):
        text = "".join(chance.choices(pieces, k=chance.randint(0, 9)))
        assert heavy.encode(text) == light.encode(text), repr(text)
        assert all(token > 16 for token in heavy.encode(text))


@pytest.mark.slow
@pytest.mark.integration
def test_tokens_of_two_sources_and_of_many_can_be_spelt_in_smollm2(both):
    for vocabulary in both:
        spelling = spell(Grammar(("REVIEWS", "FAQ")), "reserved", vocabulary)
        assert spelling.one(NULL) in vocabulary.reserved
        assert [vocabulary.encode(str(i))[0] for i in range(10)] == [spelling.one(one) for one in EVALUATION[:10]]
        many = Grammar(tuple(f"SOURCE-{n}" for n in range(12)))
        assert spell(many, "reserved", vocabulary).one(many.indicators[0]) in vocabulary.reserved
        far = Grammar(tuple(f"SOURCE-{n}" for n in range(60)))
        with pytest.raises(WeightsError) as refused:
            spell(far, "reserved", vocabulary)
        assert '"rows"' in refused.value.remedy
