"""The attention gate's encoder: attention by hand, padding that changes nothing, rows of words."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from dragoman.core.caches import clear_caches  # noqa: E402
from dragoman.core.errors import ConfigError  # noqa: E402
from dragoman.models.onnx.attention_scorer import TextPiece, TokenRow, WordVocabulary  # noqa: E402
from dragoman.models.torch.attention_encoder import AttentionEncoder, EncoderShape, attend, hiding, padded, pool  # noqa: E402
from dragoman.train.gates.vocabulary import word_tokenizer  # noqa: E402


def encoder(*, cross: bool = False, layers: int = 2) -> AttentionEncoder:
    torch.manual_seed(3)
    made = AttentionEncoder(EncoderShape(40, 64, layers, 4, 16, 0.1, cross))
    with torch.no_grad():
        for table in (made.words, made.places, made.segments):
            table.weight.mul_(20)  # so that every token matters
    return made.eval().requires_grad_(False)


def test_attention_by_hand() -> None:
    # one query (2, 0) over keys (1, 0), (0, 1) with values 10, 20: scores 2/sqrt 2 and 0
    query = torch.tensor([[2.0, 0.0]])
    key = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    value = torch.tensor([[10.0, 1.0], [20.0, 2.0]])
    first = math.exp(math.sqrt(2)) / (math.exp(math.sqrt(2)) + 1)
    found = attend(query, key, value, hiding(torch.tensor([[True, True]])))
    assert found[0].tolist() == pytest.approx([10 * first + 20 * (1 - first), first + 2 * (1 - first)])


def test_a_masked_key_gets_no_weight_by_hand() -> None:
    # as above with a third key that would win by far, (9, 0), and is masked: the same answer as without it
    query = torch.tensor([[2.0, 0.0]])
    key = torch.tensor([[1.0, 0.0], [0.0, 1.0], [9.0, 0.0]])
    value = torch.tensor([[10.0, 1.0], [20.0, 2.0], [1000.0, 1000.0]])
    first = math.exp(math.sqrt(2)) / (math.exp(math.sqrt(2)) + 1)
    found = attend(query, key, value, hiding(torch.tensor([[True, True, False]])))
    assert found[0].tolist() == pytest.approx([10 * first + 20 * (1 - first), first + 2 * (1 - first)])


def test_a_row_without_keys_hides_none_of_them() -> None:
    mask = torch.tensor([[True, False], [False, False]])
    lowest = torch.finfo(torch.float32).min
    assert hiding(mask).tolist() == [[0.0, lowest], [0.0, 0.0]]


def test_attention_equals_the_softmax_written_out() -> None:
    torch.manual_seed(0)
    query, key, value = torch.randn(2, 3, 5, 8), torch.randn(2, 3, 7, 8), torch.randn(2, 3, 7, 8)
    mask = torch.rand(2, 1, 1, 7) > 0.4
    mask[..., 0] = True
    scores = (query @ key.transpose(-1, -2) / math.sqrt(8)).masked_fill(~mask, -math.inf)
    assert torch.allclose(attend(query, key, value, hiding(mask)), scores.softmax(-1) @ value, atol=1e-6)


def test_the_mean_leaves_padding_out_by_hand() -> None:
    states = torch.tensor([[[1.0, 2.0], [3.0, 6.0], [100.0, 100.0]]])
    assert pool(states, torch.tensor([[True, True, False]])).tolist() == [[2.0, 4.0]]
    assert pool(states, torch.tensor([[False, False, False]])).tolist() == [[0.0, 0.0]]


@given(
    lengths=st.lists(st.integers(1, 12), min_size=2, max_size=5),
    junk=st.integers(1, 39),
    more=st.integers(0, 4),
)
def test_padding_changes_no_score(lengths: list[int], junk: int, more: int) -> None:
    model = encoder()
    rows = [TokenRow((tuple((i * 7 + j) % 40 for j in range(n)), (1,) * n)) for i, n in enumerate(lengths)]
    alone = torch.cat([model(*padded([row], cross=False)) for row in rows])
    ids, mask, segments = padded(rows, cross=False)
    ids = torch.nn.functional.pad(ids, (0, more))
    mask, segments = torch.nn.functional.pad(mask, (0, more)), torch.nn.functional.pad(segments, (0, more))
    filled = torch.where(mask > 0, ids, junk)  # whatever stands in the padding
    assert torch.allclose(model(filled, mask, segments), alone, atol=1e-5)


def test_padding_in_the_knowledge_changes_no_score() -> None:
    model = encoder(cross=True)
    rows = [
        TokenRow(((5, 6, 7), (1, 1, 1)), ((8, 9), (3, 3))),
        TokenRow(((5,), (1,)), (tuple(range(10, 19)), (3,) * 9)),
    ]
    alone = torch.cat([model(*padded([row], cross=True)) for row in rows])
    together = list(padded(rows, cross=True))
    together[3] = torch.where(together[4] > 0, together[3], 21)
    assert torch.allclose(model(*together), alone, atol=1e-5)


def test_a_token_that_is_not_padding_does_change_the_score() -> None:
    model = encoder()
    one, other = TokenRow(((5, 6, 7), (1, 1, 1))), TokenRow(((5, 6, 8), (1, 1, 1)))
    assert abs(float(model(*padded([one], cross=False)) - model(*padded([other], cross=False)))) > 1e-3


def test_knowledge_is_attended_to_and_may_be_missing() -> None:
    model = encoder(cross=True)
    turn = ((5, 6, 7), (1, 1, 1))
    scores = [
        float(model(*padded([TokenRow(turn, knowledge)], cross=True)))
        for knowledge in (((8, 9), (3, 3)), ((9, 8), (3, 3)), ((), ()))
    ]
    assert len({round(score, 4) for score in scores}) == 3
    assert all(math.isfinite(score) for score in scores)


def test_without_knowledge_what_stands_in_its_padding_does_not_matter() -> None:
    model = encoder(cross=True)
    given = list(padded([TokenRow(((5, 6, 7), (1, 1, 1)))], cross=True))
    before = model(*given)
    given[3] = torch.full_like(given[3], 9)
    assert torch.equal(model(*given), before)


def test_a_width_that_the_heads_do_not_divide_is_refused() -> None:
    with pytest.raises(ConfigError, match="width of 64 cannot be parted among 5 heads"):
        EncoderShape(10, 64, heads=5)


class Fixed(WordVocabulary):
    """A vocabulary over words that are numbers, without a file."""

    def __init__(self, most: int) -> None:
        self._max = most
        self._ids = lambda text: tuple(int(word) for word in text.split())


def test_what_is_not_plain_is_read_by_the_tokenizer(tmp_path: Path) -> None:
    texts = ["The inn is open.", "Das Café heißt Rosé.", "[asks]"]
    tokenizer = word_tokenizer(texts, marks=["[asks]"])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    vocabulary = WordVocabulary(tmp_path / "tokenizer.json", 8)
    for text in (*texts, "THE café [asks] is", "[asks] ?"):
        (row,) = vocabulary.rows([[TextPiece(text, 1)]])
        assert list(row.turn[0]) == tokenizer.encode(text).ids
        assert row.turn[0]


def test_what_the_tokenizer_read_is_kept_and_let_go_with_all_other_texts(tmp_path: Path) -> None:
    word_tokenizer(["Ich bin allergisch, Café"], marks=[]).save(str(tmp_path / "tokenizer.json"))
    vocabulary = WordVocabulary(tmp_path / "tokenizer.json", 8)
    for _ in range(2):
        vocabulary.rows([[TextPiece("Café", 1)]])
    assert vocabulary._read.cache_info().hits == 1
    clear_caches()
    assert vocabulary._read.cache_info().currsize == 0


def test_pieces_stand_one_after_the_other_with_their_segments() -> None:
    (row,) = Fixed(8).rows(
        [[TextPiece("1", 0), TextPiece("2 3", 1), TextPiece("4", 2), TextPiece("5 6", 12, apart=True)]]
    )
    assert row == TokenRow(((1, 2, 3, 4), (0, 1, 1, 2)), ((5, 6), (12, 12)))


def test_a_long_dialogue_gives_way_to_the_other_fields() -> None:
    (row,) = Fixed(6).rows([[TextPiece("1 2 3", 1), TextPiece("4 5 6", 2), TextPiece("7 8", 9)]])
    assert row.turn == ((1, 2, 3, 4, 7, 8), (1, 1, 1, 2, 9, 9))


def test_a_dialogue_keeps_half_of_the_room_and_takes_what_is_left() -> None:
    (row,) = Fixed(6).rows([[TextPiece("1 2 3 4", 1), TextPiece("5 6 7 8 9", 9)]])
    assert row.turn[0] == (1, 2, 3, 5, 6, 7)
    (row,) = Fixed(6).rows([[TextPiece("1", 1), TextPiece("5 6 7 8 9 10", 9)]])
    assert row.turn[0] == (1, 5, 6, 7, 8, 9)


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 9)), max_size=6), st.integers(1, 12))
def test_a_row_is_never_longer_than_the_most_tokens_and_fills_it(sizes: list[tuple[int, int]], most: int) -> None:
    pieces = [TextPiece(" ".join(["7"] * n), segment) for segment, n in sizes]
    (row,) = Fixed(most).rows([pieces])
    assert len(row.turn[0]) == min(most, sum(n for _, n in sizes)) == len(row.turn[1])
