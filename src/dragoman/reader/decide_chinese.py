"""Decide what a reply in Chinese says. The default encoder and the trained scorer read English, so code decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from dragoman.core.values import Context, Evidence
from dragoman.decision.cases.exceptions import takes_back
from dragoman.decision.chinese.applies import OUTSIDE, Target, is_exception, target
from dragoman.decision.chinese.rules import rule_clauses
from dragoman.decision.chinese.tables import cell, extreme, fits, fitting_rows, inline_options, named_row
from dragoman.decision.chinese.words import content, shares, tokens
from dragoman.decision.joint import Option
from dragoman.decision.numerals import normalise
from dragoman.decision.tables.cells import Row, read_row, row_sentence
from dragoman.decision.tables.rows import pick
from dragoman.decision.values import Decision
from dragoman.reader.compose import Answer
from dragoman.text import lazy_re as re
from dragoman.text.form import form
from dragoman.text.query import standalone
from dragoman.text.sentences import sentences

_NEAR = 0.45
"""How far below the best option's score a rule may stand that a fact decides."""
_NEAR_OPEN = 0.35
"""The same for a rule that lacks a fact, which is asked for."""
_AS_GOOD = 0.2
"""The same where a price, a time or a choice is asked for, which a rule for some people rarely answers."""
_ANSWERS = 0.25
_PLAIN = 0.55
_MOST_ROWS = 4
_BETTER = 0.1
_HALF = 0.5
_LOOKED_AT = 8
_SUPERLATIVE = re.compile("最(?!近的|多能|多可|少要)[长短高低贵大小快慢重轻远]|最便宜|最[早晚]的|哪些|几[个条种家班]")
_REDIRECT = re.compile("(?:按|[买购])(?P<as>[^，。买购]{1,6}?)(?P<what>票|价)")
"""Says by what other price somebody pays: "按儿童票", "买优惠票"."""
_SUM = re.compile(r"\d[^，。]{0,3}元|[一二两三四五六七八九十百]元")
_VERB_NOT = re.compile(r"(?P<verb>[开收卖送借租让行])不(?P=verb)")
_ASKED_FIRST = {"age": 0, "height": 1, "count": 2, "weight": 3}
_POLAR = re.compile("能|可以|行|要|让|吗")
MayAsk = Callable[[Decision], bool]


def decide_chinese(
    context: Context, options: Sequence[Option], facts: Sequence[Evidence], *, floor: float, may_ask: MayAsk
) -> Answer | None:
    """The answer to a Chinese question, or None where plain quoting is better."""
    ranked = _by_sentence(options)
    if not ranked:
        return None
    query = standalone(context)
    turn = query.turn
    question, wanted = turn if _POLAR.search(turn) else query.text, target(turn)
    if query.is_follow_up and wanted == "permit" and not _POLAR.search(turn):
        before = _question_before(context)  # "那索道呢？" repeats the question before for something else
        question, wanted = f"{before}，{turn}", target(before)
    texts = tuple(fact.text for fact in facts)
    answer = _by_inline(ranked, facts, question, may_ask) if wanted == "choice" else None
    if answer is None and wanted in ("price", "choice", "other"):
        answer = _by_table(ranked, facts, question, turn, wanted, may_ask)
    if answer is None:
        answer = _by_rule(ranked, facts, question, wanted, floor, may_ask)
    if answer is None and wanted not in ("price", "choice", "other"):
        answer = _by_row(ranked, facts, question, texts, floor)
    return answer


def _question_before(context: Context) -> str:
    """The user's last question before this turn."""
    questions = [turn.text for turn in context.history if turn.speaker == "user" and form(turn.text).act == "question"]
    return questions[-1] if questions else context.last


def _by_sentence(options: Sequence[Option]) -> list[Option]:
    """Keep the first option of each sentence, and sort by score."""
    best: dict[tuple[str, str], Option] = {}
    for option in options:
        key = (option.evidence.id, option.sentence)
        if key not in best:
            best[key] = option
    return sorted(best.values(), key=lambda option: -option.score)


def _by_rule(  # noqa: PLR0917 - one return a reason
    ranked: Sequence[Option], facts: Sequence[Evidence], question: str, wanted: Target, floor: float, may_ask: MayAsk
) -> Answer | None:
    best = ranked[0]
    facts_as_texts = {fact.text for fact in facts}
    decided = [
        option
        for option in ranked
        if option.decision is not None
        and option.decision.verdict in ("yes", "no")
        and option.decision.fact in facts_as_texts
        if option.score >= best.score - _NEAR or _is_of_matter(option, question)
    ]
    decided.sort(key=lambda option: (_rank(option, wanted), -option.score))
    if decided and decided[0].probability >= floor:
        return _answer(decided[0], facts, question, wanted, priced=_priced(decided[0], ranked))
    decision = best.decision
    plain = decision is not None and decision.verdict in ("yes", "no") and not decision.fact
    if plain and wanted not in ("price", "other", "choice") and best.probability >= _PLAIN and _covers(question, best):
        return _answer(best, facts, question, wanted)
    unknown = [
        ((not decision.fact, _ASKED_FIRST.get(decision.missing, len(_ASKED_FIRST))), option, decision)
        for option in ranked
        if (decision := option.decision) is not None and decision.verdict == "unknown" and may_ask(decision)
        if _is_near(option, best, floor) and best.probability >= _ANSWERS
        # For a price or a time, do not ask back because of a rule that answers much worse.
        if wanted not in ("price", "other", "choice") or option.score >= best.score - _AS_GOOD
    ]
    if unknown:
        _, option, missing_fact = min(unknown, key=lambda each: each[0])
        return Answer((replace(option, sentence=_quoted(option)),), (), missing_fact)
    return None


def _by_inline(ranked: Sequence[Option], facts: Sequence[Evidence], question: str, may_ask: MayAsk) -> Answer | None:
    """Answer from options that a sentence lists, unless a table fits the question better."""
    texts = [fact.text for fact in facts]
    lists = [option for option in ranked if inline_options(question, option.sentence, texts) != (None, None)]
    tables = _tables(ranked)
    if not lists:
        return None
    near = shares(
        question, [_path(option) + option.evidence.text for option in (*lists, *(each for each, _ in tables))]
    )
    best = max(range(len(lists)), key=lambda i: near[i])
    if near[best] < max(near):
        return None
    option = lists[best]
    inline, missing = inline_options(question, option.sentence, texts)
    if inline is not None and inline.decision is not None:
        used = tuple(fact for fact in facts if fact.text == inline.decision.fact)
        return Answer((replace(option, sentence=inline.text),), used)
    return Answer((option,), (), missing) if missing is not None and may_ask(missing) else None


def _is_of_matter(option: Option, question: str) -> bool:
    """Whether a rule about the user stands under a heading that the question names."""
    decision = option.decision
    inside = decision is not None and decision.confidence > OUTSIDE
    return inside and any(len(token) > 1 for token in tokens(_path(option)) & tokens(question) if token[0] not in "#@")


def _is_near(option: Option, best: Option, floor: float) -> bool:
    """Whether a rule is near enough to the best one, by score or place, to ask for the fact that it lacks."""
    if option.evidence.id == best.evidence.id and _path(option) == _path(best):
        return True
    return option.score >= best.score - _NEAR_OPEN and option.probability >= floor


def _rank(option: Option, wanted: Target) -> tuple[bool, bool, bool]:
    """Sort key: rules for the user's group first, then refusals if permission is asked; sentences before table rows."""
    decision = option.decision
    permits = decision is not None and decision.verdict != "no"
    outside = decision is not None and decision.confidence <= OUTSIDE and bool(decision.fact)
    return outside, wanted == "permit" and permits, read_row(option.sentence) is not None


def _covers(question: str, option: Option) -> bool:
    """Whether a sentence, with its headings, contains most of the question's words."""
    passage = option.evidence.passage
    asked = content(question)
    held = content(f"{passage.title} {' '.join(passage.headings)} {option.sentence}")
    return len(asked & held) >= _MOST_HELD * len(asked)


_MOST_HELD = 0.7


def _by_row(
    ranked: Sequence[Option], facts: Sequence[Evidence], question: str, texts: Sequence[str], floor: float
) -> Answer | None:
    """Yes or no by the row that the question names: "架子鼓: 最小年龄 7岁"."""
    for option, rows in _tables(ranked):
        if option.probability < floor:
            continue
        named = named_row(question, rows, ())
        if named is None:
            continue
        decision = fits(question, named[0], texts)
        if decision is None or decision.verdict not in ("yes", "no") or decision.fact not in texts:
            continue
        used = tuple(fact for fact in facts if fact.text == decision.fact)
        text = next(row for row in rows if (parsed := read_row(row)) is not None and parsed == named[0])
        return Answer(
            (replace(option, sentence=row_sentence(text)),), used, decision, opening(question, "permit", decision)
        )
    return None


def _tables(ranked: Sequence[Option]) -> list[tuple[Option, list[str]]]:
    """The tables of the best passages, each with the best option of its passage."""
    tables: dict[str, tuple[Option, list[str]]] = {}
    for option in ranked:
        if option.evidence.id in tables:
            continue
        rows = [unit for unit in sentences(option.evidence.text) if read_row(unit) is not None]
        if len(rows) > 1:
            tables[option.evidence.id] = (option, rows)
    return list(tables.values())


def _by_table(  # noqa: PLR0911, PLR0917 - one return a way to read a table
    ranked: Sequence[Option], facts: Sequence[Evidence], question: str, turn: str, wanted: Target, may_ask: MayAsk
) -> Answer | None:
    texts = [fact.text for fact in facts]
    tables = _tables(ranked)
    if not tables:
        return None
    near = shares(question, [f"{_path(option)} {' '.join(rows)}" for option, rows in tables])
    order = sorted(range(len(tables)), key=lambda i: -near[i])
    superlative = _SUPERLATIVE.search(question) is not None
    for i in order:
        option, rows = tables[i]
        if option.score < ranked[0].score - _NEAR and near[i] < near[order[0]]:
            continue
        if superlative:
            choice = pick(question, rows)
            if choice is not None and choice.kind != "count" and 0 < len(choice.rows) <= _MOST_ROWS:
                lines = [row_sentence(row) for row in choice.rows]
                if choice.kind == "superlative" and len(choice.labels) == 1:
                    lines = [f"{choice.labels[0]}：{choice.column}{choice.answer}"]
                return Answer(tuple(replace(option, sentence=line, fact=None) for line in lines), compared=True)
            compared = extreme(question, rows)
            if compared is not None:
                row, column, value = compared
                return Answer((replace(option, sentence=f"{row.label}：{column}{value}", fact=None),), compared=True)
            continue
        if wanted == "choice":
            fitting, missing = fitting_rows(question, rows, texts)
            if not fitting and missing is not None and may_ask(missing) and near[i] == near[order[0]]:
                return Answer((option,), (), missing)
            if fitting:
                row, decision = fitting[0]
                used = tuple(fact for fact in facts if fact.text == decision.fact)
                text = next(line for line in rows if read_row(line) == row)
                return Answer((replace(option, sentence=row_sentence(text)),), used)
            continue
        answer = _cell(option, rows, ranked, facts, question, turn, wanted)
        if answer is not None:
            return answer
    return None


def _cell(  # noqa: PLR0917 - the parts of one decision
    option: Option,
    rows: Sequence[str],
    ranked: Sequence[Option],
    facts: Sequence[Evidence],
    question: str,
    turn: str,
    wanted: Target,
) -> Answer | None:
    """The cell that a question asks for, unless a rule of the user's own says otherwise."""
    own = [each for each in ranked if _is_own(each) and each.score >= ranked[0].score - _NEAR]
    texts = [fact.text for fact in facts]
    asked = question
    used: tuple[Evidence, ...] = ()
    if own:
        redirected = _REDIRECT.search(own[0].sentence)
        if redirected is None or wanted != "price":
            return None
        asked = f"{redirected['as']}{question}"
        used = tuple(fact for fact in facts if own[0].decision is not None and fact.text == own[0].decision.fact)
        rows = [row for row in rows if redirected["as"] in row] or rows
    elif read_row(ranked[0].sentence) is None and ranked[0].score > option.score + _BETTER:
        return None  # a sentence answers better than a cell
    # In "那索道呢？" the turn names the row, and the question before it the column.
    named = (named_row(turn, rows, ()) if turn != question and asked == question else None) or named_row(
        asked, rows, texts
    )
    if named is None:
        best = sorted(rows, key=lambda row: -len(tokens(row) & tokens(asked)))
        sizes = [len(tokens(row) & tokens(asked)) for row in best]
        row = read_row(best[0])
        if row is None or (len(sizes) > 1 and sizes[0] == sizes[1]) or not _names(asked, row):
            return None
        named = (row, "")
    season = _on_that_day(question, named[0], ranked)
    if season is not None:
        return Answer((season,), used)
    text = cell(question, named[0])
    if text is None and asked != question:  # the row is known to be the user's, so all its cells apply
        text = row_sentence(next(line for line in rows if read_row(line) == named[0]))
    if text is None:
        return None
    if named[1]:
        used = tuple(fact for fact in facts if fact.text == named[1])
    return Answer((replace(option, sentence=text),), used)


def _on_that_day(question: str, row: Row, ranked: Sequence[Option]) -> Option | None:
    """A sentence that gives another value for the day or season of the question, which the row does not speak of."""
    days = {token for token in tokens(question) if token[0] == "@"}
    columns = tokens(" ".join(name for name, _ in row.cells) + row.label)
    if not days or days & columns:
        return None
    label = content(row.label)
    for option in ranked[:_LOOKED_AT]:
        if read_row(option.sentence) is None and days & tokens(option.sentence) and label <= content(option.sentence):
            return option
    return None


def _is_own(option: Option) -> bool:
    """Whether a sentence is about the user by one of their facts."""
    decision = option.decision
    return (
        decision is not None and bool(decision.fact) and decision.verdict == "yes" and read_row(option.sentence) is None
    )


def _names(question: str, row: Row) -> bool:
    """Whether a question contains most of a row's label, or of a cell in words."""
    asked = content(question)
    cells = [content(text) for text in (row.label, *(value for _, value in row.cells)) if not re.search(r"\d", text)]
    return any(len(words & asked) > _HALF * len(words) for words in cells)


def _path(option: Option) -> str:
    passage = option.evidence.passage
    return " ".join((passage.title, *passage.headings))


def _priced(option: Option, ranked: Sequence[Option]) -> Option | None:
    """Return the sentence that gives the price of what a rule names: "优惠票30元" for "学生买优惠票"."""
    named = _REDIRECT.search(option.sentence)
    if named is None or _SUM.search(normalise(option.sentence)):
        return None
    name = f"{named['as']}{named['what']}"
    return next((each for each in ranked if name in each.sentence and _SUM.search(normalise(each.sentence))), None)


def _answer(
    option: Option, facts: Sequence[Evidence], question: str, wanted: Target, *, priced: Option | None = None
) -> Answer:
    decision = option.decision
    assert decision is not None
    used = tuple(fact for fact in facts if fact.text == decision.fact)
    shown = replace(option, sentence=_quoted(option))
    if wanted in ("price", "choice", "other"):
        beside = priced if wanted == "price" else None
        return Answer((shown, replace(beside, fact=None)) if beside is not None else (shown,), used)
    return Answer((shown,), used, decision, opening(question, wanted, decision))


def _quoted(option: Option) -> str:
    """Return the deciding clause of a sentence with clauses for different people, and the exception after it."""
    clauses = rule_clauses(option.sentence)
    clause = option.decision.clause if option.decision is not None else ""
    text = option.sentence
    if len(clauses) > 1 and clause and clause in text and not re.match("但|不过|也|还", clause):
        chosen = next((each for each in clauses if each.text == clause), None)
        if chosen is not None and chosen.groups and any(each.groups != chosen.groups for each in clauses):
            text = f"{clause}。"
    if takes_back(option.sentence, option.following) or is_exception(option.following):
        text = f"{text}{option.following}"
    return text


def opening(question: str, wanted: Target, decision: Decision) -> str:
    """Return the phrase for yes or no in the words of the question: 可以, 不用, 有优惠."""
    yes = decision.verdict == "yes"
    verb = _VERB_NOT.search(question)
    if verb:
        return f"{verb['verb']}的。" if yes else f"不{verb['verb']}。"
    if wanted == "discount" and not re.search("能|可以|半价", question):
        return "有优惠。" if yes else "没有优惠。"
    if wanted in ("pay", "require"):
        return "要的。" if yes else "不用。"
    return "可以。" if yes else "不行。"
