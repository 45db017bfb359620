"""Facts about the user and documents retrieved together, around any other retriever.

For a source about the user it returns facts that matter to the question in view of the documents, not facts that merely
resemble it: "I am allergic to shellfish" resembles no question about a soup. Documents are searched with the question
alone, and with the question and each relevant fact.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TypeAlias

from dragoman.core.caches import keeps_texts
from dragoman.core.protocols import Retriever, warm
from dragoman.core.trace import Found
from dragoman.core.values import Context, Evidence, Request, Source, Turn
from dragoman.decision.categories import categories
from dragoman.decision.chinese.glossed import glossed
from dragoman.decision.joint import MOST_FACTS, JointRanker, Option, bearing_facts, distinct
from dragoman.decision.judge import SentenceJudge
from dragoman.decision.subjects import people
from dragoman.decision.tables.cells import read_row
from dragoman.decision.tables.own_group import own_group
from dragoman.decision.times.waiting import tells_of_an_event
from dragoman.retriever.told import TOLD, told_facts
from dragoman.text import lazy_re as re
from dragoman.text.form import asks_for_everything, form
from dragoman.text.language import language
from dragoman.text.question_kind import question_kind
from dragoman.text.sentences import sentences

_ALL_FACTS = 48
_CANDIDATES = 6
_CHINESE_CANDIDATES = 12
"""More candidates for Chinese, where passages are found by words alone and then ranked by their sentences."""
_SEARCHED_WITH = 3
"""With how many facts the documents are searched once more."""
_DECIDES = 0.9
"""How probably a fact bears on a question whose row or column of a table it chooses."""
_ROWS_WITHIN = 4
"""Among how many of the best options a row is looked for."""
_TOLD_WITH_IT = 0.3
"""How much a fact bears at least on the question that it was told with."""
_KEPT = 32
_RECALL = re.compile(
    r"\b(?:what|where|who|whom|which|when|how|name|called|remember|recall|know|told|remind)\b|什么|哪|谁|记得",
    re.IGNORECASE,
)
"""Asks for what was told, however politely: "would you remember where I live?"."""
Key: TypeAlias = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Joint:
    """Facts and passages of one turn, and the scored options of both together."""

    facts: tuple[Evidence, ...]
    passages: tuple[Evidence, ...]
    options: tuple[Option, ...]
    bearing: Mapping[str, float] = field(default_factory=dict)
    """How much facts bear by the trained judge, by their ids."""


NO_JOINT = Joint((), (), ())


class PersonalRetriever:
    """Wraps a retriever; ranks facts about the user together with the documents."""

    def __init__(
        self, inner: Retriever, *, ranker: JointRanker, sources: Sequence[Source], judge: SentenceJudge | None = None
    ) -> None:
        self._inner = inner
        self._ranker = ranker
        self._judge = judge
        self._user = tuple(source for source in sources if source.about == "user" and source.private)
        self._world = tuple(source for source in sources if source.about == "world")
        self._joint: OrderedDict[Key, Joint] = OrderedDict()
        self._lock = Lock()
        describe: Callable[[Request], str] | None = getattr(inner, "describe", None)
        if describe is not None:
            self.describe = describe
        keeps_texts(self)

    def clear_cache(self) -> None:
        """Drop what was retrieved for earlier turns."""
        with self._lock:
            self._joint.clear()

    def warm_up(self) -> None:
        """Load what the other retriever and the judge need."""
        warm(self._inner, self._judge)

    def retrieve(self, requests: Sequence[Request]) -> list[Sequence[Evidence]]:
        results: list[Sequence[Evidence]] = list(self._inner.retrieve(requests))
        for nth, request in enumerate(requests):
            abouts = {source.about for source in request.sources}
            if not self._user or not self._world or not abouts & {"user", "world"}:
                continue
            joint = self._of(request.context)
            if not joint.passages:
                continue
            if abouts == {"user"} and joint.facts:
                results[nth] = self._facts(request, results[nth], joint)
            elif abouts == {"world"}:
                results[nth] = self._documents(request, results[nth], joint)
        return results

    def _of(self, context: Context) -> Joint:
        learned = (*context.learned.added, *context.learned.joined, *context.learned.forgotten)
        ids = tuple(passage.id for passage in learned)
        key: Key = (context.turns, context.scope, context.dialogue, context.control, ids)
        with self._lock:
            cached = self._joint.get(key)
        if cached is not None:
            return cached
        joint = self._search(context)
        with self._lock:
            self._joint[key] = joint
            while len(self._joint) > _KEPT:
                self._joint.popitem(last=False)
        return joint

    def _search(self, context: Context) -> Joint:
        chinese = language(context.last) == "zh" and form(context.last).act == "question"
        requests = [
            Request(context, self._user, k=_ALL_FACTS),
            Request(context, self._world, k=_CHINESE_CANDIDATES if chinese else _CANDIDATES),
        ]
        facts, passages = (list(evidence) for evidence in self._inner.retrieve(requests))
        facts = [*told_facts(context, facts, source=self._user[0].name), *facts]
        explained = _with_roles(context, facts)
        if explained is not context:
            wanted = {piece.id for piece in passages}
            more = self._inner.retrieve([Request(explained, self._world, k=_CANDIDATES // 2)])[0]
            passages += [piece for piece in more if piece.id not in wanted]
        if not facts:
            # Without facts there is nothing to join, but Chinese passages still profit from reranking.
            options = self._ranker.rank(context, facts, passages) if chinese else []
            return Joint((), tuple(passages), tuple(options)) if chinese else NO_JOINT
        options = self._ranker.rank(context, facts, passages, quick=True)
        bearing = bearing_facts(options, most=len(options))
        near = sorted(facts, key=lambda fact: (-bearing.get(fact.id, -1.0), -fact.relevance))
        useful = sorted(near, key=lambda fact: not _is_of_turn(fact, context))[:_SEARCHED_WITH]
        again = [Request(context, self._world, k=2, given=(replace(fact, relevance=1.0),)) for fact in useful]
        # A rule about an event may share no word with the question: search for the event too: "My hens died yesterday."
        again += [
            Request(replace(context, turns=(Turn("user", fact.text),)), self._world, k=2)
            for fact in useful
            if not chinese and tells_of_an_event(fact.text)
        ]
        ids = {piece.id for piece in passages}
        most = max((piece.relevance for piece in passages), default=0.0)
        found = self._inner.retrieve(again)
        more = [piece for evidence in found[: len(useful)] for piece in evidence if piece.id not in ids]
        more += [
            replace(piece, relevance=max(piece.relevance, most))
            for evidence in found[len(useful) :]
            for piece in evidence
            if piece.id not in ids
        ]
        passages += list({piece.id: piece for piece in more}.values())
        options = self._ranker.rank(context, facts, passages)
        judged = {**self._judged(context, facts, options), **_of_own_group(context, facts, options)}
        return Joint(tuple(facts), tuple(passages), tuple(options), judged)

    def _judged(self, context: Context, facts: Sequence[Evidence], options: Sequence[Option]) -> Mapping[str, float]:
        if self._judge is None or form(context.last).act != "question":
            return {}
        best, newest = distinct(options), sorted(facts, key=lambda fact: (-fact.relevance, -fact.passage.position))
        if language(context.last) == "zh":
            english = glossed(context, newest, best)
            return self._judge.bearing(english.context, english.options, english.facts)
        return self._judge.bearing(context, best, newest)

    def _facts(self, request: Request, plain: Sequence[Evidence], joint: Joint) -> Found:
        """Rank facts by their effect on the best options; for a question about the user, by similarity."""
        last = request.context.last
        about_user = form(last).about == "user"
        # "Am I liable for it?" asks the documents, though its form is that of "Am I married?".
        decided = question_kind(last) == "polar" and not _RECALL.search(last)
        bearing = bearing_facts(joint.options)
        told = [fact for fact in joint.facts if about_user and TOLD in fact.passage.meta]
        alike = self._alike(last, told)
        ranked = []
        for fact in joint.facts:
            if fact.id in request.without:
                continue
            bears = max(bearing.get(fact.id, 0.0), joint.bearing.get(fact.id, 0.0))
            bears = max(bears, _TOLD_WITH_IT) if _is_of_turn(fact, request.context) else bears
            resembles = max(fact.relevance, alike.get(fact.id, 0.0))
            relevance = max(resembles, bears) if about_user and decided else resembles if about_user else bears
            ranked.append(
                Evidence(fact.passage, relevance, {**fact.scores, "bears": bears, "resembles": fact.relevance})
            )
        ranked.sort(key=lambda fact: -fact.relevance)
        # Each sentence may need other facts, so return many and let the reader choose.
        most = request.k if about_user and not decided else max(request.k, MOST_FACTS)
        return Found(ranked[:most], getattr(plain, "warnings", ()))

    def _alike(self, question: str, told: Sequence[Evidence]) -> dict[str, float]:
        """Score sentences of this dialogue for a question about the user; stored facts already have scores."""
        if not told:
            return {}
        if asks_for_everything(question):
            return {fact.id: 1.0 for fact in told}
        near = self._ranker.similar(question, [fact.text for fact in told])
        return {fact.id: chance for fact, chance in zip(told, near, strict=True)}

    def _documents(self, request: Request, plain: Sequence[Evidence], joint: Joint) -> Found:
        """Return the results of the question alone, after the passages of the best joint options."""
        found = {piece.id: piece for piece in plain}
        names = {source.name for source in request.sources}
        by_id = {piece.id: piece for piece in joint.passages if piece.source in names}
        chinese = language(request.context.last) == "zh"
        best = [option for option in joint.options if option.is_decided][:2] if chinese else []
        first = dict.fromkeys(option.evidence.id for option in (*best, *joint.options[:3]))
        wanted = [key for key in first if key not in request.without and key in by_id]
        order = list(dict.fromkeys([*wanted[: 3 if chinese else 2], *found]))
        pieces = [found.get(key) or by_id[key] for key in order]
        if chinese:  # the first piece's relevance is used to compare sources
            most = max(request.k, len(plain)) + 1
            return Found(sorted(pieces[:most], key=lambda piece: -piece.relevance), getattr(plain, "warnings", ()))
        return Found(pieces[: max(request.k, len(plain))], getattr(plain, "warnings", ()))


def _is_of_turn(fact: Evidence, context: Context) -> bool:
    """Whether a fact was stated with the question, and so is probably the reason for it."""
    learned = (*context.learned.added, *context.learned.joined)
    if any(row.id == fact.passage.id for row in learned):
        return True
    before = context.turns[-2] if len(context.turns) > 1 else None
    is_told = TOLD in fact.passage.meta and before is not None and before.speaker == "user"
    return is_told and before is not None and fact.text in before.text


def _with_roles(context: Context, facts: Sequence[Evidence]) -> Context:
    """Add the roles of names to the last turn: "Pip" is a dog, and documents may mention dogs."""
    if not facts or language(context.last) == "zh":
        return context
    names = people([fact.text for fact in facts]).names
    asked = set(re.findall(r"\w+", context.last.casefold()))
    kinds = {kind for name, kind in names.items() if kind and name in asked and kind not in asked}
    if not kinds:
        return context
    taxonomy = categories("en")
    groups = {group for kind in kinds for group in taxonomy.things if taxonomy.is_a(kind, group)}
    turn = Turn("user", f"{context.last} ({', '.join(sorted(kinds | groups))})")
    return replace(context, turns=(*context.history, turn))


def _of_own_group(context: Context, facts: Sequence[Evidence], options: Sequence[Option]) -> dict[str, float]:
    """Return the fact that selects the user's row or column of the best table: "Students pay the members' price"."""
    best = next((each for each in options[:_ROWS_WITHIN] if read_row(each.sentence) is not None), None)
    if best is None or question_kind(context.last) not in {"amount", "choice"}:
        return {}
    rows = [unit for unit in sentences(best.evidence.text) if read_row(unit) is not None]
    title = best.evidence.passage.title
    beside = list(dict.fromkeys(each.sentence for each in options if each.evidence.passage.title == title))
    own = own_group(rows, beside, [fact.text for fact in facts], context.last)
    return {fact.id: _DECIDES for fact in facts if own is not None and fact.text == own.decision.fact}
