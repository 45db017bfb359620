"""Word index of a shared source: tantivy over tokens from our own analyser, so that any script works.

It holds only tokens and row numbers. Each shard is a separate index with its own statistics, so the query's terms are
weighted to make all shards score by the statistics of the whole source. Rows are never deleted from a shard: tantivy
keeps the words of deleted rows in its segments, so a removal drops the shard, and it is rebuilt (about a second).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from dragoman.core.private_files import tighten_tree
from dragoman.stores.bm25 import lucene_idf
from dragoman.stores.index.merging import merged
from dragoman.stores.index.shards import IndexShard
from dragoman.stores.index.sidecar import Sidecar

_MEMORY = 64_000_000
_ROUNDING = 1.0001  # margin for tantivy's 32-bit sums


@dataclass(frozen=True, slots=True)
class WordPart:
    """One open shard."""

    index: Any
    schema: Any
    searcher: Any
    last: int
    length: int

    @classmethod
    def of(cls, index: Any, last: int, length: int) -> WordPart:
        """A snapshot of an index."""
        return cls(index, index.schema, index.searcher(), last, length)

    def __len__(self) -> int:
        return int(self.searcher.num_docs)

    def counts(self, tokens: Sequence[str]) -> dict[str, int]:
        """The document frequency of each token that occurs."""
        frequency = self.searcher.doc_freq
        return {token: count for token in tokens if (count := frequency("tokens", token))}

    def search(self, weights: Mapping[str, float], counts: Mapping[str, int], n: int) -> list[tuple[float, int]]:
        """Negative scores and row numbers of the n best rows, with these weights instead of the shard's own."""
        import tantivy

        term_query, boost_query, rows = tantivy.Query.term_query, tantivy.Query.boost_query, len(self)
        terms = [
            (
                tantivy.Occur.Should,
                boost_query(
                    term_query(self.schema, "tokens", token, "freq"), weights[token] / lucene_idf(rows, containing)
                ),
            )
            for token, containing in counts.items()
        ]
        if not terms:
            return []
        hits = self.searcher.search(tantivy.Query.boolean_query(terms), n, count=False).hits
        keys = self.searcher.fast_field_values("key", [address for _, address in hits])
        return [(-hit[0], key) for hit, key in zip(hits, keys, strict=True)]


class Proposed(NamedTuple):
    """Candidate row numbers, approximately best first, and an upper bound on the score of all other rows."""

    keys: list[int]
    ceiling: float


class WordQuery:
    """The tokens of a query, counted in a snapshot of a source."""

    def __init__(self, parts: Sequence[WordPart], tokens: Iterable[str]) -> None:
        encodable = [token for token in dict.fromkeys(tokens) if _is_encodable(token)]
        self._parts = [(part, part.counts(encodable)) for part in parts]

    def containing(self, token: str) -> int:
        """The number of rows of all shards that hold a token."""
        return sum(counts.get(token, 0) for _, counts in self._parts)

    def search(self, weights: Mapping[str, float], average: float, n: int) -> Proposed:
        """The n best rows of all shards, by the weights of tokens and the average length of the whole source.

        tantivy rounds the length of a row down, so its scores are too low only where a shard's rows are shorter than
        the average, and by rounding; the ceiling allows for both.
        """
        holding = [(part, counts) for part, counts in self._parts if counts]
        asks = [partial(part.search, weights, counts) for part, counts in holding]
        best = merged(asks, n, first=2 * n // max(1, len(asks)) + 8)
        if len(best) < n:
            return Proposed([key for _, key in best], 0.0)
        slack = max(1.0, *(average * len(part) / (part.length or 1) for part, _ in holding))
        return Proposed([key for _, key in best], -best[-1][0] * slack * _ROUNDING)


@dataclass(frozen=True, slots=True)
class Words:
    """A snapshot of the words of a source."""

    parts: Sequence[WordPart]

    def asked(self, tokens: Iterable[str]) -> WordQuery:
        """These tokens, counted in every shard."""
        return WordQuery(self.parts, tokens)


class WordIndex(Sidecar[str, WordPart]):
    """Finds row numbers by words."""

    capacity = 24_576
    inline = 30_000
    lag = 0

    def _make(self, path: Path, rows: Iterable[tuple[int, str]], width: int) -> tuple[int, int, int]:
        import tantivy

        path.mkdir(mode=0o700)  # without parents: a draft that was discarded meanwhile must not come back
        builder = tantivy.SchemaBuilder()
        builder.add_unsigned_field("key", fast=True)
        builder.add_text_field("tokens", tokenizer_name="spaces", index_option="freq")
        index = _with_tokenizer(tantivy.Index(builder.build(), path=str(path)))
        written = _write_rows(index, rows)
        tighten_tree(path)
        return written

    def _load(self, path: Path, shard: IndexShard) -> WordPart:
        import tantivy

        index = _with_tokenizer(tantivy.Index.open(str(path)))
        part = WordPart.of(index, shard.last, shard.length)
        # Reads every segment, so that a file lost in a crash shows here, where it can be rebuilt, and not in a search.
        part.counts([""])
        return part

    def _add(self, part: WordPart, rows: Sequence[tuple[int, str]], path: Path) -> WordPart | None:
        if min(key for key, _ in rows) <= part.last:
            return None  # an existing row with other words
        _, last, length = _write_rows(part.index, rows)
        tighten_tree(path)
        part.index.reload()
        return WordPart.of(part.index, last, part.length + length)

    def _write(self, part: WordPart, name: str) -> str:
        return name

    def _erase(self, part: WordPart, keys: Sequence[int], path: Path) -> WordPart | None:
        return None


def _write_rows(index: Any, rows: Iterable[tuple[int, str]]) -> tuple[int, int, int]:
    import tantivy

    count, last, length = 0, 0, 0
    writer = index.writer(_MEMORY, 1)
    for key, tokens in rows:
        document = tantivy.Document()
        document.add_unsigned("key", key)
        document.add_text("tokens", tokens)
        writer.add_document(document)
        count, last, length = count + 1, max(last, key), length + (tokens.count(" ") + 1 if tokens else 0)
    writer.commit()
    writer.wait_merging_threads()
    return count, last, length


def _with_tokenizer(index: Any) -> Any:
    import tantivy

    index.register_tokenizer("spaces", tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build())
    return index


def _is_encodable(token: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in token)
