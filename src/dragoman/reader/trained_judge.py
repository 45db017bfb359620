"""A small trained model as judge: it reads the question, the user's facts and each of the best sentences together.

For yes or no it chooses the sentence that answers the question and gives the verdict: yes, no, or that it depends on
something that the user has not said. What code decided stands unless the judge is sure of the opposite, and values come
from the rules and tables of `reader.decide` if their sentence answers the question. If no sentence does, the reply says
so. The thresholds were chosen on written exercises whose places the model was not trained on (docs/quality.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from dragoman.core.values import Context, Draft, Evidence
from dragoman.decision.bearing import Bearing
from dragoman.decision.cases.alternatives import alternative
from dragoman.decision.joint import Option, distinct
from dragoman.decision.judge import BEARS_FROM, SUPPOSED, Reading, SentenceJudge, question_of
from dragoman.decision.questions import stemmed
from dragoman.decision.relations import is_replaced
from dragoman.decision.values import Decision, Verdict
from dragoman.reader.compose import Answer, is_said
from dragoman.reader.decide import may_ask
from dragoman.reader.judge_choice import with_exception
from dragoman.reader.phrases import NEAREST, phrase
from dragoman.text import lazy_re as re
from dragoman.text.question_kind import question_kind

MOST_READ = 8
"""How many sentences the model reads for a turn; each takes some milliseconds."""
_SILENT = 0.3
"""Below which the best sentence is only the closest that was found."""
_SPEAKS_ALONE = 0.15
"""How probable it must be that a sentence answers without any fact for code to decide by it all the same."""
_SURE: Mapping[Verdict, float] = {"yes": 0.55, "no": 0.55, "unknown": 0.45}
"""How probable a verdict must be to be said."""
_WITHOUT_QUESTION = 0.7
"""How probable `unknown` must be where no missing fact is known to ask for: "Does this apply to you?" says little."""
_OUTWEIGHS = 0.6
"""How probable the opposite of what code decided must be to be said instead: then it is right two times in three."""
_AS_WELL = 0.15
"""How much less than the best a sentence by which code decided may answer."""
_ANSWERS = 0.4
"""How probable it must be that the closest sentence answers for it to be quoted without a doubt."""
_BETTER = 0.3
"""How much likelier than the rules' sentence for a value another must answer to be quoted instead."""
_BY_RANK, _BY_RANK_ALONE = 0.5, 1.5
"""What the score of the ranking weighs beside how probably a sentence answers; more where nothing is known of the user,
since the ranking was made for such questions."""
_ASKS = 0.2
"""How probable it must be that a fact is missing for code to ask for it."""
_DECIDES = 0.1
"""How much likelier a fact must make a verdict to be named as its reason."""
_ASKS_FOR_MORE = re.compile(r"\b(?:what|which|where|when|who|whom|whose|why|how)\b", re.IGNORECASE)
"""Words of a question that yes or no does not answer."""


class TrainedJudge:
    """Judges by a trained part of kind `joint`; a best sentence less probable than `silent` is only the closest."""

    def __init__(self, part: str, bearing: Bearing | None = None, *, silent: float = _SILENT) -> None:
        self._judge = SentenceJudge(part, bearing)
        self._silent = silent

    def judge(
        self,
        context: Context,
        options: Sequence[Option],
        facts: Sequence[Evidence],
        draft: Draft,
        *,
        least: float = 0.0,
    ) -> Answer | None:
        """Return an answer to replace the rules' draft; None if the draft is as good.

        `least` is the least probability with which the best sentence must answer the turn to replace the draft.
        """
        if draft.notes.get("by") == "table":  # comparing all rows is better than reading one
            return None
        if any(_is_settled(each, draft) and is_said(each, draft.text) for each in options):
            return None
        question, is_polar = question_of(context), _is_polar(context.last)
        facts = [fact for fact in facts if not is_replaced(fact.text, question)]
        readings = self._judge.read(question, distinct(options)[:MOST_READ], facts)
        rank = _BY_RANK if facts else _BY_RANK_ALONE
        best = max(readings, key=lambda each: each.score.answers + rank * each.option.score, default=None)
        if best is None or best.score.answers < least:
            return None
        drafted = next((each for each in readings if is_said(each.option, draft.text)), None)
        if drafted is None and draft.notes.get("by") == "code":  # a cell is worded apart from its row
            drafted = best

        def speaks(option: Option) -> bool:
            return self._judge.read(question, [option], ())[0].score.answers >= _SPEAKS_ALONE

        is_silent = best.score.answers < self._silent
        is_good = _is_as_good(draft, drafted, best, speaks if facts else None, is_polar=is_polar)
        if is_good and not (is_silent and is_polar):
            return None
        if is_silent:
            is_meant = drafted is not None and draft.notes.get("by") == "code" and speaks(drafted.option)
            return None if is_meant or draft.method == "said" else Answer(((drafted or best).option,), doubt=True)
        is_left = drafted is not None and not facts and not is_polar and draft.method != "said"
        return self._answer(question, drafted if drafted and is_left else best, facts, is_polar=is_polar)

    def _answer(self, question: str, best: Reading, facts: Sequence[Evidence], *, is_polar: bool) -> Answer:
        """Answer with the verdict on the best sentence, or with the sentence alone."""
        answer = Answer((with_exception(best.option),))
        if not is_polar:
            return _with_own_value(answer, question, facts)
        verdict = _verdict(best)
        return answer if verdict == "none" else self._decided(question, best, verdict, facts)

    def _decided(self, question: str, reading: Reading, verdict: Verdict, facts: Sequence[Evidence]) -> Answer:
        option, own = reading.option, reading.option.decision
        ask = own.ask if verdict == "unknown" and own is not None else ""
        told = [fact for fact in facts if SUPPOSED not in fact.scores]
        used = self._deciding(question, option, verdict, told) if verdict != "unknown" else []
        decision = Decision(
            verdict,
            ask=ask,
            fact=used[0].text if used else "",
            confidence=reading.score.verdict[verdict],
            by="model",
            reason="judged",
        )
        return Answer((with_exception(option),), tuple(used), decision)

    def _deciding(self, question: str, option: Option, verdict: Verdict, facts: Sequence[Evidence]) -> list[Evidence]:
        """Return the fact that is relevant to the sentence and makes the verdict likelier; none if it decides alone."""
        found = self._judge.bearing_on(question, option, facts, verdict)
        sure = [fact for fact, chance, gain in found if chance >= BEARS_FROM and gain >= _DECIDES]
        return sure[:1]


def _with_own_value(answer: Answer, question: str, facts: Sequence[Evidence]) -> Answer:
    """Put the value of the user's group first if the sentence has values for two groups."""
    own = alternative(answer.options[0].sentence, [fact.text for fact in facts], question, stemmed)
    if own is None or not own.text:
        return answer
    used = tuple(fact for fact in facts if fact.text == own.fact)
    return replace(answer, facts=used, opening=phrase("value-own", "en", value=own.text))


def _is_polar(turn: str) -> bool:
    """Whether a turn is answered by yes or no: a question for it, or a conclusion ("So I pay half.")."""
    kind = question_kind(turn)
    return kind == "polar" or (kind == "open" and _ASKS_FOR_MORE.search(turn) is None)


def _verdict(reading: Reading) -> Verdict:
    """Return the likeliest of yes, no and unknown if it is sure enough; else none."""
    chances, own = reading.score.verdict, reading.option.decision
    best = max(_SURE, key=lambda verdict: chances[verdict])
    can_ask = own is not None and bool(own.ask)
    least = _SURE[best] if best != "unknown" or can_ask else _WITHOUT_QUESTION
    return best if chances[best] >= least and (best != "unknown" or _may_ask(reading.option)) else "none"


def _is_as_good(
    draft: Draft, drafted: Reading | None, best: Reading, speaks: Callable[[Option], bool] | None, *, is_polar: bool
) -> bool:
    """Whether the rules' draft is as good as the judge's best sentence.

    A verdict by code is if the judge does not contradict it, and a value nearly always is: rules and tables choose
    values better among sentences that all answer the question. `speaks` says whether a sentence answers it without any
    fact; it is None if no fact is known.
    """
    if draft.method == "said":
        return False
    if draft.notes.items() >= NEAREST.items():  # without a fact, a doubt goes only where its own sentence answers
        return not is_polar and speaks is None and (drafted is None or drafted.score.answers < _ANSWERS)
    if drafted is None:
        return not is_polar
    behind = best.score.answers - drafted.score.answers
    chances, decided = drafted.score.verdict, draft.notes.get("decision")
    chance = next((chance for verdict, chance in chances.items() if verdict == decided), 0.0)
    if decided == "unknown":
        return chance >= _ASKS and behind < _AS_WELL
    if not is_polar:
        return behind < _BETTER or speaks is None or speaks(drafted.option)
    against = chances["no" if decided == "yes" else "yes"]
    return draft.notes.get("by") == "code" and behind < _AS_WELL and against < _OUTWEIGHS


def _is_settled(option: Option, draft: Draft) -> bool:
    """Whether code settled the decision that the draft gives."""
    own = option.decision
    return own is not None and own.is_settled and own.verdict == draft.notes.get("decision")


def _may_ask(option: Option) -> bool:
    """Whether the fact that a rule lacks may be asked for; a user's body, for example, may not."""
    return option.decision is None or not option.decision.ask or may_ask(option.decision)
