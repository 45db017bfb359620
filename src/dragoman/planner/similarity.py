"""Default planner: asks sources with a relevant candidate that are about the subject of the question."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from dragoman.core.protocols import Retriever
from dragoman.core.registry import planners
from dragoman.core.values import Context, Evidence, Plan, Request, Source, SourceName
from dragoman.sources.graph import SourceGraph
from dragoman.text.form import Form, form
from dragoman.text.language import language
from dragoman.text.query import standalone
from dragoman.text.question_kind import question_kind
from dragoman.text.reference import content_words

_ADDITION = re.compile(r"(?:and|or|what about|how about|then)\s+(?:\S+\s*){1,4}$|[那还].{1,8}呢", re.IGNORECASE)

_YOURS = re.compile(
    r"\b(?:your|you (?:have|sell|offer|take|accept|rent|allow|serve|charge|provide|need|require))\b(?P<rest>.*)",
    re.IGNORECASE,
)

_VERDICT = re.compile(
    r"\b(?:am i|are we)\b[^?.!]{0,40}?\b(?P<what>enough|allowed|eligible|entitled|welcome|able|too|ok|okay|alright"
    r"|fine|safe|barred|banned|liable|exempt|required|obliged|supposed|permitted|admitted|accepted|covered|insured|included"
    r"|excluded|late|free|in time|charged|refused|qualified)\b",
    re.IGNORECASE,
)

_YOURSELF = re.compile(r"\byourself\b|你自己", re.IGNORECASE)
"""Means the bot alone, never the organisation that it speaks for."""
_OWN = re.compile(r"\b(?:my|our)\b", re.IGNORECASE)
_RECALLS = re.compile(
    r"\b(?:you (?:know|remember)|i(?: have|'ve)? (?:told|mentioned)|did i (?:tell|say|mention))\b", re.I
)
"""Asks what the agent remembers, which no document says."""
_STEM = 5
_LOOKED_AT = 3
"""How many candidates of each source are looked at."""
_OF_ONESELF = 0.1
"""How probable it must be that a fact bears on a question that says "I" or "my" for memory to be asked too."""
SURE_OF_USER, SURE_OF_BOT, DOUBTFUL = 0.85, 0.97, 0.12
"""Relevance of a memory and of a persona that clearly answer, and of documents that clearly do not."""
_NEARER = 0.1
"""By how much a persona must be nearer to a question than the documents to be asked instead of them."""


@planners.register("similarity.v1")
class SimilarityPlanner:
    """Planner by the best candidate of each source and by whom the question is about.

    A question about the user is for the sources about the user alone, one about the bot for its persona. "You" may mean
    the organisation that the bot speaks for, so the persona is asked only if it is clearly nearer than the documents.
    All else goes to the sources about the world whose best candidate passes `threshold`, or to the best of them, so
    that the reader can say honestly that nothing was found. The user's memory is added if a fact bears on the question
    with a probability of at least `personal`, as scored by the retriever together with the documents, even if the
    question does not say "my". If the documents clearly have no answer, memory or persona is asked instead if it
    clearly has one.
    """

    def __init__(self, *, retriever: Retriever, threshold: float = 0.5, personal: float = 0.45) -> None:
        self._retriever = retriever
        self._threshold = threshold
        self._personal = personal

    def plan(self, turns: Sequence[Context], sources: Sequence[Source]) -> Sequence[Plan]:
        graph = SourceGraph(sources)
        requests = [
            Request(context, (source,), k=_LOOKED_AT, without=_only_told(context))
            for context in turns
            for source in sources
        ]
        results = self._retriever.retrieve(requests)
        width = len(sources)
        return [
            self._one(context, graph, dict(zip(graph.names, results[i * width : (i + 1) * width], strict=True)))
            for i, context in enumerate(turns)
        ]

    def _one(self, context: Context, graph: SourceGraph, evidence: Mapping[SourceName, Sequence[Evidence]]) -> Plan:
        matter, personal = matter_of(context)
        best = {name: max((piece.relevance for piece in pieces), default=0.0) for name, pieces in evidence.items()}
        by: dict[str, list[Source]] = {"user": [], "bot": [], "world": []}
        for source in graph:
            by[source.about].append(source)
        if matter == "you":
            # "Can you look at my parrot?" asks what the organisation does, not what the bot is like.
            nearer = not _OWN.search(context.last) and (
                _closeness(evidence, by["bot"]) > _closeness(evidence, by["world"]) + _NEARER
                and not _is_elsewhere(context.last, evidence, by["bot"], by["world"])
            )
            matter = "bot" if nearer and not _named_in(context.last, evidence, by["world"], by["bot"]) else "world"
        elif (
            matter == "bot"
            and not _YOURSELF.search(context.last)
            and _is_elsewhere(context.last, evidence, by["bot"], by["world"])
        ):
            matter = "world"
        bears = max((piece.scores.get("bears", 0.0) for pieces in evidence.values() for piece in pieces), default=0.0)
        if matter == "world" and bears < self._personal and _strongest(best, by["world"]) < DOUBTFUL:
            if personal and _resembling(evidence, by["user"]) >= SURE_OF_USER:
                matter = "user"  # only the user's own facts can answer it
            elif _strongest(best, by["bot"]) >= SURE_OF_BOT:
                matter = "bot"  # a question of opinion, or one that only the persona knows about
        if matter == "user" and (
            self._rather_world(context, evidence, by, best) or _asks_for_verdict(context.last, evidence, by["user"])
        ):
            matter, chosen = "user and the world", [*by["user"], *self._passing(by["world"] or by["bot"], best)]
        else:
            least = _OF_ONESELF if personal else self._personal
            chosen = self._sources_for(matter, least, by, best)
        return Plan(graph.plan([source.name for source in chosen]).steps, best, f"about the {matter}")

    def _rather_world(
        self,
        context: Context,
        evidence: Mapping[SourceName, Sequence[Evidence]],
        by: Mapping[str, list[Source]],
        best: Mapping[SourceName, float],
    ) -> bool:
        """Whether a question about the user should go to the documents too: "am I in time?" if no fact answers it.

        The reader falls back on the user's facts if no sentence of the documents answers.
        """
        facts = [piece for source in by["user"] for piece in evidence[source.name]]
        bears = max((piece.scores.get("bears", 0.0) for piece in facts), default=0.0)
        if language(context.last) == "zh" or _resembling(evidence, by["user"]) >= SURE_OF_USER:
            return False  # Chinese is compared by characters only, which cannot tell the two apart
        if _RECALLS.search(context.last):
            return False
        if question_kind(context.last) == "polar":
            return bears >= self._personal
        return _strongest(best, by["world"]) >= self._threshold

    def _sources_for(
        self, matter: str, least: float, by: Mapping[str, list[Source]], best: Mapping[SourceName, float]
    ) -> list[Source]:
        if matter in ("user", "bot") and by[matter]:
            return by[matter]
        chosen = self._passing(by["world"] or by["bot"], best)
        if any(best[source.name] >= least for source in by["user"]):
            chosen = [*self._passing(by["user"], best), *chosen]
        return chosen

    def _passing(self, group: Sequence[Source], best: Mapping[SourceName, float]) -> list[Source]:
        passing = [source for source in group if best[source.name] >= self._threshold]
        return passing or sorted(group, key=lambda source: -best[source.name])[:1]


def matter_of(context: Context) -> tuple[str, bool]:
    """Return whom the last turn is about, and whether it mentions the user; a follow-up inherits its subject."""
    shape = form(context.last)
    matter = shape.about or "world"
    before = [turn.text for turn in context.history if turn.speaker == "user"]
    if matter in ("world", "you") and before and (standalone(context).is_follow_up or _is_addition(shape)):
        inherited = form(before[-1]).about or matter
        matter = matter if inherited == "bot" and shape.personal else inherited  # "Do I need to book for that?"
    return matter, shape.personal


def _only_told(context: Context) -> frozenset[str]:
    """Return the ids of facts that the turn itself states, no evidence for its reply; empty for a question."""
    if form(context.last).act == "question":
        return frozenset()
    return frozenset(passage.id for passage in (*context.learned.added, *context.learned.joined))


def _strongest(best: Mapping[SourceName, float], group: Sequence[Source]) -> float:
    return max((best[source.name] for source in group), default=0.0)


def _resembling(evidence: Mapping[SourceName, Sequence[Evidence]], group: Sequence[Source]) -> float:
    """Return the relevance of a group's best candidate by itself, without its effect on the documents' answer."""
    pieces = [piece for source in group for piece in evidence[source.name]]
    return max((piece.scores.get("resembles", piece.relevance) for piece in pieces), default=0.0)


def _closeness(evidence: Mapping[SourceName, Sequence[Evidence]], group: Sequence[Source]) -> float:
    """Return the cosine of a group's best candidate, comparable between sources; its relevance without a vector."""
    pieces = [piece for source in group for piece in evidence[source.name]]
    return max((piece.scores.get("cosine", piece.relevance) for piece in pieces), default=0.0)


def _named_in(
    turn: str, evidence: Mapping[SourceName, Sequence[Evidence]], world: Sequence[Source], bot: Sequence[Source]
) -> bool:
    """Whether the documents, and not the persona, mention what a question calls "your": "your waiting list".

    A passage of many sentences is far from a short question in meaning though one of them answers it.
    """
    called = _YOURS.search(turn)
    words = [word.lower() for word in content_words(called["rest"])] if called else []
    world_text, bot_text = (
        " ".join(piece.text for source in group for piece in evidence[source.name]).lower() for group in (world, bot)
    )
    return bool(words) and all(word in world_text for word in words) and not any(word in bot_text for word in words)


def _is_elsewhere(
    turn: str, evidence: Mapping[SourceName, Sequence[Evidence]], bot: Sequence[Source], world: Sequence[Source]
) -> bool:
    """Whether the documents have words of a question, and the persona none: "Where do you collect in my town?".

    "I tell donors where they can give" is near to every question about an organisation, and answers none.
    """
    asked = {word.lower()[:_STEM] for word in content_words(turn)}
    of_bot, of_world = (
        {
            word.lower()[:_STEM]
            for source in group
            for piece in evidence[source.name]
            for word in content_words(piece.text)
        }
        for group in (bot, world)
    )
    return bool(asked) and not asked & of_bot and 2 * len(asked & of_world) >= len(asked)


def _asks_for_verdict(turn: str, evidence: Mapping[SourceName, Sequence[Evidence]], user: Sequence[Source]) -> bool:
    """Whether "am I ...?" asks for a verdict of the rules instead of a remembered fact: "am I old enough?"."""
    match = _VERDICT.search(turn)
    facts_text = " ".join(piece.text for source in user for piece in evidence[source.name]).lower()
    return match is not None and match["what"].lower() not in facts_text


def _is_addition(shape: Form) -> bool:
    """Whether a turn extends the question before to another of the user's: "And my dog?"."""
    return shape.personal and bool(_ADDITION.match(shape.core))
