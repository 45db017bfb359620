"""Decide what a reply says: which rule of the documents, which facts about the user, and what follows from both."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from dragoman.core.values import Context, Evidence
from dragoman.decision.applies import applies
from dragoman.decision.cases.alternatives import alternative
from dragoman.decision.cases.exceptions import takes_back
from dragoman.decision.choose import POINTS_BACK, Analyse
from dragoman.decision.groups import GENERAL, by_group, effect, is_for_others, roots
from dragoman.decision.joint import FURTHEST, SAID_FROM, Option, distinct
from dragoman.decision.prices import prices_in
from dragoman.decision.questions import question as read_question
from dragoman.decision.questions import shares_topic, stemmed
from dragoman.decision.subjects import USER, people, subject_of_question
from dragoman.decision.tables.cells import (
    about,
    read_row,
    row_verdict,
    whom,
)
from dragoman.decision.tables.lists import pick_points
from dragoman.decision.times.waiting import WAITED
from dragoman.decision.values import Decision
from dragoman.reader.compose import Answer
from dragoman.reader.decide_chinese import decide_chinese
from dragoman.reader.decide_tables import best_row, by_own_group, by_table, fitting, of_those_said, own_row
from dragoman.reader.judge_choice import with_exception
from dragoman.reader.menu import fitting_dishes
from dragoman.reader.phrases import phrase
from dragoman.reader.reductions import with_reduction
from dragoman.text.ask_back import is_askable
from dragoman.text.claims import negated
from dragoman.text.language import language
from dragoman.text.query import standalone
from dragoman.text.question_kind import QuestionKind, question_kind
from dragoman.text.second_person import second_person
from dragoman.text.sentences import sentences

_CONSIDERED = 12
_NEAR = 0.4
"""How far below the best option's score a rule may stand to be considered too."""
_BEARS_TOO = 0.5
"""From which probability on a fact bears on the sentence after the rule as well."""
_ANSWERS = 0.35
"""From which probability on a sentence is taken to answer, so that what it lacks may be asked for."""
_CLOSE = 0.15
"""How far below the best option's score a sentence may stand to be said beside it, or to be decided by its words."""
_FOR_OTHERS = 0.25
"""How much less a rule's score counts that names a group of others."""
_LEAST_OF_LIST = 0.7
"""How much of the floor is asked of a list whose points are compared: each of them says little by itself."""
_PERSONAL_FLOOR = 0.5
"""How much of the floor is asked of a sentence on which a fact about the user bears."""
_AS_CLOSE = 0.06
"""The same where no fact bears on either sentence."""
_DOUBTFUL = 0.35
"""Below which probability the best sentence is only the closest that was found."""
_DOUBTFUL_OF_PERSONAL = 0.2
"""The same where a fact about the user bears on it, which is one more reason that it is meant."""
_PLAIN = 0.6
"""From which confidence on a rule is taken that code decides without a fact."""
_NOT_ASKED = frozenset(
    {"pregnancy", "disability", "allergy", "diet", "health", "condition", "unemployment"}
    | {"date", "time", "weekday", "half_of_day", "duration"}
)
"""What nobody is asked about: a person's body and means, and days and times, for which the rule itself says more."""


_MEASURED = re.compile(r"(?:[\d.]+ <= )?(?:age|height|weight|length)\b")
_GROUP = re.compile(
    r"(?>(?:but |however,? |except (?:for )?|only |for |all |the )*)(?P<group>[^,.;:]{3,40}?),? "
    r"(?:who|whose|that|are|is|may|can|pay|pays|get|gets|need|needs|have|has|with|under|over|it|one)\b",
    re.IGNORECASE,
)
"""For whom an exception is made: "exchange students whose stay ends"."""
_OF_THE_PLAN = frozenset({"count", "duration", "since", "amount", "currency", "length", "volume"})
"""What is only asked for where the rule that lacks it answers best."""


@dataclass(frozen=True, slots=True)
class _Judged:
    option: Option
    decision: Decision


def decide(
    context: Context, options: Sequence[Option], facts: Sequence[Evidence], *, floor: float, analyse: Analyse
) -> Answer | None:
    """Return the answer to a question; None if nothing about the user matters to it, so that quoting is better.

    Options that answer with a probability below `floor` are ignored, except those from the best option's passage, since
    rules on one subject stand together.
    """
    if language(context.last) == "zh":
        return decide_chinese(context, options, facts, floor=floor, may_ask=may_ask)
    facts = sorted(facts, key=lambda fact: fact.passage.position)  # oldest first: the newest wins
    search = standalone(context)
    question = search.text
    titles = Counter(root for title in {o.evidence.passage.title for o in options} for root in roots(analyse(title)))
    common = GENERAL | {root for root, count in titles.items() if count > 1}
    # A follow-up inherits its subject from the turn before; what it asks for is in its own words.
    asked_roots = roots(analyse(context.last)) - common or roots(analyse(question)) - common
    kind = question_kind(context.last)
    asked = " ".join(context.last.split())
    polar = kind == "polar"
    carried = search.is_follow_up and polar
    known = asked_roots.union(*(roots(analyse(fact.text)) for fact in facts))
    ranked = [
        option
        for option in distinct(_without_others(options, known, analyse))
        if _speaks_of(option, question, asked_roots, 1.0 if carried else floor, analyse, polar=polar)
    ]
    if ranked and ranked[0].bears >= SAID_FROM:
        floor *= _PERSONAL_FLOOR
    listed = of_those_said(context, options) or fitting(asked, options, facts)
    listed = listed or _listed(context, options, facts, floor, analyse)
    if listed is None and kind != "polar":
        listed = best_row(question, options, analyse)
    if listed is not None:
        return listed
    if not ranked or ranked[0].probability < floor:
        return None
    best = ranked[0]
    near = [
        option
        for option in ranked
        if (option.probability >= floor and option.score >= best.score - _NEAR)
        or option.evidence.id == best.evidence.id
    ][:_CONSIDERED]
    if kind == "polar":  # waiting times count even if their sentence ranks low
        near += [option for option in distinct(options) if option not in near and _is_waited_for(option)]
    if kind != "polar":
        turn = search.turn if search.is_follow_up else ""
        table = by_own_group(near, options, facts, question, analyse) or by_table(
            near, facts, question, analyse, turn=turn
        )
        if table is None and facts:
            table = own_row(near, facts, question, analyse)
        if table is not None:
            return table if table.compared else with_reduction(table, options, facts, question, analyse)
    said = [turn.text for turn in context.turns if turn.speaker == "user"]
    everyone = people([*(fact.text for fact in facts), *said])
    names = {*everyone.names, *subject_of_question(asked, everyone)}
    judged = [
        _Judged(option, _decision(option, asked, facts if option.score >= best.score - _CLOSE else (), kind))
        for option in near
    ]
    judged = [each if _may_say(each, asked, names) else _Judged(each.option, Decision("none")) for each in judged]
    if kind == "polar":
        chosen = _polar(judged, facts, asked)
    else:
        chosen = _alternative(near, facts, asked, analyse) or (
            _choice(judged, facts) if kind == "choice" else _valued(judged, facts, question, analyse, turn=asked)
        )
    if chosen is not None:
        return chosen if kind == "polar" else with_reduction(chosen, options, facts, question, analyse)
    return _closest(near, asked_roots, analyse) if facts else None


def _listed(
    context: Context, options: Sequence[Option], facts: Sequence[Evidence], floor: float, analyse: Analyse
) -> Answer | None:
    """Answer with points of a list: those that suit the user, or those asked for, such as the cheapest or free ones."""
    dishes = fitting_dishes(context.last, options, facts) if facts else None
    if dishes is not None or not options or question_kind(context.last) == "polar":
        return dishes
    best = options[0]
    chosen = (
        pick_points(standalone(context).text, best.evidence.text, analyse, heading=_heading(best))
        if best.probability >= floor * _LEAST_OF_LIST
        else []
    )
    picked = tuple(replace(best, sentence=text, fact=None) for text in chosen)
    return Answer(picked, compared=True) if chosen else None


def _heading(option: Option) -> str:
    passage = option.evidence.passage
    return passage.headings[-1] if passage.headings else passage.title


def _without_others(options: Sequence[Option], known: frozenset[str], analyse: Analyse) -> list[Option]:
    """Lower the score of rules for groups that the user is not known to belong to."""
    others = {option.sentence for option in options if is_for_others(option.sentence, known, analyse)}
    return [
        replace(option, score=option.score - _FOR_OTHERS) if option.sentence in others else option for option in options
    ]


def _speaks_of(
    option: Option, question: str, asked: frozenset[str], floor: float, analyse: Analyse, *, polar: bool
) -> bool:
    """Whether a sentence is about the question, and not only related to a fact about the user.

    It is if it answers well by itself, if it or its headings share a word with the question, if it is the user's row of
    a table, or if it gives a price or reduction that is asked for.
    """
    if option.quote is None or option.quote.probability >= floor or not asked:
        return True
    is_row = read_row(option.sentence) is not None
    decision = option.decision
    if decision is not None and decision.fact and (is_row or floor < 1.0 or _MEASURED.match(decision.reason)):
        return True
    if read_question(question).target in ("price", "pay", "discount", "free"):
        return effect(option.sentence.lower()) in ("reduce", "waive", "require")
    headings = option.evidence.passage.headings
    # A title names the subject of a whole document: enough to rank its sentences, too little for yes or no.
    path = headings[-1:] if polar else (option.evidence.passage.title, *headings)
    if asked & roots(analyse(" ".join((*path, _in_place(option).sentence)))):
        return True
    return option.bears >= SAID_FROM and floor < 1.0 and shares_topic(question, option.sentence)


def _may_say(judged: _Judged, question: str, names: Iterable[str]) -> bool:
    """Whether a decision's question back is about the user or their people and things, and not about a ship's age."""
    ask = judged.decision.ask
    return not ask or is_askable(ask, question=question, people=names, documents=judged.option.evidence.text)


def _closest(near: Sequence[Option], asked: frozenset[str], analyse: Analyse) -> Answer:
    """Answer an undecided question with the best sentence and, if there is one, another nearly as good."""
    best = near[0]
    personal = any(option.bears >= SAID_FROM for option in near[:2])
    least = best.score - (_CLOSE if personal else _AS_CLOSE)
    own = max(option.own for option in near) - FURTHEST
    beside = [
        option
        for option in near[1:]
        if option.score >= least
        and option.own >= own
        and read_row(option.sentence) is None
        and not option.sentence.rstrip().endswith("?")
        and asked & roots(analyse(option.sentence))  # it must speak of what is asked, not only of the user
    ]
    said = [best, *beside][:2] if beside else [_own_part(with_exception(best), asked, analyse)]
    bearing = [option.fact for option in said if option.fact is not None and option.bears >= SAID_FROM]
    facts = {fact.id: fact for fact in bearing}
    doubt = max(option.probability for option in said) < (_DOUBTFUL_OF_PERSONAL if bearing else _DOUBTFUL)
    return Answer(tuple(map(_in_place, said)), () if doubt else tuple(facts.values()), doubt=doubt)


def _decision(option: Option, question: str, facts: Sequence[Evidence], kind: QuestionKind) -> Decision:
    """Decide by code if possible, else by the group that the rule names.

    `facts` are those that may decide by their words; none for an option that only its numbers can decide.
    """
    decision = option.decision or Decision("none")
    if decision.verdict != "none" or kind != "polar":
        return decision
    if not facts:
        lacking = _by_topic(question, (), option) if read_row(option.sentence) is not None else None
        return lacking if lacking is not None and lacking.verdict == "unknown" else decision
    texts = [fact.text for fact in facts]
    named = by_group(question, texts, option.sentence) or _by_topic(question, texts, option)
    if named is not None:
        return named
    return decision


def _is_waited_for(option: Option) -> bool:
    """Whether code compared a waiting time with a fact, or only lacks the date from which to count."""
    return option.decision is not None and option.decision.reason.startswith(WAITED)


def _by_topic(question: str, facts: Sequence[str], option: Option) -> Decision | None:
    """Decide by code a rule that was ranked for the question although they share few words."""
    if read_question(question).target != "permit":
        return None
    row = read_row(option.sentence)
    if row is not None:
        found = row_verdict(option.sentence, facts, question)
        named = any(word in stemmed(question) for word in stemmed(row.label))
        if found is not None and (found.verdict != "unknown" or named):
            return found
    decision = applies(option.sentence, facts, about(facts, question))
    return decision if decision.verdict in ("yes", "no") and decision.fact else None


def _polar(judged: Sequence[_Judged], facts: Sequence[Evidence], asked: str) -> Answer | None:
    """Yes or no. Every rule must be met, so a refusal outweighs a permission.

    A rule decided by a fact of the user's counts at any rank. A rule decided by its words alone, or one that lacks a
    fact, counts only if it is the best sentence.
    """
    best = judged[0]
    told = {fact.text for fact in facts}
    by_fact = [
        each
        for each in judged
        if each.decision.fact in told
        and each.decision.verdict in ("yes", "no")
        # A table row decides about its own subject only.
        and (each is best or read_row(each.option.sentence) is None)
    ]
    # A comparison by code is surer than a model's reading, and a sentence says more than a table row.
    by_fact.sort(
        key=lambda each: (
            each.decision.by != "code",
            each.option.decision is None or each.option.decision.verdict == "none",
            read_row(each.option.sentence) is not None,
        )
    )
    # A refusal from another passage that answers much worse is about another subject.
    refusals = [
        each
        for each in by_fact
        if each.decision.verdict == "no"
        and (
            best.decision.verdict != "yes"
            or each.option.score >= best.option.score - _CLOSE
            or each.option.evidence.id == best.option.evidence.id
        )
    ]
    if refusals:
        return _answer(refusals[:1], facts)
    waiting = [each for each in judged if _is_waited_for(each.option) and each.decision.verdict == "unknown"]
    if waiting:
        return _answer(waiting[:1], facts)
    by_fact = [each for each in by_fact if each.decision.verdict == "yes"]
    by_fact = [_with_next(each, judged) for each in by_fact[:1]] + by_fact[1:]
    if _is_open(best):
        return _answer([best], facts)
    plain = best.decision
    is_plain = plain.verdict in ("yes", "no") and plain.confidence >= _PLAIN and best.option.probability >= _ANSWERS
    by_words = bool(by_fact) and (by_fact[0].option.decision or Decision("none")).verdict == "none"
    if by_fact and not (is_plain and by_words):
        return _answer(by_fact[:1], facts)
    if is_plain:
        return _answer([best], facts)
    # If a nearly best rule only lacks a fact, ask for it rather than quote a rule that decides nothing.
    lacking = [
        each
        for each in judged[1:]
        if each.option.score >= best.option.score - (_NEAR if _asks_for_named(each, asked) else _CLOSE)
        and _lacks_a_fact(each)
        and each.decision.missing not in _OF_THE_PLAN
    ]
    return _answer(lacking[:1], facts) if lacking and best.decision.verdict == "none" else None


def _with_next(each: _Judged, judged: Sequence[_Judged]) -> _Judged:
    """Append the sentence after a permission if the same fact matters to it too."""
    option = each.option
    after = [other.option for other in judged if other.option.sentence == option.following and option.following]
    if not after or after[0].evidence.id != option.evidence.id or after[0].bears < _BEARS_TOO:
        return each
    return replace(each, option=replace(option, sentence=f"{option.sentence} {option.following}", following=""))


def _alternative(near: Sequence[Option], facts: Sequence[Evidence], asked: str, analyse: Analyse) -> Answer | None:
    """Return the value of the user's group if the best sentence has values for two groups, or ask for the group."""
    best = near[0]
    own = alternative(best.sentence, [fact.text for fact in facts], asked, analyse)
    if own is None:
        return None
    if own.ask:
        reason = "a value for each of two groups"
        lacking = Decision("unknown", missing="group", ask=own.ask, reason=reason, confidence=_PLAIN, is_settled=True)
        asks = best.probability >= _ANSWERS
        return Answer((replace(best, decision=lacking),), decision=lacking) if asks else None
    used = tuple(fact for fact in facts if fact.text == own.fact)
    return Answer((best,), used, opening=phrase("value-own", "en", value=own.text), compared=True)


def _choice(judged: Sequence[_Judged], facts: Sequence[Evidence]) -> Answer | None:
    """Answer "which one?" by the options that apply to the user, else by the best one that is not ruled out."""
    told = {fact.text for fact in facts}
    fitting = [each for each in judged if each.decision.verdict == "yes" and each.decision.fact in told]
    if fitting:
        return replace(_answer(fitting[:2], facts), decision=None)
    # "Rooms 1 to 4 are wide enough for a wheelchair, but there is no lift" is what a wheelchair user wants to know.
    open_options = [each for each in judged if each.decision.verdict != "no" or each.option.shares]
    if len(open_options) < len(judged) and open_options:
        best = open_options[0].option
        return Answer((best,), (best.fact,) if best.fact and best.bears >= SAID_FROM else ())
    return None


def _valued(
    judged: Sequence[_Judged], facts: Sequence[Evidence], asked: str, analyse: Analyse, *, turn: str
) -> Answer | None:
    """Return a rule that applies to the user by one of their facts, preferably one with a value such as a price."""
    told = {fact.text for fact in facts}
    fitting = [each for each in judged if each.decision.verdict == "yes" and each.decision.fact in told]
    if fitting:
        chosen = next((each for each in fitting if each.decision.value), fitting[0])
        opening = _price_first(chosen, whom([fact.text for fact in facts], asked))
        return replace(_answer([chosen], facts), decision=None, opening=opening)
    best = judged[0]
    if _is_open(best):
        return _answer([best], facts)
    return _excepted(best.option, facts, turn, analyse)


def _excepted(option: Option, facts: Sequence[Evidence], asked: str, analyse: Analyse) -> Answer | None:
    """Return the exception after a rule if it names a group that the user belongs to by a fact."""
    group = _GROUP.match(option.following) if takes_back(option.sentence, option.following) else None
    if group is None:
        return None
    named = analyse(group["group"])
    # "Exchange students": the first word distinguishes the group.
    own = roots(named[:-1] or named) - roots(analyse(option.sentence)) - roots(analyse(asked)) - GENERAL
    about_whom = subject_of_question(asked, people([fact.text for fact in facts]))
    for fact in reversed(facts):
        theirs = about_whom == USER or any(key in fact.text.lower() for key in about_whom)
        if own and own <= roots(analyse(fact.text)) and not negated(fact.text) and theirs:
            return Answer((replace(option, sentence=option.following, following=""),), (fact,), compared=True)
    return None


def _price_first(judged: _Judged, person: str) -> str:
    """Return this person's price if the rule names more than one; empty otherwise, or without a currency."""
    value, sentence = judged.decision.value, judged.option.sentence
    amounts = prices_in(sentence)
    if value == "0":
        return phrase("price-free", "en", whom=second_person(person)) if amounts else ""
    own = next((amount for amount in amounts if amount.number == value), None)
    unit = next((amount for amount in amounts if amount.currency), None)
    if own is None or unit is None or len({amount.number for amount in amounts}) < 2:
        return ""
    return phrase(
        "price-own", "en", whom=second_person(person), amount=own.written or unit.written.replace(unit.number, value)
    )


def _answer(judged: Sequence[_Judged], facts: Sequence[Evidence]) -> Answer:
    by_text = {fact.text: fact for fact in facts}
    used = {each.decision.fact: by_text[each.decision.fact] for each in judged if each.decision.fact in by_text}
    options = tuple(_in_place(with_exception(each.option)) for each in judged)
    return Answer(options, tuple(used.values()), judged[0].decision)


def _own_part(option: Option, asked: frozenset[str], analyse: Analyse) -> Option:
    """Return the part of a sentence for the user: "but the faculties of medicine want C1" for a medical student."""
    before, but, after = option.sentence.partition(", but ")
    if not but or option.fact is None or option.bears < SAID_FROM or negated(after):
        return option
    own = roots(analyse(option.fact.text)) - GENERAL - roots(analyse(before)) - asked
    return replace(option, sentence=f"{after[:1].upper()}{after[1:]}") if own & roots(analyse(after)) else option


def _in_place(option: Option) -> Option:
    """Prepend the sentence before if this one refers back to it, as with "it"."""
    if not POINTS_BACK.search(option.sentence):
        return option
    units = sentences(option.evidence.text)
    place = units.index(option.sentence) if option.sentence in units else 0
    return replace(option, sentence=f"{units[place - 1]} {option.sentence}") if place else option


def _is_open(judged: _Judged) -> bool:
    """Whether a rule clearly answers the question and only one fact is missing that may be asked for."""
    return _lacks_a_fact(judged) and judged.option.probability >= _ANSWERS


def _asks_for_named(judged: _Judged, question: str) -> bool:
    """Whether the missing fact is about something that the question names: "our puppy", "How old is your puppy?"."""
    whose = re.search(r"\b(?:your|my|our) (?:\w+ )?(\w+)\W*$", judged.decision.ask)
    return whose is not None and re.search(rf"\b{re.escape(whose[1])}", question, re.IGNORECASE) is not None


def _lacks_a_fact(judged: _Judged) -> bool:
    decision = judged.decision
    is_row = read_row(judged.option.sentence) is not None
    return decision.verdict == "unknown" and may_ask(decision) and (not is_row or decision.missing == "age")


def may_ask(decision: Decision) -> bool:
    """Whether the missing fact may be asked for: not about a person's body or means."""
    return bool(decision.ask) and decision.missing not in _NOT_ASKED
