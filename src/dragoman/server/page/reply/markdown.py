"""Replies as HTML: Markdown without raw HTML, images or unsafe links, with numbered citations.

Everything that models, documents and users wrote is escaped; the only markup is what this module writes itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from typing import Any

from markdown_it import MarkdownIt

from dragoman.server.page.reply.citations import Citation

_OPEN, _CLOSE = "\ue000", "\ue001"
"""Private characters around a citation's number while the text is parsed; they are removed from texts first."""
_MARK = re.compile(f"{_OPEN}(\\d+){_CLOSE}")
_HELD = re.compile(rf"([\w.,:!?%'’)-]{{1,30}}(?<![\u3000-\u9fff])|[^\s<>&;{_OPEN}{_CLOSE}])((?:{_OPEN}\d+{_CLOSE})+)")
"""The last word, or character, before a number: the number stays on its line."""
_TAG = re.compile(r"(<[^<>]*+>)")
_SCHEMES = ("http://", "https://", "mailto:")
_LONGEST = 100_000
_MARKUP = re.compile(r"[][!*_`<&~#>|\\\n]")
_MOST_MARKS, _MOST_CELLS = 2000, 4000
"""Texts with more are shown as they are: parsing them would hold up everybody's pages."""


def markdown_html(
    text: str, citations: Sequence[Citation] = (), *, words: Mapping[str, str], anchor: str | None = None
) -> str:
    """A reply as safe HTML. Citations become buttons `.cite` with their number under `data-cite`.

    With `anchor`, for a file without scripts, they are links to `#ANCHORNUMBER`, and nothing else is a button.
    """
    clean = text.replace(_OPEN, "").replace(_CLOSE, "")
    if clean != text:  # places of citations are those of the whole text
        citations = ()
    if _is_too_much(clean):
        return f'<p class="plain">{escape(clean)}</p>'
    for citation in sorted(citations, key=lambda one: (-one.place, -one.number)):
        mark = f"{_OPEN}{citation.number}{_CLOSE}"
        clean = f"{clean[: citation.place]}{mark}{clean[citation.place :]}"
    env = {"copy": words["chat.copy_code"] if anchor is None else ""}
    html = str(_parser().render(clean, env))

    def cite(mark: re.Match[str]) -> str:
        label = f'aria-label="{escape(words["chat.cite"].format(number=mark[1]))}"'
        if anchor is not None:
            return f'<a class="cite" href="#{escape(anchor)}{mark[1]}" {label}>{mark[1]}</a>'
        return f'<button type="button" class="cite" data-cite="{mark[1]}" {label}>{mark[1]}</button>'

    for citation in citations:
        html = _mute_place(html, citation)
    return _MARK.sub(cite, _HELD.sub(r'<span class="held">\1\2</span>', html))


def _mute_place(html: str, citation: Citation) -> str:
    """Set back the place that a reply names in brackets: the number beside it opens the passage."""
    passage = citation.card.evidence.passage
    path = " › ".join(dict.fromkeys(part for part in (passage.title, *passage.headings) if part))
    written = [escape(text, quote=False).replace('"', "&quot;") for text in (f"({path})", f"（{path}）")]
    parts = _TAG.split(html)
    for place in range(0, len(parts), 2):  # the text between tags
        for text in written:
            if path and text in parts[place]:
                parts[place] = parts[place].replace(text, f'<span class="cited-place">{text}</span>', 1)
                return "".join(parts)
    return html


def marks_of(text: str) -> int:
    """How many marks of a text are parsed, up to 50 microseconds for each; none where the text is shown as it is."""
    return 0 if _is_too_much(text) else len(_MARKUP.findall(text))


def _is_too_much(text: str) -> bool:
    if len(text) > _LONGEST or len(_MARKUP.findall(text)) > _MOST_MARKS:
        return True
    lines = text.split("\n")
    return len(lines) * max(line.count("|") for line in lines) > _MOST_CELLS


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True, "linkify": False, "typographer": False})
    parser.enable(["table", "strikethrough"])
    parser.validateLink = _is_safe  # type: ignore[method-assign]  # the library's own way to restrict links
    parser.add_render_rule("image", _image)
    parser.add_render_rule("fence", _code)
    parser.add_render_rule("code_block", _code)
    parser.add_render_rule("link_open", _link)
    parser.add_render_rule("table_open", lambda *_: '<div class="wide"><table>')
    parser.add_render_rule("table_close", lambda *_: "</table></div>")
    return parser


def _is_safe(url: str) -> bool:
    return url.strip().lower().startswith(_SCHEMES)


def _image(_: Any, tokens: Sequence[Any], place: int, *__: Any) -> str:
    """The description of an image: nothing is fetched from elsewhere."""
    return escape(str(tokens[place].content))


def _link(renderer: Any, tokens: Sequence[Any], place: int, options: Any, env: Any) -> str:
    tokens[place].attrSet("target", "_blank")
    tokens[place].attrSet("rel", "noopener noreferrer nofollow")
    return str(renderer.renderToken(tokens, place, options, env))


def _code(_: Any, tokens: Sequence[Any], place: int, __: Any, env: Mapping[str, str]) -> str:
    """A block of code with a button that copies it, unless that has no label."""
    button = f'<button type="button" class="btn copy-code">{escape(env["copy"])}</button>' if env["copy"] else ""
    return f'<div class="code">{button}<pre><code>{escape(str(tokens[place].content))}</code></pre></div>\n'
