"""A small trained model as judge: it reads the question, the user's facts and each of the best sentences together.

The rules of `reader.decide` decide what code can compare. This judge reads what they leave open: which sentence speaks
to the question, and whether it says yes, says no or depends on something that the user has not told. The reply is
composed from that sentence, the fact that decides and the verdict. Where no sentence speaks to the question, the reply
says that the documents do not.
The thresholds were chosen on written exercises whose places the model was not trained on (docs/quality.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dragoman.core.values import Context, Draft, Evidence
from dragoman.decision.bearing import Bearing
from dragoman.decision.cases.alternatives import alternative
from dragoman.decision.groups import effect
from dragoman.decision.joint import Option, distinct
from dragoman.decision.judge import BEARS_FROM, Reading, SentenceJudge, question_of, whole_turn
from dragoman.decision.questions import stemmed
from dragoman.decision.relations import is_replaced, user_values, with_relations
from dragoman.decision.tables.cells import read_row
from dragoman.decision.tables.rows import flag
from dragoman.decision.values import Decision, Verdict
from dragoman.reader.compose import Answer, is_said
from dragoman.reader.decide import may_ask
from dragoman.reader.judge_choice import with_exception
from dragoman.reader.phrases import NEAREST, phrase
from dragoman.text.claims import negated
from dragoman.text.question_kind import question_kind

MOST_READ = 6
"""How many sentences the model reads for a turn; each takes some milliseconds."""
_SPEAKS = 0.2
"""How probable it must be that a sentence speaks to the question for its verdict to be said."""
_FROM_AFAR = 0.5
"""The same for a sentence that stands further behind by its words."""
_SURE: Mapping[Verdict, float] = {"yes": 0.65, "no": 0.6, "unknown": 0.45}
"""How probable a verdict must be to be said."""
_WITHOUT_QUESTION = 0.7
"""How probable `unknown` must be where no missing fact is known to ask for: "Does this apply to you?" says little."""
_OUTWEIGHS = 0.7
"""How probable the opposite of what code decided must be to be said instead: then it is right four times in five."""
_SUPPORTS = 0.4
"""How probable what code decided must be to be said: below, it is right half of the time, and the rule is quoted."""
_ASKS = 0.2
"""How probable it must be that a fact is missing for code to ask for it."""
_CLOSE = 0.4
"""How much less likely than the best another sentence may answer, and be read beside it without the facts."""
_SILENT = 0.1
"""Below which the best sentence is only the closest that was found."""
_BETTER = 0.3
"""How much likelier than the rules' own sentence another must answer to be quoted instead."""
_ANSWERS = 0.4
"""From which probability on a sentence is quoted as the answer though the rules doubt it."""
_IDLE = 0.15
"""How much less a sentence counts to a yes-or-no question that lets, refuses, asks and compares nothing."""
_AS_WELL = 0.15
"""How much likelier another sentence than the rules' own must answer for a question back to be about it."""
_DECIDES = 0.1
"""How much likelier a fact must make a verdict to be named as its reason."""


def _verdict(reading: Reading) -> Verdict:
    """The likeliest of yes, no and unknown, where it is sure enough; else none."""
    chances = reading.score.verdict
    best = max(_SURE, key=lambda verdict: chances[verdict])
    own = reading.option.decision
    asks = best != "unknown" or (own is not None and own.ask)
    least = _SURE[best] if asks else max(_SURE[best], _WITHOUT_QUESTION)
    return best if reading.score.answers >= _SPEAKS and chances[best] >= least else "none"


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
        """The answer in place of what the rules drafted; None where the draft is as good.

        `least` is how probable it must be that the best sentence speaks to the turn for anything to be changed.
        """
        if draft.notes.get("by") == "table":  # a comparison of all rows says more than one row
            return None
        if any(
            _is_settled(each, str(draft.notes.get("decision", ""))) and is_said(each, draft.text) for each in options
        ):
            return None
        question = question_of(context)
        facts = [fact for fact in facts if not is_replaced(fact.text, question)]
        readings = self._read(question, distinct(options), facts, widely="decision" not in draft.notes)
        best = self._best(question, readings, facts, whole_turn(context, question)) if readings else None
        if best is None or best.score.answers < least:
            return None
        said = [each for each in readings if is_said(each.option, draft.text)]
        drafted = said[0] if said else None
        polar = question_kind(context.last) == "polar"
        # Where a value is asked for and the user has told nothing, the rules and tables choose better.
        judges = polar or bool(facts)
        is_elsewhere = judges and drafted is not None and self._speaks_less(question, drafted, best, facts)
        if draft.notes.get("by") == "code" and not is_elsewhere:
            return self._outweighed(question, draft, drafted or best, best, facts)
        verdict = _verdict(best)
        if verdict == "unknown" and drafted is not None and best.score.answers - drafted.score.answers < _AS_WELL:
            # Of two sentences that answer as well, the rules' own is what it depends on.
            best, verdict = drafted, _verdict(drafted)
        if verdict == "unknown" and (_is_decided_by_a_fact(best.option) or (not polar and "fact" in draft.notes)):
            verdict = "none"  # the rules know what the model misses
        if verdict != "none" and (verdict != "unknown" or _may_ask(best.option)):
            return self._decided(question, best, verdict, facts)
        is_padded = judges and best in said and any(self._speaks_less(question, each, best, facts) for each in said)
        alone = Answer((with_exception(best.option),)) if least or is_elsewhere or is_padded else None
        answer = alone or _quoted(context, draft, drafted, best, self._silent)
        return answer if polar or answer is None or answer.doubt else _with_own_value(answer, question, facts)

    def _read(
        self, question: str, options: Sequence[Option], facts: Sequence[Evidence], *, widely: bool
    ) -> list[Reading]:
        """The best sentences as they are read; `widely`, where none speaks, also the next, of which one must answer."""
        readings = self._judge.read(question, options[:MOST_READ], facts)
        if not readings or not widely or max(each.score.answers for each in readings) >= _SPEAKS:
            return readings
        plain = [option for option in options[MOST_READ:] if read_row(option.sentence) is None]
        further = self._judge.read(question, plain[:MOST_READ], facts)
        return readings + [each for each in further if each.score.answers >= _FROM_AFAR]

    def _speaks_less(self, question: str, one: Reading, best: Reading, facts: Sequence[Evidence]) -> bool:
        """Whether a sentence speaks to the question much less than the best one, and without the facts hardly.

        A fact draws rules of its own matter to every question: what a user said of their hens, the rule about hens.
        """
        if one is best or best.score.answers - one.score.answers < _BETTER or _is_settled(one.option):
            return False
        return not facts or self._judge.read(question, [one.option], ())[0].score.answers < _SPEAKS

    def _best(self, question: str, readings: Sequence[Reading], facts: Sequence[Evidence], whole: str) -> Reading:
        """The reading that answers best; of several, the one that also answers the `whole` turn without the facts.

        A dog that the user has told of draws rules about dogs to a question about bicycles.
        """
        most = max(reading.score.answers for reading in readings)
        near = [reading for reading in readings if reading.score.answers >= most - _CLOSE]
        polar = question_kind(question) == "polar"
        idle = {id(each): polar * _idleness(each.option, question, facts) for each in near}
        if len(near) < 2 or not facts:
            return max(near, key=lambda each: each.score.answers - idle[id(each)])
        bare = self._judge.read(whole, [reading.option for reading in near], ())
        pairs = zip(near, bare, strict=True)
        return max(pairs, key=lambda pair: pair[0].score.answers + pair[1].score.answers - 2 * idle[id(pair[0])])[0]

    def _outweighed(
        self, question: str, draft: Draft, drafted: Reading, best: Reading, facts: Sequence[Evidence]
    ) -> Answer | None:
        """Where the model is sure of the opposite of what code decided, that; where it doubts it, a rule alone.

        That is the rule by which code decided, or the `best` one where that answers much better.
        """
        reading = best
        chances, own = reading.score.verdict, reading.option.decision
        decided = next((verdict for verdict in chances if verdict == draft.notes.get("decision")), None)
        if decided is None:
            return None
        if own is not None and own.is_settled and own.verdict == decided:
            return None
        against: Verdict = "no" if decided == "yes" else "yes"
        if decided == "unknown":
            against = "yes" if chances["yes"] > chances["no"] else "no"
        if reading.score.answers >= _SPEAKS and chances[against] >= _OUTWEIGHS:
            return self._decided(question, reading, against, facts)
        if chances[decided] < (_ASKS if decided == "unknown" else _SUPPORTS):
            is_better = best.score.answers - drafted.score.answers >= _BETTER
            return Answer((with_exception((best if is_better else drafted).option),))
        return None

    def _decided(self, question: str, reading: Reading, verdict: Verdict, facts: Sequence[Evidence]) -> Answer:
        option, own = reading.option, reading.option.decision
        ask = own.ask if verdict == "unknown" and own is not None else ""
        used = self._deciding(question, option, verdict, facts) if verdict != "unknown" else []
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
        """The fact that bears on the sentence and makes the verdict likelier; none where the sentence decides alone."""
        found = self._judge.bearing_on(question, option, facts, verdict)
        sure = [fact for fact, chance, gain in found if chance >= BEARS_FROM and gain >= _DECIDES]
        return sure[:1]


def _with_own_value(answer: Answer, question: str, facts: Sequence[Evidence]) -> Answer:
    """The answer with the value of the user's group first, where its sentence gives one for each of two."""
    own = alternative(answer.options[0].sentence, [fact.text for fact in facts], question, stemmed)
    if own is None or not own.text:
        return answer
    used = tuple(fact for fact in facts if fact.text == own.fact)
    return replace(answer, facts=used, opening=phrase("value-own", "en", value=own.text))


def _is_decided_by_a_fact(option: Option) -> bool:
    return option.decision is not None and option.decision.verdict in ("yes", "no") and bool(option.decision.fact)


def _is_settled(option: Option, verdict: str | None = None) -> bool:
    """Whether code decided a sentence for good, with a certain verdict if one is given."""
    own = option.decision
    return own is not None and own.is_settled and verdict in (None, own.verdict)


def _idleness(option: Option, question: str, facts: Sequence[Evidence]) -> float:
    """How much less an idle sentence counts; a row of a table says yes or no more rarely."""
    if not _is_idle(option, question, facts):
        return 0.0
    return _IDLE if read_row(option.sentence) is None else 2 * _IDLE


def _is_idle(option: Option, question: str, facts: Sequence[Evidence]) -> bool:
    """Whether a sentence lets, refuses, asks and compares nothing: where a house stands says neither yes nor no."""
    text = with_exception(option).sentence
    row = read_row(text)
    if row is not None and any(flag(value) is not None for _, value in row.cells):
        return False
    if effect(text.lower()) != "none" or negated(text):
        return False
    asked = question if row is None else ""  # the day of a question stands in rows of all kinds
    return with_relations(text, user_values([fact.text for fact in facts], asked)) == text


def _may_ask(option: Option) -> bool:
    """Whether what a rule lacks may be asked for: nobody is asked about their body, and days the rule itself names."""
    return option.decision is None or not option.decision.ask or may_ask(option.decision)


def _quoted(context: Context, draft: Draft, drafted: Reading | None, best: Reading, silent: float) -> Answer | None:
    """The sentence to quote where no verdict is said; None where the rules' own is as good."""
    answers = best.score.answers
    if draft.method == "said":  # the rules found nothing
        return Answer((with_exception(best.option),)) if answers >= _SPEAKS else None
    if answers < silent:
        return Answer(((drafted or best).option,), doubt=True)
    if draft.notes.items() >= NEAREST.items() and answers >= _ANSWERS:
        if drafted is not None and drafted.score.answers >= _ANSWERS:
            return Answer((with_exception(drafted.option),))
        if drafted is None or question_kind(context.last) == "polar":
            return Answer((with_exception(best.option),))
    # Where a value is asked for, the rules and tables choose better among sentences that all speak to it.
    if drafted is None or question_kind(context.last) != "polar" or answers - drafted.score.answers < _BETTER:
        return None
    return Answer((with_exception(best.option),))
