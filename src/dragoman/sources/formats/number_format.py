"""Number formats of spreadsheets: a price is shown with its currency and decimals, as its sheet shows it."""

from __future__ import annotations

from dataclasses import dataclass

from dragoman.text import lazy_re as re

_TOKENS = re.compile(
    r'"([^"]*)"|\\(.)|\[\$([^\]-]{0,20})[^\]]{0,20}\]|\[[^\]]{0,40}\]|[_*].|([#0?][#0?,]*(?:\.[#0?]+)?)|(.)'
)
_LITERAL = frozenset("$€£¥ -+():/%")
BUILT_IN = {2: "0.00", 3: "#,##0", 4: "#,##0.00", 39: "#,##0.00", 40: "#,##0.00", 43: "#,##0.00"}
"""Formats without a currency that files refer to by a number alone; the currency of the others is the reader's own."""


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """What stands before and after a number, and how it is written."""

    before: str
    decimals: int
    is_grouped: bool
    after: str

    def shown(self, number: float) -> str:
        """The number as its cell shows it; one without a unit keeps decimals that the format leaves out."""
        if not (self.before or self.after or self.decimals) and number != round(number):
            return f"{number:.15g}"
        digits = f"{abs(number):{',' if self.is_grouped else ''}.{self.decimals}f}"
        sign = "-" if number < 0 and digits.strip("0.,") else ""
        return f"{self.before}{sign}{digits}{self.after}"


def number_format(code: str) -> NumberFormat | None:
    """The format of a code such as `"CHF" #,##0.00`; none for one that is no plain number with a unit."""
    parts, digits = ["", ""], ""
    for match in _TOKENS.finditer(code[:200]):
        literal, escaped, currency, placeholders, other = match.groups()
        if placeholders is not None:
            if digits:
                return None
            digits = placeholders
        elif other == ";":
            break  # the forms of negative numbers, of zero and of texts follow
        elif other is not None and other not in _LITERAL:
            return None
        else:
            parts[bool(digits)] += literal or escaped or currency or other or ""
    if not digits or digits.endswith(",") or "%" in code:
        return None
    whole, _, decimals = digits.partition(".")
    # Parentheses belong to the accountants' way of writing negative numbers.
    before, after = (part.replace("(", "").replace(")", "") for part in parts)
    return NumberFormat(before.lstrip(), len(decimals), "," in whole, after.rstrip())
