"""The reader that quotes: the sentence of the evidence that answers best, with its source."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from dragoman.core.protocols import Encoder
from dragoman.core.registry import readers
from dragoman.core.values import Draft, Evidence, ReadTask, Source
from dragoman.decision.cases.exceptions import with_exception
from dragoman.decision.choose import Quote, rank
from dragoman.decision.tables.cells import read_row, row_sentence
from dragoman.decision.tables.lists import means_all, whole_point, with_points
from dragoman.reader.phrases import NEAREST, NO_ANSWER, no_answer, phrase, spoken, told_back
from dragoman.text.form import asks_for_everything, owned_thing
from dragoman.text.query import standalone
from dragoman.text.spelling import spelt

_SAME_THING = 0.3
"""The cosine from which on a fact may be about a thing that it does not name: "my bird", "My parrot is called Rico"."""
_TIE, _MOST_LINES = 0.02, 6
_CLOSE = 0.06
"""How far below the best sentence's score another one may stand to be quoted beside it."""
_CHINESE_FLOOR = 0.12
"""Relevance by words alone runs low; this is what a row scores that shares a telling character with the question."""


@readers.register("extractive.v1")
class ExtractiveReader:
    """Never says more than the evidence: quotes it, or says that nothing was found.

    A sentence that answers with a probability below `floor` is not quoted, and one below `sure` only with a word of
    doubt; nor is evidence about the user or the bot whose relevance is below `floor_user` or `floor_bot`. The persona
    is quoted as written, the user's facts are said in the second person, and a quotation from documents carries its
    title.
    """

    def __init__(
        self,
        *,
        encoder: Encoder,
        analyse: Callable[[str], tuple[str, ...]],
        sources: tuple[Source, ...],
        language: str = "en",
        floor: float = 0.14,
        sure: float = 0.35,
        floor_user: float = 0.55,
        floor_bot: float = 0.05,
        show_source: bool = True,
    ) -> None:
        self._encoder = encoder
        self._analyse = analyse
        self._about = {source.name: source.about for source in sources}
        self._language = language
        self._least = floor
        self._sure = sure
        floors = {"world": 0.0, "user": floor_user, "bot": floor_bot}
        self._floor = {source.name: floors[source.about] for source in sources}
        self._show_source = show_source

    def read(self, tasks: Sequence[ReadTask]) -> Sequence[Draft]:
        return [self._read(task) for task in tasks]

    def stream(self, task: ReadTask) -> Iterator[str | Draft]:
        draft = self._read(task)
        yield draft.text
        yield draft

    def _read(self, task: ReadTask) -> Draft:
        language = spoken(task.context.last, self._language)
        told = [piece for piece in task.evidence if self._about.get(piece.source) == "user"]
        if told and asks_for_everything(spelt(task.context.last)):
            return self._told(sorted(told, key=lambda piece: piece.passage.position), language)
        usable = [piece for piece in self._answering(task) if self._passes(piece, language)]
        usable = self._owned(task.context.last, usable)
        known = " ".join(piece.text for piece in told if self._passes(piece, language) and piece not in usable)
        quotes = rank(task.context, usable, known=known, encoder=self._encoder, analyse=self._analyse)
        if not quotes or not self._answers(quotes[0]):
            facts = self._owned(task.context.last, [piece for piece in told if self._passes(piece, language)])
            if facts:
                return self._told(facts[:1], language)
            text = no_answer(task.context.last, language, task.context.control)
            return Draft(text, 1.0 - _best(task.evidence), "said", notes=NO_ANSWER)
        headings = quotes[0].evidence.passage.headings
        is_all = bool(headings) and means_all(standalone(task.context).text, headings[-1], self._analyse)
        return self._quoted(quotes[0], _alike(quotes, is_all=is_all), language, self._beside(quotes, language))

    def _answering(self, task: ReadTask) -> Sequence[Evidence]:
        """Drop evidence of sources that were searched only because a later source needs them."""
        world = {name for name, about in self._about.items() if about == "world"}
        for step in reversed(task.plan.steps):  # documents answer, at whatever step of the plan
            if world.intersection(step):
                return [piece for piece in task.evidence if piece.source in world.union(step)]
        asked = set(task.plan.steps[-1] if task.plan.steps else ())
        return [piece for piece in task.evidence if piece.source in asked] or task.evidence

    def _passes(self, piece: Evidence, language: str) -> bool:
        floor = self._floor.get(piece.source, 0.0)
        return piece.relevance >= (min(floor, _CHINESE_FLOOR) if language == "zh" else floor)

    def _owned(self, question: str, pieces: list[Evidence]) -> list[Evidence]:
        """Drop facts about the user that do not concern the thing asked for: "my dog" is not in "My name is Gus".

        A fact's title counts too: it is "my job" for "I work as a baker".
        """
        thing = owned_thing(question)
        facts = [piece for piece in pieces if self._about.get(piece.source) == "user"]
        if not thing or not facts:
            return pieces
        vectors = self._encoder.encode([thing, *(piece.text for piece in facts)])
        words = set(self._analyse(thing))
        strange = {
            piece.id
            for piece, vector in zip(facts, vectors[1:], strict=True)
            if not (words.intersection(self._analyse(f"{piece.passage.title} {piece.text}")) or thing in piece.text)
            and (not thing.isascii() or float(vector @ vectors[0]) < _SAME_THING)
        }
        return [piece for piece in pieces if piece.id not in strange]

    def _answers(self, quote: Quote) -> bool:
        return self._about.get(quote.evidence.source) != "world" or quote.probability >= self._least

    def _beside(self, quotes: Sequence[Quote], language: str) -> Quote | None:
        """Return a second sentence that answers as well as the best, since quoting both beats quoting the wrong one."""
        best, second = quotes[0], next((quote for quote in quotes[1:] if quote.text != quotes[0].text), None)
        if second is None or language == "zh" or self._about.get(best.evidence.source, "world") != "world":
            return None
        if read_row(second.text) is not None or second.text.rstrip().endswith("?"):  # of a table only one row is right
            return None
        as_good = second.score >= best.score - _CLOSE and second.probability >= self._sure
        return second if as_good and _alike(quotes) == best.text else None

    def _quoted(self, quote: Quote, text: str, language: str, second: Quote | None = None) -> Draft:
        about = self._about.get(quote.evidence.source, "world")
        if about == "user":
            return self._told([quote.evidence], language)
        if about == "world" and second is None and language != "zh":
            text = with_points(with_exception(text, quote.evidence.text), quote.evidence.text)
            text = whole_point(text, quote.evidence.text)
        if about == "world" and language != "zh":
            text = "\n".join(map(row_sentence, text.split("\n")))
        texts = [(text, _attribution(quote.evidence, language))]
        if second is not None:
            texts.append((second.text, _attribution(second.evidence, language)))
        if about == "world" and self._show_source:
            same = len({source for _, source in texts}) == 1
            text = " ".join(each if same else each + source for each, source in texts) + (texts[0][1] if same else "")
        elif second is not None:
            text = f"{text} {second.text}"
        notes: dict[str, str | float] = {"score": round(quote.score, 3), "answers": round(quote.probability, 3)}
        if about == "world" and quote.probability < self._sure:
            text = phrase("unsure", language, quote=text)
            notes |= NEAREST
        ids = dict.fromkeys((quote.evidence.id, *(() if second is None else (second.evidence.id,))))
        return Draft(text, quote.probability, "quoted", tuple(ids), notes=notes)

    def _told(self, told: Sequence[Evidence], language: str) -> Draft:
        ids = tuple(piece.id for piece in told)
        return Draft(told_back([piece.text for piece in told], language), _best(told), "quoted", ids)


def _alike(quotes: Sequence[Quote], *, is_all: bool = False) -> str:
    """Return the best sentence; for a line of a list or table, with the lines that answer equally well.

    With `is_all`, every line of the list counts.
    """
    best = quotes[0]
    lines = [line.removeprefix("- ").strip() for line in best.evidence.text.split("\n") if line.startswith("- ")]
    alike = {
        quote.text
        for quote in quotes
        if quote.evidence.id == best.evidence.id and quote.text in lines and (is_all or _ties(quote, best))
    }
    if best.text not in lines or not 1 < len(alike) <= _MOST_LINES:
        return best.text
    return "\n".join(line for line in lines if line in alike)


def _ties(quote: Quote, best: Quote) -> bool:
    """Whether two lines answer the question equally well."""
    held = all(quote.features[name] >= best.features[name] for name in ("topic", "details"))
    return held and quote.score >= best.score - _TIE


def _attribution(piece: Evidence, language: str) -> str:
    path = list(dict.fromkeys(part for part in (piece.passage.title, *piece.passage.headings) if part))
    if not path:
        return ""
    return f"（{' › '.join(path)}）" if language == "zh" else f" ({' › '.join(path)})"


def _best(evidence: Sequence[Evidence]) -> float:
    return max((piece.relevance for piece in evidence), default=0.0)
