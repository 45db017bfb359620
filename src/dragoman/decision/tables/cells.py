"""Table rows as sentences, and the cell of a row that answers a question for this user.

Readers of files turn a row into `ticket: day ticket; adults: 28 euros; students: 22 euros`. The cell that counts is the
one whose column the question names ("for adults") or a fact of the user does ("I am a student").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from dragoman.decision.applies import applies
from dragoman.decision.categories import categories
from dragoman.decision.facts import Known, Situation, situation
from dragoman.decision.moments import weekdays
from dragoman.decision.numerals import normalise
from dragoman.decision.questions import stemmed
from dragoman.decision.subjects import USER
from dragoman.decision.tables.rows import flag
from dragoman.decision.values import Decision, Verdict
from dragoman.text.language import language

Analyse: TypeAlias = Callable[[str], tuple[str, ...]]
_MOST_COLUMNS = 12
_NAMED_ROW = 0.5
_ANY_PRICE = "10"
_EVERYBODY = frozenset({"adult", "adults", "成人", "成年人"})
_PART = re.compile(r"[;；]\s*")
_FOR_WHOM = re.compile(
    r"\bages?\b|\bfor\b|\bwho\b|\bholder|\bgroup|\bsuitable|\bparticipants|年龄|对象|适合|人群", re.IGNORECASE
)
_OF_BODY = re.compile(
    r"(?:\b(?:over|under|up to|from|below|above|at least|at most)|\d(?: ?(?:cm|m|kg))? ?(?:to|and|-|–))"
    r" ?\d[\d.]* ?(?:cm|m|kg)\b"
    r"|\d ?(?:cm|m|kg) (?:and|or) (?:more|over|above|taller|heavier|less|under|below)\b",
    re.IGNORECASE,
)
"""A height or weight within limits: the row is for who has it."""
_ASKING = (
    "kindly please inform tell know me us you i we my our the a an is are was be does do did can could would will may "
    "what which when where how much many long late early until from to at on in for of and or it that this there "
    "price cost costs charge charged fee fees pay paying rate rates ticket open opening close closing closes hours "
    "hour time times day whole full one per each take takes have has get need want like go going come just about give "
    "say so hi hello hey thanks again exactly currently today tomorrow tonight then also too well oh ok"
)
"""Words with which people ask for a value, whatever it is of."""
_PRONOUN = re.compile(r"\b(?:he|she|it|him|her)\b", re.IGNORECASE)
_IN_SINGULAR = re.compile(r"\b(?:women|men|children)\b", re.IGNORECASE)
_FEMALE = frozenset(("daughter", "sister", "mother", "wife", "granddaughter", "grandmother", "niece", "aunt"))
_MALE = frozenset(("son", "brother", "father", "husband", "grandson", "grandfather", "nephew", "uncle"))
_OF_USER = re.compile(r"\b(?:my|our|i|we|me|us|mine|ours)\b", re.IGNORECASE)
_DENIES = re.compile(r"\b(?:not|no longer|never|n['’]t)\b", re.IGNORECASE)
_PLAIN_COLUMN = re.compile(
    r"(?P<price>prices?|costs?|fees?|fares?|charges?)|(?P<when>times?|days?|when|hours|opening hours|dates?)"
    r"|(?P<note>notes?|remarks?|comments?|details?|conditions?|(?:for )?whom?|(?:suitable )?for|participants|group)",
    re.IGNORECASE,
)
"""Columns whose name adds nothing to a value that says what it is."""
_MONEY = re.compile(
    r"[€£$¥]|\b(?:euros?|francs?|pounds?|dollars?|crowns?|pence|cents?|EUR|GBP|USD|CHF|free|nothing)\b", re.IGNORECASE
)
_WHEN = re.compile(
    r"\d[:.h]\d\d|\d ?[ap]\.?m\b|\b(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*|daily|weekdays?|weekends?)\b"
    r"|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b",
    re.IGNORECASE,
)
_COLUMN = re.compile(r"(?P<name>[^:：]{1,60})[:：]\s*+(?P<value>.+)")


@dataclass(frozen=True, slots=True)
class Row:
    """A table row: its label (the first cell) and its other cells as (column, value)."""

    label: str
    cells: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a row, and the decision that chose its column, where a fact about the user did."""

    text: str
    value: str
    decision: Decision | None = None
    column: str = ""


def read_row(text: str) -> Row | None:
    """The row that a line of text holds; None for an ordinary sentence."""
    cells: list[tuple[str, str]] = []
    for part in _PART.split(text.strip()):
        column = _COLUMN.fullmatch(part.strip())
        if column:
            cells.append((column["name"].strip(), column["value"].strip()))
        elif len(cells) > 1:  # a semicolon inside a cell: "Contains: sesame; vegan"
            cells[-1] = (cells[-1][0], f"{cells[-1][1]}; {part.strip()}")
        else:
            return None
    if not 2 <= len(cells) <= _MOST_COLUMNS:
        return None
    return Row(cells[0][1], tuple(cells[1:]))


def row_sentence(text: str) -> str:
    """A row in words: `day ticket: adults 28 euros, students 22 euros`; other text as it is.

    A column's name goes where its value says what it is: `Child: 8 €, up to 14` for a price and a note.
    """
    row = read_row(text)
    if row is None:
        return text
    if language(text) == "zh":
        return f"{row.label}：{'，'.join(f'{name}{value}' for name, value in row.cells)}"
    shown = [value if _says_itself(name, value) else f"{name} {value}" for name, value in row.cells]
    return f"{row.label}: {', '.join(shown)}"


def _says_itself(column: str, value: str) -> bool:
    kind = _PLAIN_COLUMN.fullmatch(column.strip())
    if kind is None:
        return False
    if kind["note"]:
        return any(character.isalpha() for character in value)
    return bool(_MONEY.search(value)) if kind["price"] else bool(_WHEN.search(value))


def cell_for(question: str, text: str, facts: Sequence[str], analyse: Analyse, *, turn: str = "") -> Cell | None:
    """The cell of a row that answers a question: by the column that it names, else by the user's facts.

    The column that a follow-up's own `turn` names comes before one that it carries: "and for a whole day?".
    """
    row = read_row(text)
    if row is None or len(row.cells) < 2:
        return None
    named = _cells_by_column(turn, row, analyse) if turn else []
    if len(named) != 1:
        named = _cells_by_column(question, row, analyse)
    if len(named) == 1:
        return _cell(row, *named[0], None)
    of_thing = _for_ones_thing(row, facts, question) if language(text) != "zh" else None
    if of_thing is not None:
        return of_thing
    personal = [(cell, _decision(cell, facts, question)) for cell in row.cells]
    fitting = [(cell, decision) for cell, decision in personal if decision.verdict == "yes" and decision.fact]
    if len(fitting) == 1:
        (name, value), decision = fitting[0]
        return _cell(row, name, value, decision)
    return _of_group(row, facts, question, analyse) if language(text) != "zh" else None


def _of_group(row: Row, facts: Sequence[str], question: str, analyse: Analyse) -> Cell | None:
    """Return the cell in the column of the user's group: "Women" for a user who lately said "I am a woman"."""
    columns = [(name, value, frozenset(analyse(_IN_SINGULAR.sub(_in_singular, name)))) for name, value in row.cells]
    things = categories("en").thing_words
    if any(things.search(name.lower()) for name, *_ in columns):
        return None
    asked = situation(facts, question)
    sex = "woman" if asked.subject & _FEMALE else "man" if asked.subject & _MALE else ""
    clues = [(sex, "")] if sex else [(fact, fact) for fact in reversed(facts)] if asked.subject == USER else []
    for words, fact in clues:
        own = frozenset(analyse(words))
        fitting = [(name, value) for name, value, group in columns if group and group <= own]
        if len(fitting) == 1 and not _DENIES.search(words):
            (name, value), *_ = fitting
            return _cell(row, name, value, Decision("yes", fact=fact, clause=name, reason=name, confidence=0.8))
    return None


def _in_singular(word: re.Match[str]) -> str:
    return {"women": "woman", "men": "man", "children": "child"}[word[0].lower()]


def _for_ones_thing(row: Row, facts: Sequence[str], question: str) -> Cell | None:
    """Return the cell in the column of a kind of thing: "dog" for a question about Bruno, a labrador."""
    taxonomy = categories("en")
    columns = [
        (name, value, things)
        for name, value in row.cells
        if (things := [taxonomy.thing_of(match) for match in taxonomy.thing_words.finditer(name.lower())])
    ]
    if len(columns) < 2:
        return None
    current = situation(facts, question)
    owned = [known for known in current.known if known.attribute == "thing" and known.truth]
    kinds = {kind for name, kind in current.people.names.items() if kind and name in question.lower()}
    by_name = [known for known in owned if known.asked or known.name in kinds]
    for meant in (by_name, owned):
        fitting = {
            name: (value, known)
            for known in meant
            for name, value, things in columns
            if any(taxonomy.is_a(known.name, thing) for thing in things)
        }
        if len(fitting) == 1:
            (name, (value, known)), *_ = fitting.items()
            fact = "" if known.asked else known.text
            decision = Decision("yes", fact=fact, clause=name, reason=f"{known.name}: {name}", confidence=0.85)
            return _cell(row, name, value, decision)
        if fitting:
            return None
    return None


def lookup(
    question: str, rows: Sequence[str], facts: Sequence[str], analyse: Analyse, *, turn: str = ""
) -> tuple[str, Cell] | None:
    """The row of a table whose label the question names, and its cell: ("Wednesday", "Sports pool").

    What a follow-up's own `turn` names comes before what it carries: "and in Conversation?".
    """
    own = _row_named(turn, rows, analyse) if turn else None
    row = own if own is not None else _row_named(question, rows, analyse)
    fact = ""
    if row is None:
        row, fact = _row_of_own(question, rows, facts, analyse) or (None, "")
    if row is None:
        return None
    cell = cell_for(question, row, facts, analyse, turn=turn) or _only_cell(row)
    if cell is not None and fact and cell.decision is None:
        cell = replace(
            cell, decision=Decision("yes", fact=fact, clause=cell.text, reason="the user's row", confidence=0.8)
        )
    return (row, cell) if cell is not None else None


def named_row(question: str, rows: Sequence[str], analyse: Analyse, *, turn: str = "") -> str | None:
    """The one row whose label a question names best."""
    return (_row_named(turn, rows, analyse) if turn else None) or _row_named(question, rows, analyse)


def _only_cell(text: str) -> Cell | None:
    """The cell of a row that has one beside its label."""
    row = read_row(text)
    return _cell(row, *row.cells[0], None) if row is not None and len(row.cells) == 1 else None


def _row_of_own(question: str, rows: Sequence[str], facts: Sequence[str], analyse: Analyse) -> tuple[str, str] | None:
    """Return the row whose label a fact contains, with the newest such fact: "my town" for a user in Tarn Bridge.

    Only for a question about something of the user's own.
    """
    if not _OF_USER.search(question):
        return None
    labels = [(text, frozenset(analyse(row.label))) for text in rows if (row := read_row(text)) is not None]
    common = frozenset.intersection(*(words for _, words in labels)) if labels else frozenset()
    for fact in reversed(facts):
        words = frozenset(analyse(fact))
        own = [text for text, label in labels if label - common and label <= words]
        if own:
            return (own[0], fact) if len(own) == 1 and not _DENIES.search(fact) else None
    return None


def is_named_whole(question: str, text: str, cell: Cell, analyse: Analyse) -> bool:
    """Whether a question names a row and one of its columns, and nothing else that the row could lack.

    "The charge for the Council Chamber on a Saturday" is such a question, "the deposit for the Council Chamber on a
    Saturday" is not.
    """
    row = read_row(text)
    if row is None:
        return False
    label, column = frozenset(analyse(row.label)), frozenset(analyse(cell.column))
    asked = frozenset(analyse(question))
    rest = {word for word in asked - label - column if not word.isdigit()}
    return bool(label) and label <= asked and rest <= frozenset(analyse(_ASKING))


def _row_named(question: str, rows: Sequence[str], analyse: Analyse) -> str | None:
    """The one row whose label a question names best."""
    asked, day = frozenset(analyse(question)), named_days(question)
    best: list[tuple[float, str]] = []
    for text in rows:
        row = read_row(text)
        if row is None:
            return None
        words = frozenset(analyse(row.label))
        share = len(words & asked) / len(words) if words else 0.0
        best.append((share + (1.0 if day and day <= named_days(row.label) else 0.0), text))
    best.sort(key=lambda pair: -pair[0])
    if len(best) > 1 and best[0][0] == best[1][0] >= _NAMED_ROW:  # of rows with one label, the one whose cells it names
        best = [(share + _cells_named(text, asked, analyse), text) for share, text in best]
        best.sort(key=lambda pair: -pair[0])
    if len(best) < 2 or best[0][0] < _NAMED_ROW or best[0][0] == best[1][0]:
        return None
    return best[0][1]


def _cells_named(text: str, asked: frozenset[str], analyse: Analyse) -> float:
    """How much of one cell beside the label a question names."""
    row = read_row(text)
    cells = [frozenset(analyse(value)) for _, value in row.cells] if row is not None else []
    return max((len(words & asked) / len(words) for words in cells if words), default=0.0)


def row_for(
    rows: Sequence[str], facts: Sequence[str], question: str, analyse: Analyse | None = None
) -> tuple[str, Decision] | None:
    """The one row of a table that applies to the user; None without exactly one.

    A row applies by its label ("over 65" to who is seventy) or by a cell that says for whom it is ("Age: 7 to 9").
    With `analyse`, only the rows count whose label the question names best, where it names any.
    """
    read = [(text, row) for text in rows if (row := read_row(text)) is not None]
    if len(read) != len(rows):
        return None
    if analyse is not None:
        read = _asked_for(read, question, analyse)
    fitting = []
    for text, row in read:
        decision = _row_decision(row, facts, question)
        if decision is not None:
            fitting.append((text, decision))
    if len(fitting) > 1:  # "Over 65" says more of who is seventy than "Adult"
        fitting = [(text, decision) for text, decision in fitting if decision.clause not in _EVERYBODY]
    return fitting[0] if len(fitting) == 1 else None


def row_verdict(text: str, facts: Sequence[str], question: str) -> Decision | None:
    """Whether a row is for the person asked about: no if one of its conditions fails, yes if one holds."""
    row = read_row(text)
    if row is None or language(text) == "zh":
        return None
    flagged = _by_flag(row, facts, question)
    if flagged is not None:
        return flagged
    conditions = [_condition(name, value) for name, value in row.cells if _FOR_WHOM.search(name)]
    rules = [f"{condition[:1].upper()}{condition[1:]} may take part." for condition in conditions]
    asked = about(facts, question)
    decisions = [applies(rule, facts, asked) for rule in rules]
    for verdict in ("no", "yes", "unknown"):
        for decision in decisions:
            if decision.verdict == verdict and (decision.fact or (verdict == "unknown" and decision.ask)):
                return decision
    return None


def _by_flag(row: Row, facts: Sequence[str], question: str) -> Decision | None:
    """Return the yes or no of a column that names something of the user's: "Dogs: no" for a user with a dog."""
    taxonomy = categories("en")
    current = situation(facts, question)
    for name, value in row.cells:
        held = flag(value)
        things = [taxonomy.thing_of(match) for match in taxonomy.thing_words.finditer(name.lower())]
        for known in current.known if held is not None else ():
            is_the_thing = (
                known.attribute == "thing" and known.truth and (known.asked or _is_of(known, current, question))
            )
            if is_the_thing and any(taxonomy.is_a(known.name, thing) for thing in things):
                fact = "" if known.asked else known.text
                clause = f"{name}: {value}"
                verdict: Verdict = "yes" if held else "no"
                return Decision(verdict, fact=fact, clause=clause, reason=clause, confidence=0.85, is_settled=True)
    return None


def named_flag(text: str, question: str) -> Decision | None:
    """Yes or no of the cell that a question names by row and column: "Copper red" and "Food safe"."""
    row = read_row(text)
    if row is None or language(text) == "zh":
        return None
    asked = frozenset(stemmed(question))
    label = frozenset(stemmed(row.label))
    if not label or not label <= asked:
        return None
    for name, value in row.cells:
        held, column = flag(value), frozenset(stemmed(name))
        if held is not None and column and column <= asked - label:
            clause = f"{name}: {value}"
            verdict: Verdict = "yes" if held else "no"
            return Decision(verdict, clause=clause, reason=clause, confidence=0.9, is_settled=True)
    return None


def _is_of(fact: Known, current: Situation, question: str) -> bool:
    """Whether a question is about a thing of the user's: by its name, or by a pronoun."""
    names = [name for name, kind in current.people.names.items() if name in fact.text.lower()]
    return any(name in question.lower() for name in names) or bool(_PRONOUN.search(question))


def about(facts: Sequence[str], question: str) -> str:
    """Return a permission question about the same person, for a rule whose topic is known to fit."""
    person = whom(facts, question)
    return "Can I?" if person == "me" else f"Can {person}?"


def _asked_for(rows: Sequence[tuple[str, Row]], question: str, analyse: Analyse) -> list[tuple[str, Row]]:
    """The rows whose label the question names best; all of them where it names none."""
    asked = frozenset(analyse(question))
    labels = [frozenset(analyse(row.label)) for _, row in rows]
    common = frozenset.intersection(*labels) if labels else frozenset()
    shares = [len((words - common) & asked) for words in labels]
    most = max(shares, default=0)
    return [row for row, share in zip(rows, shares, strict=True) if share == most]


def _row_decision(row: Row, facts: Sequence[str], question: str) -> Decision | None:
    """Decide whether a row is the user's: all cells that name a target group must fit, one of them by a fact."""
    conditions = [row.label, *(_condition(name, value) for name, value in row.cells if _FOR_WHOM.search(name))]
    # The user's row depends only on the person asked about, not on the column.
    asked = question if language(question) == "zh" else f"How much is it for {whom(facts, question)}?"
    decisions = [_decision((condition, _ANY_PRICE), facts, asked) for condition in conditions]
    measures = [value for name, value in row.cells if _OF_BODY.search(value) and not _FOR_WHOM.search(name)]
    rules = [
        f"People who {f'weigh {value}' if 'kg' in value.lower() else f'are {value} tall'} may take part."
        for value in measures
    ]
    decisions += [applies(rule, facts, about(facts, question)) for rule in rules]
    decided = None
    for decision in (replace(each, value="") for each in decisions):
        if decision.verdict == "no" and decision.fact:
            return None
        if decision.verdict == "yes" and decision.fact:
            decided = decided or decision
    return decided


def whom(facts: Sequence[str], question: str) -> str:
    """Return the words for the subject of a question: "me", "Mila", "my daughter"."""
    current = situation(facts, question)
    names = [key for key in current.subject if key in current.people.names]
    if names:
        return names[0].capitalize()
    relation = next((key for key in current.subject if key != "user"), "")
    return f"my {relation}" if relation else "me"


def _condition(name: str, value: str) -> str:
    """Word the target group of a row as the subject of a rule: `Age: 7 to 9` is "people aged 7 to 9"."""
    if language(value) == "zh":
        return value if "岁" in value or not re.search("年龄", name) else f"{value}岁"
    return f"people aged {value}" if re.search(r"\bage", name, re.IGNORECASE) else value


def _cells_by_column(question: str, row: Row, analyse: Analyse) -> list[tuple[str, str]]:
    """The cells whose column the question names, by its words or its weekday."""
    asked = frozenset(analyse(question)) - frozenset(analyse(row.label))
    shares = [len(asked & frozenset(analyse(name))) for name, _ in row.cells]
    most = max(shares, default=0)
    named = [cell for cell, share in zip(row.cells, shares, strict=True) if share == most and most]
    day = named_days(question)
    on_day = [cell for cell in row.cells if day and day <= named_days(cell[0])]
    return on_day if len(on_day) == 1 and len(named) != 1 else named


def named_days(text: str) -> frozenset[int]:
    """The weekdays that a text names, Monday as 0."""
    return frozenset(day for days, _ in weekdays(normalise(text)) for day in days)


def _decision(cell: tuple[str, str], facts: Sequence[str], question: str) -> Decision:
    name, value = cell
    chinese = language(name) == "zh"
    rule = f"{name}收费{value}。" if chinese else f"{name[:1].upper()}{name[1:]} pay {value}."
    return applies(rule, facts, question)


def _cell(row: Row, name: str, value: str, decision: Decision | None) -> Cell:
    text = f"{row.label}，{name}：{value}" if language(name) == "zh" else f"{row.label}, {name}: {value}"
    return Cell(text, value, decision, name)
