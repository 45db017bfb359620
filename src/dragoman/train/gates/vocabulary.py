"""The vocabulary of an attention gate as a `tokenizers` file: words of the training turns, or an encoder's word pieces.

An encoder's pieces bring its embeddings, projected to the gate's width: a word that is not in the training turns still
lies near similar words.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

    from dragoman.models.torch.trunk import Tokens, Trunk

PAD, UNKNOWN, MASK = "[PAD]", "[UNK]", "[MASK]"


def word_tokenizer(texts: Iterable[str], *, marks: Sequence[str] = (), least: int = 1, most: int = 20_000) -> Any:
    """A tokenizer of the lower-cased words, punctuation and Chinese characters that occur at least `least` times."""
    from tokenizers import Tokenizer, models

    split = Tokenizer(models.WordLevel({UNKNOWN: 0}, unk_token=UNKNOWN))
    _basic(split)
    counted: Counter[str] = Counter()
    for text in texts:
        counted.update(token for token, _ in split.pre_tokenizer.pre_tokenize_str(split.normalizer.normalize_str(text)))
    ranked = sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))
    words = [word for word, count in ranked if count >= least][:most]
    vocabulary = {word: i for i, word in enumerate(dict.fromkeys([PAD, UNKNOWN, MASK, *marks, *words]))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN))
    _basic(tokenizer)
    tokenizer.add_special_tokens([PAD, UNKNOWN, MASK, *marks])
    return tokenizer


def piece_tokenizer(
    base: Path, texts: Iterable[str], *, marks: Sequence[str] = (), every: bool = False
) -> tuple[Any, list[int]]:
    """An encoder's word pieces, cut to those of the texts (or `every` one), and the number of each in the encoder.

    Single letters stay, so that an unseen word can be spelt. The texts' own pieces do not change, since all their
    longest matches stay. Marks have the number -1.
    """
    from tokenizers import Tokenizer

    whole = Tokenizer.from_file(str(base / "tokenizer.json"))
    whole.no_padding()
    whole.no_truncation()
    table = json.loads(whole.to_str())
    numbers: dict[str, int] = table["model"]["vocab"]
    seen = {
        i for encoding in whole.encode_batch(list(dict.fromkeys(texts)), add_special_tokens=False) for i in encoding.ids
    }
    pieces = [
        piece
        for piece, i in sorted(numbers.items(), key=lambda pair: pair[1])
        if piece not in (PAD, UNKNOWN, MASK) and (every or i in seen or len(piece.removeprefix("##")) == 1)
    ]
    vocabulary = {piece: i for i, piece in enumerate(dict.fromkeys([PAD, UNKNOWN, MASK, *marks, *pieces]))}
    table["model"]["vocab"] = vocabulary
    table["added_tokens"] = []
    table["post_processor"] = None
    tokenizer = Tokenizer.from_str(json.dumps(table))
    tokenizer.add_special_tokens([PAD, UNKNOWN, MASK, *marks])
    return tokenizer, [numbers.get(piece, -1) for piece in vocabulary]


def projected(vectors: Tensor, width: int, *, spread: float) -> Tensor:
    """Vectors (N, D) on their first `width` principal components, (N, width), with a given standard deviation."""
    import torch

    centred = vectors.double() - vectors.double().mean(0)
    _, directions = torch.linalg.eigh(centred.T @ centred)  # in rising order of what they explain
    components = directions.flip(1)[:, :width]
    # a direction's sign is the solver's whim: its largest number is made positive
    components = components * components.gather(0, components.abs().argmax(0, keepdim=True)).sign()
    projection = centred @ components
    if projection.shape[1] < width:
        projection = torch.nn.functional.pad(projection, (0, width - projection.shape[1]))
    scaled: Tensor = projection * (spread / projection.std().clamp(min=1e-12))
    return scaled.float()


def piece_vectors(base: str | Path, numbers: Sequence[int], *, alone: bool = False, device: str = "cpu") -> Tensor:
    """The encoder's vector of each piece, (N, D): from its table, or, with `alone`, of the piece read as a text.

    Marks get the mean of all.
    """
    import torch

    from dragoman.models.torch.trunk import load_trunk

    trunk, tokens = load_trunk(base, {})
    table: Tensor = trunk.encoder.embeddings.word_embeddings.weight.detach()
    present = [i for i in numbers if i >= 0]
    of_present = _read_alone(trunk.to(device), tokens, present, device) if alone else table[present]
    vectors = of_present.mean(0).repeat(len(numbers), 1)
    vectors[torch.tensor([place for place, i in enumerate(numbers) if i >= 0])] = of_present
    return vectors


def _read_alone(trunk: Trunk, tokens: Tokens, numbers: Sequence[int], device: str, *, batch: int = 512) -> Tensor:
    """The state of each piece, read alone between the encoder's special tokens."""
    import torch

    first, last = tokens.encode([""])[0].ids
    ids = torch.tensor([[first, i, last] for i in numbers], dtype=torch.long).to(device)
    vectors = []
    trunk.eval()
    with torch.inference_mode():
        for start in range(0, len(ids), batch):
            some = ids[start : start + batch]
            ones = torch.ones_like(some)
            rows = {"input_ids": some, "attention_mask": ones, "token_type_ids": torch.zeros_like(some)}
            vectors.append(trunk.states(rows)[:, 1].float().cpu())
    return torch.cat(vectors).clone()


def _basic(tokenizer: Any) -> None:
    """Lower case; words, punctuation marks and Chinese characters apart."""
    from tokenizers import normalizers, pre_tokenizers

    tokenizer.normalizer = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=False, lowercase=True
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
