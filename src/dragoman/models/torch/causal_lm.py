"""A causal language model in torch, loaded from a transformers folder or a GGUF file, with its tokenizer.

`models/torch/model.py` makes a language model of it; training puts an adapter on it. It is imported lazily.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor

from dragoman.core.environment import home
from dragoman.core.errors import ConfigError, MissingExtraError, ModelError, WeightsError
from dragoman.core.values import Message
from dragoman.models import weights as catalogue
from dragoman.models.base_weights import base_digest, is_gguf, weight_files
from dragoman.models.chat_pieces import Inert
from dragoman.models.choice import Tokens
from dragoman.models.context_window import GAP, fit
from dragoman.models.llamacpp.gguf_header import read_metadata
from dragoman.prompts import neutral

log = logging.getLogger(__name__)
Quantise: TypeAlias = Literal["auto", "4bit", "none"]
ANSWER_ROOM = 64
_SMALL = 2 << 30
"""Models of at most so many bytes stay in float32 on a GPU too, and then answer as on a CPU."""
_LONG_TOKEN = 20
_PRE = "tokenizer.ggml.pre"
_NUMERALS_APART = ("smollm", "starcoder", "refact", "command-r", "codeshell")
"""Names in GGUF files of the tokenizers that split numerals before words."""
_PLAIN_TEMPLATE = (
    "{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)
"""For models without a chat template of their own."""


@dataclass(frozen=True, slots=True)
class Causal:
    """A loaded model with its tokenizer: prompts to tokens, and tokens to next-token logits."""

    model: Any
    tokenizer: Any
    device: str = "cpu"

    def encode(self, messages: Sequence[Message], room: int) -> list[int]:
        """The tokens of a chat prompt up to where the answer begins, cut to at most about `room` of them."""
        rough = tuple(replace(one, content=_ends(one.content, room * _LONG_TOKEN)) for one in messages)
        fitting, cuts = fit(rough, room - self._template_tokens(), self._count, self._shortened)
        cuts += sum(before != after for before, after in zip(messages, rough, strict=True))
        if cuts:
            log.warning("a prompt did not fit into %d tokens: %d cuts", room, cuts)
        return self._tokens(self._rendered(fitting))

    def answers(self, options: Sequence[str]) -> dict[str, Tokens]:
        """The options as tokens at the start of an answer: some vocabularies mark the start of a text."""
        before = self._rendered([Message("user", "?")]).rpartition("?")[2]
        opening = self._tokens(before)
        sequences = {}
        for option in options:
            whole = self._tokens(before + option)
            continues = whole[: len(opening)] == opening
            sequences[option] = tuple(whole[len(opening) :] if continues else self._tokens(option))
        return sequences

    @property
    def ends(self) -> frozenset[int]:
        """The tokens that end an answer."""
        ids = getattr(self.model.generation_config, "eos_token_id", None)
        end_ids = ids if isinstance(ids, list | tuple) else (ids, self.tokenizer.eos_token_id)
        return frozenset(int(token) for token in end_ids if token is not None)

    def refuse_longer(self, tokens: int, setting: str) -> None:
        """Raise an error for more tokens than the model has positions; `setting` names the option to lower."""
        most = getattr(self.model.config, "max_position_embeddings", None)
        if most is not None and tokens > most:
            raise ConfigError(
                f"{setting} = {tokens} is more than the {most} tokens that the base reads.",
                remedy=f"Set {setting} to {most} or less, or take a base with a longer window.",
            )

    def recompute(self) -> None:
        """Switch on gradient checkpointing, which recomputes activations: less memory, more time."""
        again = {"use_reentrant": False}
        if hasattr(self.model, "activation_checkpointing_enable"):  # transformers 5.23 and newer
            self.model.activation_checkpointing_enable(activation_checkpointing_kwargs=again)
        else:
            self.model.gradient_checkpointing_enable(gradient_checkpointing_kwargs=again)

    def logits(self, rows: Sequence[Sequence[int]]) -> Tensor:
        """The logits of the next token after each row, (B, V), float32.

        Rows are padded on the right, where a causal model does not look; the vocabulary is scored at the rows' ends
        alone.
        """
        sizes = torch.tensor([len(row) for row in rows])
        padded = torch.zeros((len(rows), int(sizes.max())), dtype=torch.long)  # (B, T)
        for i, row in enumerate(rows):
            padded[i, : len(row)] = torch.tensor(row)
        places, which = torch.unique(sizes - 1, return_inverse=True)
        output = self.model(
            input_ids=padded.to(self.device), use_cache=False, logits_to_keep=places.to(self.device)
        ).logits  # (B, places, V)
        logits: Tensor = output[torch.arange(len(rows)), which.to(output.device)].float()
        return logits

    def text(self, tokens: Sequence[int]) -> str:
        return str(self.tokenizer.decode(list(tokens), skip_special_tokens=True, clean_up_tokenization_spaces=False))

    def _rendered(self, messages: Sequence[Message]) -> str:
        chat = [{"role": message.role, "content": self._inert(message.content)} for message in messages]
        template = None if self.tokenizer.chat_template else _PLAIN_TEMPLATE
        return str(
            self.tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False, chat_template=template)
        )

    def _inert(self, text: str) -> str:
        """Text without anything that this vocabulary takes for a special token."""
        return Inert(self.tokenizer.get_added_vocab())(_plain(text))

    def _tokens(self, text: str) -> list[int]:
        return [int(token) for token in self.tokenizer(text, add_special_tokens=False)["input_ids"]]

    def _count(self, text: str) -> int:
        return len(self._tokens(self._inert(text)))

    def _template_tokens(self) -> int:
        return len(self._tokens(self._rendered([Message("user", "?")])))

    def _shortened(self, text: str, size: int) -> str:
        tokens = self._tokens(self._inert(text))
        head = max(size // 2 - 2, 0)
        tail = max(size - head - 4, 1)
        return self.text(tokens[:head]) + GAP + self.text(tokens[-tail:])


def load_causal(
    weights: str | Path,
    *,
    device: str = "cpu",
    quantise: Quantise = "none",
    precision: Literal["auto", "float32", "bfloat16"] = "auto",
) -> Causal:
    """Load a catalogue name, a transformers folder or a GGUF file; `4bit` is QLoRA's NormalFloat on a GPU."""
    place = catalogue.path(weights)
    four = is_four_bit(quantise, device)
    dtype = torch.bfloat16 if four else _dtype(precision, place, device)
    extra: dict[str, Any] = {"quantization_config": _four_bit(), "device_map": {"": _number(device)}} if four else {}
    try:
        with _quiet():
            folder = _unpacked(weights) if is_gguf(place) else place
            tokenizer = _tokenizer(folder, place)
            model = _library().AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, **extra)
            model = model if four else model.to(device)
    except (torch.OutOfMemoryError, MemoryError) as error:
        raise ModelError(
            f"There is no memory on '{device}' for the language model '{place}'.",
            remedy='Free some, give device = "cpu", a smaller model, or four bits where there is a GPU (quantise).',
        ) from error
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        raise WeightsError(
            f"No causal language model can be loaded from '{place}': {str(error).splitlines()[0][:200]}",
            remedy="Give a transformers folder (config.json, weights, tokenizer), a GGUF file of an architecture that "
            "transformers knows, or a name of `dragoman models list`.",
        ) from error
    model.requires_grad_(False)
    model.eval()
    return Causal(model, tokenizer, device)


def load_tokenizer(weights: str | Path) -> Any:
    """The tokenizer of a catalogue name, a transformers folder or a GGUF file, without the model."""
    place = catalogue.path(weights)
    with _quiet():
        return _tokenizer(_unpacked(weights) if is_gguf(place) else place, place)


def is_four_bit(quantise: Quantise, device: str) -> bool:
    """Whether weights are loaded in four bits: on request, or with `auto` where a GPU and bitsandbytes are present."""
    has_library = importlib.util.find_spec("bitsandbytes") is not None
    has_gpu = device.startswith("cuda") and torch.cuda.is_available()
    if quantise == "4bit" and not has_gpu:
        raise WeightsError(
            f"Four-bit weights need a CUDA device, and the device is '{device}'.",
            remedy='Set quantise = "none", or train where there is a GPU.',
        )
    if quantise == "4bit" and not has_library:
        raise MissingExtraError(
            "Four-bit weights need the package bitsandbytes.",
            remedy='Run: pip install bitsandbytes, or set quantise = "none".',
            extra="bitsandbytes",
        )
    return quantise != "none" and has_gpu and has_library


def _four_bit() -> Any:
    return _library().BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.bfloat16,
    )


def _number(device: str) -> int:
    """The index of a GPU; each of several training processes has its own."""
    index = torch.device(device).index
    return int(torch.cuda.current_device() if index is None else index)


def _unpacked(weights: str | Path) -> Path:
    """A transformers folder converted from a GGUF file and cached, since reading the file takes many times as long."""
    file = catalogue.path(weights)
    target = home() / "models" / f".unpacked-{base_digest(weights)[:16]}"
    if (target / "config.json").is_file():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    if catalogue.on_notice is not None:
        catalogue.on_notice(f"Unpacking {file.name}, once: this takes a minute or two")
    dtype = torch.bfloat16 if file.stat().st_size > _SMALL else torch.float32
    with tempfile.TemporaryDirectory(prefix=".unpacking-", dir=target.parent) as partial:
        model = _library().AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=dtype)
        # it is plain by now, but would be saved, and then loaded, as if it were still in GGUF's own format
        del model.config.quantization_config
        model.hf_quantizer = None
        model.is_quantized = False
        model.save_pretrained(partial)
        _library().AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name).save_pretrained(partial)
        with suppress(OSError):  # another process was quicker
            Path(partial).rename(target)
        if not (target / "config.json").is_file():
            raise WeightsError(f"'{file}' could not be written out to '{target}'.", remedy="Remove that folder.")
    return target


def _tokenizer(folder: Path, place: Path) -> Any:
    """The tokenizer of a folder; one converted from a GGUF file splits numerals as the file says.

    transformers drops that setting, and would split ² and ① in another way than llama.cpp. ASCII digits are the same.
    """
    tokenizer = _library().AutoTokenizer.from_pretrained(folder)
    if is_gguf(place) and read_metadata(place, (_PRE,)).get(_PRE) in _NUMERALS_APART:
        pre = _library("tokenizers").pre_tokenizers
        split = pre.Sequence([pre.Digits(individual_digits=True), pre.ByteLevel(add_prefix_space=False)])
        tokenizer.backend_tokenizer.pre_tokenizer = split
    return tokenizer


def _dtype(precision: str, place: Path, device: str) -> torch.dtype:
    if precision == "auto":
        large = sum(file.stat().st_size for file in weight_files(place)) > _SMALL
        precision = "bfloat16" if device.startswith("cuda") and large else "float32"
    return torch.bfloat16 if precision == "bfloat16" else torch.float32


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the library's progress bars and notices while loading, and restore its settings."""
    logging = _library("transformers.utils.logging")
    gguf = _library("transformers.modeling_gguf_pytorch_utils")
    bars, level, bar = logging.is_progress_bar_enabled(), logging.get_verbosity(), gguf.tqdm
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    gguf.tqdm = lambda rows, **_: rows  # a bar that no setting turns off
    try:
        yield
    finally:
        gguf.tqdm = bar
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def _library(name: str = "transformers") -> Any:  # its types are those of its newest version alone
    return importlib.import_module(name)


def _ends(text: str, size: int) -> str:
    return text if len(text) <= size else text[: size // 2] + GAP + text[-(size // 2) :]


def _plain(text: str) -> str:
    """Text that cannot pass for a control token of a chat template, and that has a UTF-8 form."""
    return neutral(text.encode("utf-8", "replace").decode("utf-8")).replace("<|", "< |").replace("\x00", "")
