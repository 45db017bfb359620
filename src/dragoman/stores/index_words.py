"""Words of a shared source: a tantivy index over tokens that we made ourselves, so that any script works.

It holds nothing but tokens and row numbers. Rows are only ever added: tantivy keeps the words of deleted
rows in its segments, so a removal drops the files and the next search makes them anew (a few seconds for
100,000 rows).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dragoman.stores.index import Sidecar

_MEMORY = 64_000_000


class WordIndex(Sidecar[str]):
    """Row numbers by words, best first by tantivy's own BM25."""

    _index: Any = None
    _searcher: Any = None

    def search(self, tokens: Sequence[str], n: int) -> list[int]:
        """The numbers of about the n best rows."""
        import tantivy

        with self.lock:
            searcher, schema = self._searcher, self._index.schema
        terms = [
            (tantivy.Occur.Should, tantivy.Query.term_query(schema, "tokens", token, "freq"))
            for token in tokens
            if _is_encodable(token)
        ]
        hits = searcher.search(tantivy.Query.boolean_query(terms), n, count=False).hits if terms else []
        return list(searcher.fast_field_values("key", [address for _, address in hits])) if hits else []

    def containing(self, token: str) -> int:
        """In how many rows a token occurs."""
        with self.lock:
            return int(self._searcher.doc_freq("tokens", token)) if _is_encodable(token) else 0

    def __len__(self) -> int:
        with self.lock:
            return int(self._searcher.num_docs)

    def keeps_after_purge(self, removed: int) -> bool:
        return removed == 0

    def _create(self, path: Path, rows: Iterator[tuple[int, str]], width: int) -> None:
        import tantivy

        path.mkdir()
        builder = tantivy.SchemaBuilder()
        builder.add_unsigned_field("key", fast=True)
        builder.add_text_field("tokens", tokenizer_name="spaces", index_option="freq")
        self._index = _with_tokenizer(tantivy.Index(builder.build(), path=str(path)))
        self._add(rows)

    def _open(self, path: Path) -> None:
        import tantivy

        self._index = _with_tokenizer(tantivy.Index.open(str(path)))
        self._searcher = self._index.searcher()
        # Looks into every segment: a file that a crash took is found here, where it can be mended, not by a search.
        self._searcher.doc_freq("tokens", "")

    def _extend(self, name: str, rows: Iterator[tuple[int, str]]) -> str:
        self._add(rows)
        self._index.reload()
        self._searcher = self._index.searcher()
        return name

    def _add(self, rows: Iterator[tuple[int, str]]) -> None:
        import tantivy

        writer = self._index.writer(_MEMORY, 1)
        for key, tokens in rows:
            document = tantivy.Document()
            document.add_unsigned("key", key)
            document.add_text("tokens", tokens)
            writer.add_document(document)
        writer.commit()
        writer.wait_merging_threads()

    def _erase(self, keys: Sequence[int], path: Path) -> None:
        raise NotImplementedError("words are dropped, not erased one by one")

    def _close(self) -> None:
        self._index = self._searcher = None


def _with_tokenizer(index: Any) -> Any:
    import tantivy

    index.register_tokenizer("spaces", tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build())
    return index


def _is_encodable(token: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in token)
