"""Select the dishes of a menu that name nothing that somebody avoids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dragoman.core.values import Evidence
from dragoman.decision.categories import categories
from dragoman.decision.facts import Known, situation
from dragoman.decision.hazards import avoided_food, offending, suits
from dragoman.decision.joint import Option
from dragoman.decision.tables.cells import read_row, row_sentence
from dragoman.decision.tables.lists import points
from dragoman.reader.compose import Answer
from dragoman.text import lazy_re as re
from dragoman.text.sentences import sentences

_WHAT = re.compile(r"\b(?:what|which|anything|something|any|everything)\b", re.IGNORECASE)
_EATING = re.compile(
    r"\b(?:eat|have|order|drink|choose|try|suits?|suitable|safe|food|dish|dishes|meals?|menu|dinner|lunch|breakfast|supper"
    r"|snack|dessert|cake|(?:first|main|second) course)\b",
    re.IGNORECASE,
)
_LEAST = 2


def fitting_dishes(question: str, options: Sequence[Option], facts: Sequence[Evidence]) -> Answer | None:
    """Answer with the dishes of a menu that suit the person asked about; None for other questions.

    A dish that is marked as suitable comes before one that merely does not name what is avoided.
    """
    what = _WHAT.search(question)
    if what is None or _EATING.search(question, what.end()) is None:
        return None
    current = situation([fact.text for fact in facts], question)
    avoided = avoided_food(current, "en")
    if not avoided:
        return None
    menu = next((option for option in options if _is_menu(option.evidence.text)), None)
    if menu is None:
        return None
    dishes = _dishes(menu.evidence.text)
    labelled = [dish for dish in dishes if suits(dish, avoided, "en") and not offending(dish, avoided, "en")]
    kept = labelled or [dish for dish in dishes if not offending(dish, avoided, "en")]
    if len(kept) == len(dishes) or not kept:
        return None
    used = [fact for fact in facts if fact.text in {known.text for known in avoided.values()}]
    opening = "" if labelled else f"Listed without {_foods(avoided)}:\n"
    fitting = tuple(replace(menu, sentence=dish, fact=None) for dish in kept)
    return Answer(fitting, tuple(used), opening=opening, compared=True)


def _is_menu(text: str) -> bool:
    """Whether a passage lists food."""
    words = categories("en").food_words
    return sum(1 for dish in _dishes(text) if words.search(dish.lower())) >= _LEAST


def _dishes(text: str) -> list[str]:
    """The points of a list, or the rows of a table in words."""
    rows = [unit for unit in sentences(text) if read_row(unit) is not None]
    return [row_sentence(item) for item in points(text) or rows]


def _foods(avoided: dict[str, Known]) -> str:
    """Name the avoided foods, since a dish that does not mention them is only said not to mention them."""
    foods = [f"{food}s" if food in ("nut", "peanut", "egg") else food for food in avoided]
    return foods[0] if len(foods) == 1 else f"{', '.join(foods[:-1])} or {foods[-1]}"
