"""Answers from Chinese tables and lists: the row that a question or a fact names, its cell, and the rows that fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.decision.chinese.applies import eligible
from dragoman.decision.chinese.words import canonical, content, tokens
from dragoman.decision.numerals import normalise
from dragoman.decision.tables.cells import Row, read_row
from dragoman.decision.values import Decision
from dragoman.text import lazy_re as re
from dragoman.text.question_kind import offers, wants

_HOW_MUCH = re.compile("多少(?!人|个|天|次)")
_MONEY = re.compile(r"\d[万千]?(?:元|块)")
_FITS = re.compile("谁|限制|年龄|对象|适合|要求|适用|人群|条件|资格|招收")
_LEAST_AGE = re.compile("最小|最低|起始|起")
_BRACKET = re.compile("[（(][^）)]{0,100}+[）)]")
_LEVELS = re.compile(r"(?<!\d)(?P<low>\d++)(?:级|年级|号)?到(?P<high>\d++)(?P<unit>级|年级|号|岁)")
_ONE_LEVEL = re.compile(r"(?<!\d)(?P<number>\d++)(?P<unit>级|年级|号)")
_INLINE = re.compile(r"(?P<name>[^（(、，。：；和或分为]{2,10})[（(](?P<who>[^）)]{2,16})[）)]")
_COUNTED = re.compile(
    r"(?<![零〇一二两三四五六七八九十])[零〇一二两三四五六七八九十]++(?=级|到[一二两三四五六七八九十]++级)"
)
_DIGITS = {char: str(i) for i, char in enumerate("零一二三四五六七八九")} | {"两": "2", "十": "10"}


@dataclass(frozen=True, slots=True)
class TableAnswer:
    """Answer of a table: the words, and the decision if a fact about the user chose the row."""

    text: str
    decision: Decision | None = None


def named_row(question: str, rows: Sequence[str], facts: Sequence[str]) -> tuple[Row, str] | None:
    """Return the row whose label the question names, else the one that the user's newest fact names, with that fact."""
    parsed = [row for text in rows if (row := read_row(text)) is not None]
    asked = content(question)
    level = _ONE_LEVEL.search(_graded(question))
    if level:
        for row in parsed:
            span = _LEVELS.search(_graded(row.label))
            if span and int(span["low"]) <= int(level["number"]) <= int(span["high"]):
                return row, ""
    named = sorted((row for row in parsed if _label(row) and _label(row) <= asked), key=lambda row: -len(_label(row)))
    if named and (len(named) == 1 or len(_label(named[0])) > len(_label(named[1]))):
        return named[0], ""
    if named:
        return None
    for fact in reversed(facts):
        mine = [
            row for row in parsed if len(_label(row)) > 1 and canonical(_BRACKET.sub("", row.label)) in canonical(fact)
        ]
        if len(mine) == 1:
            return mine[0], fact
    return None


def extreme(question: str, rows: Sequence[str]) -> tuple[Row, str, str] | None:
    """The row, column and value with the greatest or least number of the column that a question names: "额度最高的"."""
    most = _MOST.search(question)
    parsed = [row for text in rows if (row := read_row(text)) is not None]
    if most is None or len(parsed) < 2:
        return None
    asked = content(question)
    columns = {name for row in parsed for name, _ in row.cells}
    named = sorted(columns, key=lambda name: (-len(content(name) & asked), name))
    for name in named[:1] if content(named[0]) & asked else []:
        values = [(_amount(value), row, value) for row in parsed for column, value in row.cells if column == name]
        numbered = [(number, row, value) for number, row, value in values if number is not None]
        if len(numbered) < len(parsed):
            return None
        best = (max if most[0] in _GREATEST else min)(numbered, key=lambda each: each[0])
        if sum(number == best[0] for number, _, _ in numbered) == 1:
            return best[1], name, best[2]
    return _of_all_prices(most[0], parsed, columns) if most[0] in _BY_PRICE else None


def _of_all_prices(most: str, rows: Sequence[Row], columns: set[str]) -> tuple[Row, str, str] | None:
    """The row that is the cheapest or dearest by every column of prices: on weekdays and at the weekend."""
    best: dict[str, Row] = {}
    for name in sorted(columns):
        values = [
            (_amount(value), row)
            for row in rows
            for column, value in row.cells
            if column == name and _MONEY.search(value)
        ]
        numbers = [number for number, _ in values if number is not None]
        if len(numbers) == len(rows):
            limit = max(numbers) if most in _GREATEST else min(numbers)
            chosen = [row for number, row in values if number is not None and abs(number - limit) < _SAME]
            if len(chosen) != 1:
                return None
            best[name] = chosen[0]
    labels = {row.label for row in best.values()}
    if len(labels) != 1:
        return None
    row = next(iter(best.values()))
    return row, "", "，".join(f"{name}{value}" for name, value in row.cells if name in best)


_BY_PRICE = frozenset({"最便宜", "最贵"})
_SAME = 1e-6
_GREATEST = frozenset("最高 最多 最大 最长 最久 最贵 最重 最远".split())
_MOST = re.compile("最[高多大长久贵重远低少小短轻近]|最便宜")
_SCALES = {"万": 10_000.0, "千": 1000.0, "": 1.0}


def _amount(value: str) -> float | None:
    number = re.search(r"(\d++(?:\.\d++)?)(万|千|)", normalise(value))
    return float(number[1]) * _SCALES[number[2]] if number else None


def cell(question: str, row: Row) -> str | None:
    """Return the cell of a row that a question asks for, in words; None if no column fits best."""
    asked = tokens(question)
    scores = []
    for name, value in row.cells:
        if content(value) and content(value) <= content(question):
            continue  # the question names this cell's value and asks for another cell
        shared = sum(
            1.5 if token[0] == "@" else 1.0 if len(token) > 1 else 0.5
            for token in tokens(name) & asked
            if token[0] != "#"
        )
        kinds = wants(question)
        fits = (
            0.4 if kinds and (kinds & offers(value) or (_HOW_MUCH.search(question) and _MONEY.search(value))) else 0.0
        )
        scores.append((shared + fits, name, value))
    scores.sort(key=lambda each: -each[0])
    if not scores or scores[0][0] <= 0 or (len(scores) > 1 and scores[0][0] - scores[1][0] < _APART):
        return None
    _, name, value = scores[0]
    return f"{row.label}，{name}：{value}"


_APART = 0.3


def fitting_rows(
    question: str, rows: Sequence[str], facts: Sequence[str]
) -> tuple[list[tuple[Row, Decision]], Decision | None]:
    """The rows that fit the user's age, grade or state, the narrowest first; or the fact that is missing."""
    fitting: list[tuple[float, Row, Decision]] = []
    missing: Decision | None = None
    for text in rows:
        row = read_row(text)
        if row is None:
            continue
        decision = fits(question, row, facts)
        if decision is None:
            continue
        if decision.verdict == "yes":
            fitting.append((_narrow(decision.clause), row, decision))
        elif decision.verdict == "unknown":
            missing = missing or decision
    fitting.sort(key=lambda each: each[0])
    return [(row, decision) for _, row, decision in fitting], missing


def fits(question: str, row: Row, facts: Sequence[str]) -> Decision | None:
    """Whether a row is for the user, by its column for a target group or brackets in its label; None without these."""
    bracket = _BRACKET.search(row.label)
    cells = [(name, value) for name, value in row.cells if _FITS.search(name)]
    if bracket and re.search("岁|米", bracket[0]):
        cells.append(("对象", bracket[0].strip("（）()")))
    for name, value in cells:
        bound = (
            f"{value}以上"
            if _LEAST_AGE.search(name) and re.fullmatch(r"\D*\d+(?:\.\d+)?岁半?|.{1,3}岁半?", value)
            else value
        )
        decision = eligible(bound.replace("半以上", "以上"), facts, question)
        if decision.verdict != "none":
            return decision
    return None


def inline_options(question: str, sentence: str, facts: Sequence[str]) -> tuple[TableAnswer | None, Decision | None]:
    """The choice among options that a sentence lists: "儿童组（12岁以下）、少年组（12到17岁）"."""
    pairs = [(match["name"].strip(), match["who"]) for match in _INLINE.finditer(sentence)]
    judged = [(name, who, eligible(who, facts, question)) for name, who in pairs if re.search("岁|级|米", who)]
    if len(judged) < 2:
        return None, None
    chosen = [each for each in judged if each[2].verdict == "yes"]
    if chosen:
        chosen.sort(key=lambda each: _narrow(each[1]))
        name, who, decision = chosen[0]
        return TableAnswer(f"{name}（{who}）", decision), None
    return None, next((decision for _, _, decision in judged if decision.verdict == "unknown"), None)


def _label(row: Row) -> frozenset[str]:
    return content(_BRACKET.sub("", row.label))


def _graded(text: str) -> str:
    """A text whose grades are digits: "七到九级" as "7到9级"."""
    return normalise(_COUNTED.sub(lambda match: _number(match[0]), text))


def _number(numeral: str) -> str:
    if len(numeral) == 1:
        return _DIGITS.get(numeral, numeral)
    return str(10 + int(_DIGITS[numeral[1]])) if numeral.startswith("十") and numeral[1] in _DIGITS else numeral


def _narrow(clause: str) -> float:
    """How wide a group is: "55岁以上" is narrower than "16岁以上", and a range narrower than both."""
    numbers = [float(number) for number in re.findall(r"\d+(?:\.\d+)?", normalise(clause))]
    if not numbers:
        return 1000.0
    if len(numbers) > 1:
        return abs(numbers[1] - numbers[0])
    return 200.0 - numbers[0] if "以上" in clause or "满" in clause else 100.0 + numbers[0]
