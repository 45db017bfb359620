"""The words of an attention gate: own words, cut word pieces, and embeddings that come with them."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from dragoman.train.gates.vocabulary import piece_tokenizer, projected, word_tokenizer  # noqa: E402


def words(tokenizer: object, text: str) -> list[str]:
    return list(tokenizer.encode(text, add_special_tokens=False).tokens)  # type: ignore[attr-defined]


def test_words_and_punctuation_are_lower_cased_and_apart() -> None:
    made = word_tokenizer(["Is it open, today?"])
    assert words(made, "Is it OPEN, today?") == ["is", "it", "open", ",", "today", "?"]


def test_chinese_is_cut_into_characters() -> None:
    assert words(word_tokenizer(["你好吗 ok"]), "好吗你 OK") == ["好", "吗", "你", "ok"]


def test_rare_words_are_unknown() -> None:
    made = word_tokenizer(["tea tea milk"], least=2)
    assert words(made, "tea milk") == ["tea", "[UNK]"]


def test_marks_are_words_of_their_own_whatever_stands_around_them() -> None:
    made = word_tokenizer(["a"], marks=("[turn-1]",))
    assert words(made, "[turn-1] a") == ["[turn-1]", "a"]


def test_the_vocabulary_does_not_depend_on_the_order_of_texts() -> None:
    assert word_tokenizer(["b a", "a c"]).get_vocab() == word_tokenizer(["a c", "b a"]).get_vocab()


@pytest.fixture
def base(tmp_path: Path) -> Path:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcd", *(f"##{c}" for c in "abcd")]
    pieces += ["bad", "cab", "##dab", "dad"]
    made = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    made.enable_padding(length=32)
    made.save(str(tmp_path / "tokenizer.json"))
    return tmp_path


def test_pieces_are_cut_to_those_of_the_texts_and_letters(base: Path) -> None:
    made, numbers = piece_tokenizer(base, ["Bad cabdab"], marks=("[turn-1]",))
    vocabulary = made.get_vocab()
    assert {"bad", "cab", "##dab", "a", "##d"} <= set(vocabulary)
    assert "dad" not in vocabulary
    assert words(made, "[turn-1] bad cabdab") == ["[turn-1]", "bad", "cab", "##dab"]
    assert words(made, "dad") == ["d", "##a", "##d"]
    assert len(numbers) == len(vocabulary)
    assert numbers[vocabulary["cab"]] == 14
    assert numbers[vocabulary["[turn-1]"]] == -1


def test_every_piece_stays_where_it_is_asked_for(base: Path) -> None:
    made, _ = piece_tokenizer(base, ["bad"], every=True)
    assert words(made, "dad") == ["dad"]


def test_projection_keeps_what_differs_most_by_hand() -> None:
    # points on the line (t, 2t, 0): one component holds all of it, and distances keep their proportions
    points = torch.tensor([[0.0, 0.0, 0.0], [1.0, 2.0, 0.0], [3.0, 6.0, 0.0]])
    found = projected(points, 1, spread=1.0)[:, 0]
    assert float((found[2] - found[1]) / (found[1] - found[0])) == pytest.approx(2.0)
    assert float(found.std()) == pytest.approx(1.0)
    assert float(found.mean()) == pytest.approx(0.0, abs=1e-6)


def test_projection_agrees_with_sklearn() -> None:
    from sklearn.decomposition import PCA

    torch.manual_seed(0)
    vectors = torch.randn(50, 8) * torch.arange(1, 9)
    wanted = torch.tensor(PCA(3).fit_transform(vectors.double().numpy()))
    found = projected(vectors, 3, spread=float(wanted.std())).double()
    assert torch.allclose(found.abs(), wanted.abs(), atol=1e-4)


def test_fewer_dimensions_than_the_width_are_filled_up() -> None:
    assert projected(torch.randn(5, 2), 4, spread=0.1).shape == (5, 4)
