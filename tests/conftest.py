"""What every test stands on: no network, an empty home, and, for integration tests, the real weights."""

from __future__ import annotations

import gc
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from pytest_socket import disable_socket, enable_socket, socket_allow_hosts

from dragoman.core.environment import home
from dragoman.core.file_lock import wait_for_lock
from dragoman.models import weights

# No deadlines: the time of an example depends on the machine. `make slow` and `make trust` draw more examples.
settings.register_profile("quick", deadline=None, max_examples=25)
settings.register_profile("thorough", deadline=None, max_examples=100)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
_REAL_HOME = home()
# A shell without job control starts what runs in the background with interrupts ignored, which child processes inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)
_HOME_NUMBERS = count()
_PART_WORDS = "hello thanks what is the weather price of a room who are you hotel opening hours good"


def pytest_collection_finish() -> None:
    """Take what collection made, which lives to the end, out of the garbage collector's sight."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def closed_network(request: pytest.FixtureRequest) -> Iterator[None]:
    """Unit tests open no socket; integration tests reach this machine alone, for the embedded model's listener."""
    if request.node.get_closest_marker("integration"):
        socket_allow_hosts(["127.0.0.1", "localhost"], allow_unix_socket=True)
    else:
        disable_socket(allow_unix_socket=True)
    yield
    enable_socket()


@pytest.fixture(scope="session")
def weights_home() -> Path:
    """The home of whoever runs the tests, with the real weights in it, fetched where they are not here yet."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DRAGOMAN_HOME", str(_REAL_HOME))
        for name in weights.CATALOGUE:
            weights.path(name)
    return _REAL_HOME


@pytest.fixture(autouse=True)
def own_home(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """An empty home for each test; in integration tests the real weights lie in it."""
    # Counted here: `mktemp` lists every folder that is there to number the next one.
    place = tmp_path_factory.getbasetemp() / "homes" / str(next(_HOME_NUMBERS))
    place.mkdir(parents=True)
    monkeypatch.setenv("DRAGOMAN_HOME", str(place))
    if request.node.get_closest_marker("integration"):
        real = request.getfixturevalue("weights_home") / "models"
        (place / "models").symlink_to(real, target_is_directory=True)
    return place


@pytest.fixture(scope="session")
def make_bert(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Makes folders with small BERTs of random weights, whose words are those given; the same one is made once."""
    made: dict[tuple[object, ...], Path] = {}

    def make(*, words: str = "", width: int = 32, layers: int = 2, spread: float = 0.2) -> Path:
        key = (words, width, layers, spread)
        if key not in made:
            made[key] = _random_bert(tmp_path_factory.mktemp("bert"), words, width, layers, spread)
        return made[key]

    return make


def _random_bert(folder: Path, words: str, width: int, layers: int, spread: float) -> Path:
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel

    letters = "abcdefghijklmnopqrstuvwxyz0123456789?.,:!'"
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *letters, *(f"##{letter}" for letter in letters)]
    vocabulary = list(dict.fromkeys([*pieces, "user", "agent", *words.lower().split()]))
    ids = {piece: i for i, piece in enumerate(vocabulary)}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    ends = [("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ends
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    sizes = {"hidden_size": width, "intermediate_size": 2 * width, "num_hidden_layers": layers}
    config = BertConfig(
        vocab_size=len(vocabulary),
        num_attention_heads=4,
        max_position_embeddings=128,
        initializer_range=spread,
        **sizes,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        BertModel(config).save_pretrained(folder)
    return folder


_CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@pytest.fixture(scope="session")
def tiny_causal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A transformers folder with a causal language model of two small layers that knows nothing."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("tiny-causal")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=560,
        special_tokens=["<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    words = "True False Yes No system user assistant You are a guide. Is the sky blue? the boat leaves when hello"
    words += " You decide whether a reply needs to be looked up. Write True or False and nothing else. Dialogue:\nUser:"
    words += " Agent: Would outside knowledge make the reply better? True or False:"
    tokenizer.train_from_iterator([words] * 20, trainer)
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|im_end|>")
    wrapped.chat_template = _CHATML
    wrapped.save_pretrained(folder)
    config = LlamaConfig(
        vocab_size=560,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=1024,
        initializer_range=0.2,
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=1,
        tie_word_embeddings=True,
    )
    with torch.random.fork_rng():
        torch.manual_seed(5)
        LlamaForCausalLM(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def make_part(make_bert: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Makes folders with parts over one small exported model, which has the heads `gate` (1) and `plan` (3)."""
    from dragoman.models.part import Head, Part, write_part
    from dragoman.train.export.torch_to_onnx import MODEL
    from dragoman.train.export.trunk import TOKENIZER

    base = tmp_path_factory.getbasetemp()
    model = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "exported"  # one for all workers
    with model.with_suffix(".lock").open("a") as lock:
        wait_for_lock(lock)
        if not model.is_dir():
            _export(make_bert, tmp_path_factory.mktemp("exported")).rename(model)

    def make(kind: str, heads: dict[str, Head], **options: object) -> Path:
        folder = tmp_path_factory.mktemp("part")
        for name in (MODEL, TOKENIZER):
            shutil.copy(model / name, folder / name)
        write_part(Part(folder, kind, heads, {"max_tokens": 32, **options}), (MODEL, TOKENIZER))
        return folder

    return make


def _export(make_bert: Callable[..., Path], folder: Path) -> Path:
    import torch

    from dragoman.models.torch.trunk import load_trunk
    from dragoman.train.export.trunk import export_trunk

    trunk, tokens = load_trunk(make_bert(words=_PART_WORDS, layers=1), {"gate": 1, "plan": 3}, max_tokens=32)
    with torch.no_grad():
        for head in trunk.heads.values():
            head.weight.mul_(10.0)  # so that scores differ by whole numbers
    export_trunk(trunk, tokens, folder, int8="never")
    return folder


@pytest.fixture(scope="session")
def make_unified() -> Callable[..., Any]:
    """Makes unified models of random weights in torch: `family` llama (grouped heads) or qwen2, any shape."""

    def make(
        family: str = "llama", *, sources: tuple[str, ...] = ("PERSONA", "MEMORY", "DOCUMENTS"), **options: Any
    ) -> Any:
        return _random_unified(family, sources, options)

    return make


def _random_unified(family: str, sources: tuple[str, ...], options: dict[str, Any]) -> Any:
    from dragoman.core.tokens import Grammar
    from dragoman.models.torch.causal_lm import Causal
    from dragoman.models.unified.model import TreeShape, TurnTokens
    from dragoman.models.unified.token_spelling import spell
    from dragoman.models.unified.torch_model import LoadedUnified, TorchUnified

    given = {name: options.pop(name) for name in ("layout", "window", "candidate", "response") if name in options}
    shape = TreeShape(
        Grammar(sources, options.pop("style", "unims")), **{"window": 256, "candidate": 24, "response": 12, **given}
    )
    tokenizer = _Letters()
    turns = TurnTokens(
        shape, spell(shape.grammar, options.pop("way", "rows"), tokenizer), tokenizer.encode, _Letters.END
    )
    causal = Causal(_random_causal(family, options.pop("seed", 3)), tokenizer)
    return TorchUnified(shape, lambda: LoadedUnified(causal, turns), **options)


class _Letters:
    """A vocabulary of 128 characters and an end; others are one character, so that any text is tokens."""

    END = 128
    size = 129
    reserved = tuple(range(1, 9))

    def encode(self, text: str) -> list[int]:
        return [ord(letter) if 9 <= ord(letter) < 128 else 63 for letter in text]

    def decode(self, tokens: list[int], **_: object) -> str:
        return "".join(chr(token) if 32 <= token < 127 else "" for token in tokens)


@cache
def _random_causal(family: str, seed: int) -> Any:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM

    config, model = {"llama": (LlamaConfig, LlamaForCausalLM), "qwen2": (Qwen2Config, Qwen2ForCausalLM)}[family]
    sizes = {"vocab_size": 192, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 512}
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return model(config(**sizes, **heads, initializer_range=0.3, tie_word_embeddings=family == "llama")).eval()


@pytest.fixture
def lend_unified(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Lets roles find a given unified model in whatever part they name."""
    from dragoman.models.part import Head, Part
    from dragoman.models.unified.loading import LazyUnified, UnifiedPart

    def lend(runtime: Any, *, heads: dict[str, Head] | None = None, **options: object) -> None:
        part = Part(Path("lent"), "unified", heads or {}, options)
        monkeypatch.setattr(LazyUnified, "get", lambda _: UnifiedPart(part, runtime.shape, runtime))

    return lend
