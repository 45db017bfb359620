"""Estimate the parsing cost of an HTML page in advance: deeply nested pages take quadratic time."""

from __future__ import annotations

from dragoman.text import lazy_re as re

FREE = 50_000_000
"""Steps that any page may take: some tenths of a second."""
A_TAG = 64
"""Further steps allowed per tag: ordinary pages do not stay nested deeper than this."""

# One tag to its end, as HTML splits it: a quote counts after an equals sign alone, and what is not closed goes on to
# the end of the page. Possessive, so that nothing is read twice.
_TAG = re.compile(
    r"""<(/?)([a-zA-Z][^\t\n\x0c\r />]*+)
    ((?>(?:[\t\n\x0c\r /]++
      | [^\t\n\x0c\r />][^\t\n\x0c\r />=]*+
        (?>(?:[\t\n\x0c\r ]*+=[\t\n\x0c\r ]*+
          (?>(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^\t\n\x0c\r >"'][^\t\n\x0c\r >]*+)?))?)
    )*))>""",
    re.VERBOSE,
)
_ATTRIBUTE = re.compile(r"[^\s/>=]++")
_COMMENT_END = re.compile(r"--!?>")
_SCRIPT = re.compile(r"<script", re.IGNORECASE)
_RAW = {
    name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE)
    for name in ("script", "style", "title", "textarea", "xmp", "iframe", "noembed", "noframes")
}
"""Elements whose content is text, even if it looks like tags."""
_APART = frozenset(("svg", "math", "select", "frameset", "template"))
"""Elements in which the parser may treat the content of those as tags."""
_GROUPS = frozenset(("g", "defs", "symbol", "mask", "clippath", "lineargradient", "radialgradient"))
_ROOTS = frozenset(("html", "head", "body"))
_VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
_ROWS = frozenset(("td", "th", "tr"))
_PARTS = _ROWS | {"tbody", "thead", "tfoot", "caption", "colgroup"}
_ENDS: dict[str, frozenset[str]] = {
    "li": frozenset(("li", "p")),
    **dict.fromkeys(("dt", "dd"), frozenset(("dt", "dd", "p"))),
    **dict.fromkeys(("td", "th"), frozenset(("td", "th", "p"))),
    "tr": _ROWS | {"p", "caption", "colgroup"},
    **dict.fromkeys(("tbody", "thead", "tfoot"), _PARTS | {"p"}),
    "option": frozenset(("option",)),
    **dict.fromkeys(
        "p div ul ol dl table blockquote section article aside header footer main nav form pre address figure "
        "fieldset details h1 h2 h3 h4 h5 h6".split(),
        frozenset(("p",)),
    ),
}
"""Open elements that a start tag closes if they are the innermost ones."""
_IMPLIED = frozenset(("p", "li", "dt", "dd", "option", "optgroup", "rp", "rt")) | _PARTS


def is_too_much(text: str) -> bool:
    """Whether a page would take a parser more steps than its size allows.

    A tag costs a look at every element that is open there, an attribute one at those before it in its tag. How many
    elements are open is never estimated too low: an end that does not fit what began last is not believed.
    """
    return _Estimate(text).run()


class _Estimate:
    """One pass over a page, tag by tag, without building a tree."""

    def __init__(self, text: str) -> None:
        self.deepest = 0
        self._text = text
        self._open: list[str] = []
        self._apart = 0
        self._is_unsure = False
        self._root_attributes = 0

    def run(self) -> bool:
        text, steps, tags, place = self._text, 0, 0, 0
        while (place := text.find("<", place)) >= 0:
            tag = _TAG.match(text, place) if not self._is_unsure else None
            if tag is None:
                if not self._is_unsure:
                    place = self._past(place)
                    continue
                self._open.append("")  # what might be a tag is one, and is never closed
                attributes, place = 0, place + 1
            else:
                name = tag[2].lower()
                attributes = len(_ATTRIBUTE.findall(tag[3])) if len(tag[3]) > 1 else 0
                if name in _ROOTS:
                    attributes = self._root_attributes = self._root_attributes + attributes
                if tag[1]:
                    place = self._close(name, tag.end())
                elif tag[3].endswith("/") and self._draws():
                    place = tag.end()
                else:
                    place = self._begin(name, tag.end())
            tags += 1
            self.deepest = max(self.deepest, len(self._open))
            steps += len(self._open) + attributes * attributes // 2
            if steps > FREE + A_TAG * tags:
                return True
        return False

    def _past(self, place: int) -> int:
        """The position after a `<` that starts no tag."""
        text = self._text
        if text.startswith("<!--", place):
            comment_end = _COMMENT_END.search(text, place + 2)  # two dashes may begin and end it
            return comment_end.end() if comment_end else len(text)
        first, second = text[place + 1 : place + 2], text[place + 2 : place + 3]
        letter = second if first == "/" else first
        if letter.isascii() and letter.isalpha():
            return len(text)  # a tag that is never closed is no tag, and all that follows is in it
        if first in ("!", "?", "/") and first:
            if self._apart and text.startswith("<![CDATA[", place):
                return self._behind(place + 1, text.find("]]>", place))
            end = text.find(">", place)
            return end + 1 if end >= 0 else len(text)
        return place + 1

    def _begin(self, name: str, place: int) -> int:
        opened = self._open
        ended = _ENDS.get(name, frozenset())
        while opened and opened[-1] in ended:
            opened.pop()
        if name in _RAW:
            end_tag = _RAW[name].search(self._text, place)
            if self._apart or (end_tag is not None and self._hides_script(place, end_tag.start())):
                return self._behind(place, end_tag.start() if end_tag else -1)
            return end_tag.start() if end_tag else len(self._text)  # its end is read as one that fits nothing
        if name not in _VOID and name not in _ROOTS:
            opened.append(name)
            self._apart += name in _APART
        return place

    def _draws(self) -> bool:
        """Whether we are surely in a picture, where alone an element may end with its beginning."""
        last = next((name for name in reversed(self._open[-8:]) if name not in _GROUPS), "")
        return last == "svg"

    def _hides_script(self, place: int, end: int) -> bool:
        """Whether there is a script in a comment in a script: where that one ends is hard to say."""
        comment = self._text.find("<!--", place, end)
        return comment >= 0 and _SCRIPT.search(self._text, comment, end) is not None

    def _behind(self, place: int, end: int) -> int:
        """Skip text whose kind is ambiguous; if it holds a "<", stay here and mark the scan as unsure."""
        if end >= 0 and self._text.find("<", place, end) < 0:
            return end
        self._is_unsure = True
        return place

    def _close(self, name: str, place: int) -> int:
        opened = self._open
        last = len(opened) - 1
        while last >= 0 and opened[last] != name and opened[last] in _IMPLIED:
            last -= 1
        if last >= 0 and opened[last] == name:
            del opened[last:]
            self._apart -= name in _APART
        return place
