"""Shared words: BLEU through sacrebleu, ROUGE through rouge-score, on tokens that are cut once for all systems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from dragoman.core.errors import ConfigError
from dragoman.core.registry import metrics
from dragoman.evaluate.contract import About, Judged, Scores, folded_scores, mean_scores
from dragoman.evaluate.metrics.options import missing
from dragoman.evaluate.metrics.tokens import check, choose, tokenizer

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU

    from dragoman.evaluate.contract import Floats

Smoothing: TypeAlias = Literal["none", "floor", "add-k", "exp"]
RougeVariant: TypeAlias = Literal["1", "2", "L"]
_SMOOTHINGS = ("none", "floor", "add-k", "exp")
_PARTS = ("1", "2", "L")


@metrics.register("bleu.v1")
class Bleu:
    """Corpus BLEU in [0, 100] with n-grams up to `order`; a turn's own value is its sentence BLEU.

    `tokens` names a scheme of `metrics.tokens`; `auto` is char for Chinese and 13a for others, by the set's `language`
    or else by the references. `cut` keeps so many characters of each reply. An empty reply matches nothing, and makes
    the corpus shorter than its references.
    """

    def __init__(
        self,
        *,
        order: int = 4,
        tokens: str = "auto",
        smooth: Smoothing = "exp",
        cut: int | None = None,
        language: str = "",
    ) -> None:
        if not 1 <= order <= 4:
            raise ConfigError(f"metric.bleu: order is {order}.", remedy="Give 1, 2, 3 or 4.")
        if smooth not in _SMOOTHINGS:
            raise ConfigError(f"metric.bleu: smooth is '{smooth}'.", remedy=f"Give one of {', '.join(_SMOOTHINGS)}.")
        self._order = order
        self._tokens = check(tokens)
        self._language = language
        self._smooth = smooth
        self._cut = _checked_cut("metric.bleu", cut)

    @property
    def about(self) -> About:
        cite = "Papineni et al. 2002, Eq. 1-3, as sacrebleu computes it (Post 2018)"
        return About(f"BLEU-{self._order}", "up", (0.0, 100.0), cite, frozenset({"reply"}))

    def score(self, turns: Sequence[Judged]) -> Scores:
        import numpy as np

        rows, replies, references = _texts(turns, self._cut)
        scheme = choose(self._tokens, references, otherwise="13a", language=self._language)
        statistics = np.zeros((len(turns), 2 + 2 * self._order))
        per_turn = np.full(len(turns), np.nan)
        statistics[rows], per_turn[rows] = bleu_statistics(
            replies, references, order=self._order, tokens=scheme, smooth=self._smooth
        )

        def fold(sums: Floats) -> Floats:
            return bleu_of(sums, order=self._order, smooth=self._smooth)

        return folded_scores(statistics, fold, _counted(rows, len(turns)), per_turn, {"tokens": scheme})


@metrics.register("rouge.v1")
class Rouge:
    """The mean over turns of ROUGE's F1 in [0, 1]: shared words (`part` 1), pairs (2), or longest common sequence (L).

    `tokens` as for BLEU, save that `auto` is basic for what is not Chinese, as rouge-score cuts English.
    `cut` keeps so many characters of each reply. An empty reply is worth 0.
    """

    def __init__(
        self, *, part: RougeVariant = "L", tokens: str = "auto", cut: int | None = None, language: str = ""
    ) -> None:
        if part not in _PARTS:
            raise ConfigError(f"metric.rouge: part is '{part}'.", remedy="Give '1', '2' or 'L'.")
        self._part: RougeVariant = part
        self._tokens = check(tokens)
        self._language = language
        self._cut = _checked_cut("metric.rouge", cut)

    @property
    def about(self) -> About:
        cite = "Lin 2004, sections 2 and 3.1, as rouge-score computes it"
        return About(f"ROUGE-{self._part}", "up", (0.0, 1.0), cite, frozenset({"reply"}))

    def score(self, turns: Sequence[Judged]) -> Scores:
        import numpy as np

        rows, replies, references = _texts(turns, self._cut)
        scheme = choose(self._tokens, references, otherwise="basic", language=self._language)
        per_turn = np.full(len(turns), np.nan)
        per_turn[rows] = rouge(replies, references, part=self._part, tokens=scheme)
        return mean_scores(per_turn, {"tokens": scheme})


def bleu(
    replies: Sequence[str],
    references: Sequence[str],
    *,
    order: int = 4,
    tokens: str = "auto",
    smooth: Smoothing = "exp",
) -> float:
    """Corpus BLEU: brevity penalty times the geometric mean of n-gram precisions (Papineni et al. 2002, Eq. 1-3)."""
    scheme = choose(tokens, references, otherwise="13a")
    statistics, _ = bleu_statistics(replies, references, order=order, tokens=scheme, smooth=smooth)
    return float(bleu_of(statistics.sum(axis=0, keepdims=True), order=order, smooth=smooth)[0])


def bleu_statistics(
    replies: Sequence[str], references: Sequence[str], *, order: int, tokens: str, smooth: Smoothing = "exp"
) -> tuple[Floats, Floats]:
    """Return the statistics that corpus BLEU sums, and the BLEU of each sentence.

    A row holds the lengths of reply and reference, then matched and all n-grams of the reply for n = 1..order. A
    sentence may have fewer words than `order`: then only the orders that it has are averaged.
    """
    import numpy as np

    bleu = _library()
    # this smoothing alone is written into the counts, so it has to wait until they are read
    later = smooth == "add-k"
    scorer = bleu(
        tokenize="none",
        force=True,
        smooth_method="none" if later else smooth,
        max_ngram_order=order,
        effective_order=True,
    )
    cut = tokenizer(tokens)
    rows: list[list[int]] = []
    values: list[float] = []
    for reply, reference in zip(replies, references, strict=True):
        sentence_bleu = scorer.sentence_score(" ".join(cut(reply)), [" ".join(cut(reference))])
        rows.append([sentence_bleu.sys_len, sentence_bleu.ref_len, *sentence_bleu.counts, *sentence_bleu.totals])
        values.append(_value(rows[-1], order, smooth, sentence=True) if later else sentence_bleu.score)
    return np.array(rows, dtype=np.float64).reshape(-1, 2 + 2 * order), np.array(values, dtype=np.float64)


def bleu_of(sums: Floats, *, order: int, smooth: Smoothing = "exp") -> Floats:
    """The corpus BLEU of each row of summed statistics; NaN where no turn counts."""
    import numpy as np

    # sums of counts, each taken so many times: whole numbers, whatever the type
    counted = np.rint(sums).astype(int).tolist()
    return np.array([_value(row, order, smooth) if row[0] or row[1] else np.nan for row in counted], dtype=np.float64)


def _value(row: Sequence[int], order: int, smooth: Smoothing, *, sentence: bool = False) -> float:
    bleu = _library().compute_bleu(
        correct=list(row[2 : 2 + order]),
        total=list(row[2 + order :]),
        sys_len=row[0],
        ref_len=row[1],
        smooth_method=smooth,
        effective_order=sentence,
        max_ngram_order=order,
    )
    return float(bleu.score)


def _library() -> type[BLEU]:
    try:
        from sacrebleu.metrics.bleu import BLEU
    except ImportError as error:
        raise missing("BLEU", error) from error
    return BLEU


def rouge(
    replies: Sequence[str], references: Sequence[str], *, part: RougeVariant = "L", tokens: str = "auto"
) -> list[float]:
    """The F1 of shared n-grams (Lin 2004, Eq. 1 with precision beside recall) or of the longest common sequence
    (Eq. 2-4 with beta = 1) for each pair."""
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError as error:
        raise missing("ROUGE", error) from error
    name = f"rouge{part}"
    cut = tokenizer(choose(tokens, references, otherwise="basic"))
    scorer: Any = RougeScorer([name], tokenizer=_Tokenizer(cut))
    pairs = zip(replies, references, strict=True)
    return [float(scorer.score(reference, reply)[name].fmeasure) for reply, reference in pairs]


class _Tokenizer:
    """A tokenisation in the form that rouge-score takes."""

    def __init__(self, cut: Callable[[str], tuple[str, ...]]) -> None:
        self.tokenize = cut


def _texts(turns: Sequence[Judged], cut: int | None) -> tuple[list[int], list[str], list[str]]:
    """The indices of turns with a gold reply, the system's replies to them, and the gold replies."""
    rows = [row for row, turn in enumerate(turns) if turn.example.gold.reply is not None]
    replies = [turns[row].reply.text[:cut] for row in rows]
    return rows, replies, [turns[row].example.gold.reply or "" for row in rows]


def _counted(rows: Sequence[int], count: int) -> list[bool]:
    counted = [False] * count
    for row in rows:
        counted[row] = True
    return counted


def _checked_cut(name: str, cut: int | None) -> int | None:
    if cut is not None and cut < 1:
        raise ConfigError(f"{name}: cut is {cut}.", remedy="Give a number of characters from 1, or leave it out.")
    return cut
