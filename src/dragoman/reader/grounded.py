"""The default reader: decide first, then word the reply; a model's wording must agree with the decision.

Small talk and new facts are answered with a fixed phrase. A question is answered by combining the user's facts with the
rules of the documents, else by the best quotation. A language model that is good enough rewords the answer, and its
text is checked against all evidence and facts; if it fails, the composed reply is used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Literal

from dragoman.core.errors import EndpointError, LimitError
from dragoman.core.protocols import Critic, Encoder, LanguageModel
from dragoman.core.registry import readers
from dragoman.core.trace import MODEL_FAILED
from dragoman.core.values import Context, Draft, Evidence, ReadTask, Source, Turn
from dragoman.decision.bearing import Bearing
from dragoman.decision.bridge import bridge, has_value
from dragoman.decision.groups import effect
from dragoman.decision.joint import JointRanker, Option
from dragoman.decision.judge import SHIPPED_JUDGE, as_supposed, facts_about, question_of
from dragoman.decision.values import Verdict
from dragoman.models.metering import metered
from dragoman.models.patience import within
from dragoman.reader.compose import Answer, asked_back, attribution, compose, is_said
from dragoman.reader.decide import decide
from dragoman.reader.extractive import ExtractiveReader
from dragoman.reader.glossed_judge import GlossedJudge
from dragoman.reader.judge_choice import ChoiceJudge, unsure
from dragoman.reader.phrases import NEAREST, acknowledgement, phrase, social, spoken
from dragoman.reader.prompted import PromptedReader
from dragoman.reader.trained_judge import TrainedJudge
from dragoman.reader.voice import Voice
from dragoman.text.ask_back import ASKS, said_to_apply
from dragoman.text.circles import loops
from dragoman.text.claims import negated, unsupported
from dragoman.text.confirmations import is_undo
from dragoman.text.form import SOCIAL, form
from dragoman.text.inferences import tells_a_plan
from dragoman.text.parts import question_parts
from dragoman.text.query import standalone
from dragoman.text.question_kind import question_kind
from dragoman.text.reference import leaning

_WORDS = re.compile(r"\w+")
_PERSON = re.compile(r"\b(?:i|we|my|our|he|she|they)\b", re.IGNORECASE)
_PIECES = re.compile(r"\S+\s*|\s+")
_OF_A_REMARK = 0.5
"""How probable it must be that a sentence speaks to a turn that asks nothing of the documents for it to be said."""
_SURE_OF_FACT = 0.85
"""From which relevance on a fact about the user answers a question by itself."""


@readers.register("grounded.v1")
class GroundedReader:
    """Quotes or drafts, whichever holds.

    `drafts` says for which answers the model is asked: `never`; `talk`, only where nothing was looked up, for pastimes
    and for questions that the gate or the planner left to it; `always`, for every answer, at the price of the model's
    time; `auto` (default), `always` for a model that says it writes well (`writes_well`: remote ones and large files),
    `talk` for the embedded one.

    `judge` says whether the model decides yes or no questions that the rules leave open (`judge_choice`): `never`,
    `always`, or `auto` (default), for a model that writes well and has passed an examination (`judge_exam`). The
    embedded model never judges by default: it is worse than the rules.

    `style` is how a model that writes replies speaks: names such as "short, formal" (`prompts.style`), or a sentence or
    two. Every check on its words holds all the same; composed replies and quotations have no style.

    `joint` names the trained part that judges sentences in English (`trained_judge`), and Chinese ones by their glosses
    (`glossed_judge`); with "" the rules decide alone.

    A model that fails, whose budget is used up, or that takes longer than `patience` seconds a turn (0: however long)
    ends no turn: what was composed without it is said.
    """

    follows_instructions = True

    def __init__(
        self,
        *,
        language_model: LanguageModel,
        encoder: Encoder,
        analyse: Callable[[str], tuple[str, ...]],
        sources: tuple[Source, ...],
        critic: Critic,
        language: str = "en",
        name: str = "Dragoman",
        floor: float = 0.14,
        sure: float = 0.35,
        consistency: float = 0.5,
        drafts: Literal["never", "talk", "auto", "always"] = "auto",
        judge: Literal["auto", "always", "never"] = "auto",
        max_tokens: int = 96,
        joint: str = SHIPPED_JUDGE,
        style: str = "",
        patience: float = 60.0,
    ) -> None:
        self._draft = PromptedReader(
            language_model=language_model, language=language, name=name, max_tokens=max_tokens, style=style
        )
        self._quote = ExtractiveReader(
            encoder=encoder, analyse=analyse, sources=sources, language=language, floor=floor, sure=sure
        )
        self._ranker = JointRanker(encoder=encoder, analyse=analyse)
        self._trained: TrainedJudge | GlossedJudge | None = None
        if joint and language in ("en", "zh"):
            bearing = Bearing(encoder=encoder, analyse=analyse)
            self._trained = TrainedJudge(joint, bearing) if language == "en" else GlossedJudge(joint, bearing)
        self._analyse = analyse
        self._about = {source.name: source.about for source in sources}
        self._floor = floor
        self._writes_well = bool(getattr(language_model, "writes_well", False))
        self._judge: ChoiceJudge | None = None
        if judge == "always" or (judge == "auto" and self._writes_well):
            examined = judge == "auto"
            self._judge = ChoiceJudge(language_model=language_model, language=language, examined=examined)
        self._voice = Voice(
            language_model=language_model,
            critic=critic,
            analyse=analyse,
            language=language,
            name=name,
            max_tokens=max_tokens,
            consistency=consistency,
            style=style,
        )
        self._language = language
        self._name = name
        self._drafts = drafts
        self._patience = patience

    @property
    def words_replies(self) -> bool:
        """Whether a model words the replies, so that they follow wishes about tone or language."""
        return self._drafts == "always" or (self._drafts == "auto" and self._writes_well)

    @property
    def takes_sampling(self) -> bool:
        """Whether a model may write replies, and obeys a caller's temperature and seed."""
        return self._drafts != "never" and self._draft.takes_sampling

    def read(self, tasks: Sequence[ReadTask]) -> Sequence[Draft]:
        safe = [self._safe(task) for task in tasks]
        drafting = [i for i, task in enumerate(tasks) if self._wants_draft(task, safe[i])]
        talk = [i for i in drafting if tasks[i].plan.is_null]
        if talk:
            try:
                chatting = [tasks[i] for i in talk]
                chats = within(self._patience * len(talk), lambda: self._draft.read(chatting))
            except (EndpointError, LimitError) as error:
                _keep(safe, talk, error)
            else:
                for i, draft in zip(talk, chats, strict=True):
                    safe[i] = self._talk(tasks[i], draft, safe[i])
        decided = [i for i in drafting if not tasks[i].plan.is_null]
        if decided:
            asked = ([tasks[i] for i in decided], [safe[i] for i in decided], [self._facts(tasks[i]) for i in decided])
            try:
                drafts = within(self._patience * len(decided), lambda: self._voice.write(*asked))
            except (EndpointError, LimitError) as error:
                _keep(safe, decided, error)
            else:
                for i, draft in zip(decided, drafts, strict=True):
                    safe[i] = self._better(tasks[i], draft, safe[i])
        return safe

    def stream(self, task: ReadTask) -> Iterator[str | Draft]:
        # Stream a draft only after it was checked, so that no text has to be retracted.
        draft = self.read([task])[0]
        yield from _PIECES.findall(draft.text)
        yield draft

    def _safe(self, task: ReadTask) -> Draft:
        """Return the reply that needs no model."""
        language = spoken(task.context.last, self._language)
        act = form(task.context.last).act
        noted = acknowledgement(task.context.learned, language)
        if act == "forget" and noted is None:
            missing = "restored-none" if is_undo(task.context.last) else "deleted-none"
            return Draft(phrase(missing, language), 1.0, "said")
        if task.plan.is_null:
            if noted is not None:
                return Draft(noted, 1.0, "said")
            text, notes = social(task.context.last, language, name=self._name, control=task.context.control)
            return Draft(text, 1.0, "said", notes=notes)
        answer = self._answered(task, language)
        unsure = _is_unsure(answer)
        if unsure and act in SOCIAL:  # the turn was searched only because the caller or the gate always searches
            text, notes = social(task.context.last, language, name=self._name)
            return Draft(text, 1.0, "said", notes=notes)
        if act == "statement" and (unsure or _only_points_back(task)):  # a statement needs no answer
            return Draft(noted or phrase("statement", language), answer.confidence, "said")
        is_told = act == "statement" and not tells_a_plan(task.context.last)
        return answer if noted is None or is_told else replace(answer, text=_after_note(noted, answer.text))

    def _answered(self, task: ReadTask, language: str) -> Draft:
        """Answer a turn; if it asks several questions, answer them one after the other."""
        parts = question_parts(task.context.last)
        if len(parts) < 2:
            return self._answered_once(task, language)
        turns, drafts = task.context.history, list[Draft]()
        for part in parts:
            turns = (*turns, replace(task.context.turns[-1], text=part))
            drafts.append(self._answered_once(replace(task, context=replace(task.context, turns=turns)), language))
            turns = (*turns, Turn("agent", drafts[-1].text))
        sure = [draft for draft in drafts if not _is_unsure(draft)]
        if len({frozenset(_WORDS.findall(draft.text.lower())) for draft in sure}) == len(parts):
            return _joined(drafts)
        # If a part has no answer, or two parts have the same, answer the turn as a whole.
        whole = self._answered_once(task, language)
        chosen = sure[0] if sure and _is_unsure(whole) else whole
        spent = sum((draft.usage for draft in (whole, *drafts) if draft is not chosen), chosen.usage)
        return replace(chosen, usage=spent)

    def _answered_once(self, task: ReadTask, language: str) -> Draft:
        """Answer by the rules, or by the model if the rules are unsure and the model is sure."""
        options = self._options(task)
        personal = None if _is_remark(task) else self._personal(task, options, language)
        answer = personal or self._quote.read([self._impersonal(task)])[0]
        answer = self._bridged(task, options, self._judged(task, options, answer, language), language)
        if self._judge is None or not unsure(answer, options, question_kind(task.context.last)):
            return answer
        if not self._judge.is_ready():
            return answer
        judge, facts = self._judge, self._facts(task)
        with metered() as meter:
            try:
                judgement = within(self._patience, lambda: judge.judge(task.context, options, facts))
            except (EndpointError, LimitError) as error:
                return replace(answer, notes={**answer.notes, "judge": f"{MODEL_FAILED}{error}"})
        judged = None if judgement is None else judge.answer(judgement, facts)
        chosen = answer if judged is None else _composed(judged, language, task)
        notes = {**chosen.notes, "judge": "" if judgement is None else judgement.summary}
        if meter.price is not None:
            notes["price"] = meter.price
        return replace(chosen, usage=chosen.usage + meter.usage, notes=notes)

    def _judged(self, task: ReadTask, options: Sequence[Option], answer: Draft, language: str) -> Draft:
        """Return the trained judge's answer if it has a better one, else `answer`."""
        if self._trained is None or not options or language != self._language:
            return answer
        sources = {self._about.get(piece.source) for piece in task.evidence if piece.id in answer.quoted}
        is_of_user = sources == {"user"} or form(task.context.last).about == "user"
        quoted = [fact for fact in self._facts(task) if fact.id in answer.quoted]
        told = any(fact.scores.get("resembles", fact.relevance) >= _SURE_OF_FACT for fact in quoted)
        if is_of_user and quoted and (told or question_kind(task.context.last) != "polar"):
            return answer  # a fact of the user's is the answer: "where do I live?"
        # For a question about the user, or a remark, documents count only if a sentence clearly answers it.
        least = _OF_A_REMARK if is_of_user or _is_remark(task) else 0.0
        judged = self._trained.judge(task.context, options, self._facts_about(task), answer, least=least)
        return answer if judged is None else _composed(judged, language, task)

    def _bridged(self, task: ReadTask, options: Sequence[Option], answer: Draft, language: str) -> Draft:
        """Return an answer from two places of the documents if `answer` lacks the value, else `answer`."""
        question = standalone(task.context).text
        if language != "en" or not options or question_kind(task.context.last) == "polar" or "by" in answer.notes:
            return answer
        said = "" if _is_unsure(answer) else next((each.sentence for each in options if is_said(each, answer.text)), "")
        if not _is_unsure(answer) and (not said or has_value(question, answer.text)):
            return answer
        found = bridge(question, options, self._analyse, said=said)
        if found is None:
            return answer
        return _composed(Answer((found.first, found.second), compared=True), language, task)

    def _options(self, task: ReadTask) -> list[Option]:
        """Return the sentences that may answer a turn, best first; none for a plain statement or without passages."""
        passages = [piece for piece in task.evidence if self._about.get(piece.source) == "world"]
        if not passages or not (form(task.context.last).act == "question" or _is_remark(task)):
            return []
        return self._ranker.rank(task.context, self._facts_about(task), passages)

    def _personal(self, task: ReadTask, options: Sequence[Option], language: str) -> Draft | None:
        """Compose an answer if a known or missing fact about the user decides; None if quoting is better."""
        if not options:
            return None
        answer = decide(task.context, options, self._facts_about(task), floor=self._floor, analyse=self._analyse)
        return None if answer is None else _composed(answer, language, task)

    def _impersonal(self, task: ReadTask) -> ReadTask:
        """Drop facts about the user from a task whose question is about the world."""
        if form(task.context.last).about == "user" or all(
            self._about.get(name) == "user" for name in task.plan.sources
        ):
            return task
        return replace(
            task, evidence=tuple(piece for piece in task.evidence if self._about.get(piece.source) != "user")
        )

    def _wants_draft(self, task: ReadTask, safe: Draft) -> bool:
        if self._drafts == "never":
            return False
        if task.plan.is_null:
            return form(task.context.last).act in ("pastime", "question")
        return self.words_replies and safe.method in ("quoted", "composed") and form(task.context.last).about != "user"

    def _facts_about(self, task: ReadTask) -> list[Evidence]:
        """Return the facts about the person of the question; none for a stated plan."""
        if _is_remark(task) and tells_a_plan(task.context.last):
            return []
        question = question_of(task.context)
        return as_supposed(facts_about(question, self._facts(task)), question)

    def _facts(self, task: ReadTask) -> list[Evidence]:
        return [piece for piece in task.evidence if self._about.get(piece.source) == "user"]

    def _better(self, task: ReadTask, draft: Draft, safe: Draft) -> Draft:
        """Return the model's draft if it passes the checks, else the composed reply with a note of the reason."""
        checked = self._voice.check(task, draft, safe)
        usage, notes = safe.usage + draft.usage, _with_model_notes(safe, draft)
        if checked.fault:
            return replace(safe, usage=usage, notes={**notes, "rejected": checked.fault})
        quoted = checked.quoted or safe.quoted
        if checked.quoted:  # the model's own answer replaces the closest sentence
            notes = {key: note for key, note in notes.items() if key not in (*NEAREST, "rule")}
        pieces = [piece for piece in task.evidence if piece.id in quoted]
        world = next((piece for piece in pieces if self._about.get(piece.source) == "world"), None)
        source = attribution(world, spoken(task.context.last, self._language)) if world else ""
        return Draft(checked.text + source, draft.confidence, "drafted", quoted, usage, notes)

    def _talk(self, task: ReadTask, draft: Draft, safe: Draft) -> Draft:
        """Check a draft of small talk, whose only evidence is the dialogue."""
        supports = [turn.text for turn in task.context.turns]
        fault = "empty" if not draft.text.strip() else "repeats itself" if loops(draft.text) else ""
        strange = unsupported(draft.text, [*supports, self._name, self._voice.styled_names])
        if fault or strange:
            reason = fault or f"unsupported: {', '.join(strange[:3])}"
            return replace(safe, usage=draft.usage, notes={**_with_model_notes(safe, draft), "rejected": reason})
        notes = _with_model_notes(replace(safe, notes={}), draft)
        return Draft(draft.text.strip(), draft.confidence, "drafted", safe.quoted, draft.usage, notes)


def _keep(safe: list[Draft], places: Sequence[int], error: EndpointError | LimitError) -> None:
    """Note in some composed drafts that the model failed."""
    for i in places:
        safe[i] = replace(safe[i], notes={**safe[i].notes, "rejected": f"{MODEL_FAILED}{error}"})


def _with_model_notes(safe: Draft, draft: Draft) -> dict[str, str | float]:
    """Return the notes of a composed draft, with the price of both and the cut part of the model's prompt."""
    prices = [float(each.notes["price"]) for each in (safe, draft) if "price" in each.notes]
    cut = {"cut": draft.notes["cut"]} if "cut" in draft.notes else {}
    return {**safe.notes, **cut, **({"price": sum(prices)} if prices else {})}


def _is_remark(task: ReadTask) -> bool:
    """Whether a turn states a plan or something that memory did not keep: "So I pay nothing", "I'd like a fire".

    An order to the agent is no remark, since it mentions no person.
    """
    turn = task.context.last
    asks = task.context.learned.is_empty or tells_a_plan(turn)
    return form(turn).act == "statement" and asks and _PERSON.search(turn) is not None


def _after_note(noted: str, text: str) -> str:
    """Put the answer after the acknowledgement; a list begins on a new line."""
    return f"{noted}\n{text}" if text.startswith("- ") else f"{noted} {text}"


def _only_points_back(task: ReadTask) -> bool:
    """Whether a remark only makes sense with the turns before it, so that documents cannot answer: "I hate it here"."""
    return _is_remark(task) and leaning(task.context.last) == "refers"


def _is_unsure(draft: Draft) -> bool:
    """Whether a draft is a fixed phrase or only the closest sentence."""
    return draft.method == "said" or draft.notes.items() >= NEAREST.items()


def _joined(drafts: Sequence[Draft]) -> Draft:
    """Join the answers to the parts of a turn."""
    notes = {key: value for draft in reversed(drafts) for key, value in draft.notes.items()}
    quoted = tuple(dict.fromkeys(id_ for draft in drafts for id_ in draft.quoted))
    text = "\n".join(draft.text for draft in drafts)
    usage = sum((draft.usage for draft in drafts[1:]), drafts[0].usage)
    method = "composed" if any(draft.method == "composed" for draft in drafts) else "quoted"
    return Draft(text, min(draft.confidence for draft in drafts), method, quoted, usage, notes)


def _answered_back(answer: Answer, context: Context) -> Answer:
    """Add the verdict to an answer if the user has just said whether its rule applies to them."""
    decision, applies = answer.decision, said_to_apply(context)
    if decision is None or decision.verdict != "unknown" or decision.ask or applies is None:
        return answer
    rule = answer.options[0].sentence
    forbids = effect(rule.lower()) in ("forbid", "alone") or negated(rule)
    verdict: Verdict = "no" if forbids == applies else "yes"
    return replace(answer, decision=replace(decision, verdict=verdict, confidence=1.0, reason="the user said so"))


def _composed(answer: Answer, language: str, task: ReadTask) -> Draft:
    answer = _answered_back(answer, task.context)
    notes: dict[str, str | float] = {"rule": answer.options[0].sentence}
    if answer.facts:
        notes["fact"] = " ".join(fact.text for fact in answer.facts)
    if answer.decision is not None:
        notes |= {"decision": answer.decision.verdict, "by": answer.decision.by}
        notes |= {key: text for key in ("reason", "missing", "value") if (text := str(getattr(answer.decision, key)))}
    elif answer.compared:
        notes["by"] = "table"
    if answer.doubt:
        notes |= NEAREST
    confidence = answer.options[0].probability if answer.decision is None else answer.decision.confidence
    pieces = (*(option.evidence for option in answer.options), *answer.facts)
    method = "composed" if answer.facts or answer.decision is not None else "quoted"
    if ask := asked_back(answer, language):
        notes[ASKS] = ask
    noted = {passage.text for passage in task.context.learned.added}  # these facts were acknowledged before the answer
    text = compose(answer, language, noted=noted)
    return Draft(text, confidence, method, tuple(piece.id for piece in pieces), notes=notes)
