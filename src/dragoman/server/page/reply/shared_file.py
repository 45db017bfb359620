"""A chat as one HTML file to give to others: no scripts, nothing fetched, everything that somebody wrote escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import chain

from dragoman.core.clock import moment_of, stamp
from dragoman.server.data import chats
from dragoman.server.hosted_agent import Seat
from dragoman.server.http.problems import absent
from dragoman.server.page.passage_html import passage_html
from dragoman.server.page.reply.citations import Citation, citations
from dragoman.server.page.reply.markdown import markdown_html
from dragoman.server.page.session import PageTurn, page_turns
from dragoman.server.page.turn_view import reply_picture

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_LOOK = """
:root { color-scheme: light dark; }
:root { --soft: #666d73; --line: #d8d8d2; --wash: #efefeb; --mark: #c9ece6; --accent: #0f766e; }
@media (prefers-color-scheme: dark) {
  :root { --soft: #9aa1a8; --line: #33383d; --wash: #24282c; --mark: #134e48; --accent: #5eead4; }
}
body { font: 16px/1.6 system-ui, sans-serif; max-width: 720px; margin: 40px auto; padding: 0 20px; }
h1 { font-size: 24px; line-height: 1.3; margin: 0; } h2 { font-size: 13px; color: var(--soft); margin: 28px 0 4px; }
time, .about { color: var(--soft); font-size: 13px; font-weight: normal; }
.said { background: var(--wash); border-radius: 14px; padding: 8px 14px; white-space: pre-wrap; width: fit-content; }
.reply table { border-collapse: collapse; } .reply th, .reply td { border: 1px solid var(--line); padding: 4px 10px; }
.reply pre, .wide { overflow-x: auto; } .reply pre { background: var(--wash); padding: 10px 14px; border-radius: 8px; }
.plain { white-space: pre-wrap; } a { color: var(--accent); }
.cited-place { color: var(--soft); }
.cite { font-size: 11px; vertical-align: super; text-decoration: none; padding: 0 3px; }
ol.sources { border-left: 3px solid var(--line); margin: 10px 0 0; padding-left: 34px; }
.sources { font-size: 14px; color: var(--soft); }
.passage { white-space: pre-wrap; margin: 2px 0 10px; } .passage table { white-space: normal; }
.passage th, .passage td { padding: 1px 10px 1px 0; text-align: left; vertical-align: top; }
mark { background: var(--mark); color: inherit; }
"""


def shared_html(seat: Seat, name: str, words: Mapping[str, str], *, lang: str) -> str:
    """The file of a chat: who said what and when, and the passages that each reply cites, with their dates.

    Facts about the user are not listed as sources: they are in the file only where somebody said them.
    """
    turns = page_turns(seat, name)
    first = next(turns, None)
    if first is None:
        raise absent("chat")
    title = chats.title_of(seat, name) or name
    private = {source.name for source in seat.assistant.sources if source.private and source.about == "user"}
    parts = [
        _turn(turn, place, words, seat.assistant.name, private) for place, turn in enumerate(chain((first,), turns))
    ]
    begun = chats.began(name)
    when = _time(first.turn.said_at or ("" if begun is None else stamp(begun)))
    about = " · ".join(part for part in (escape(seat.assistant.name), when) if part)
    return (
        f'<!doctype html>\n<html lang="{escape(lang)}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{escape(title)}</title>\n<style>{_LOOK}</style>\n</head>\n<body>\n"
        f'<h1>{escape(title)}</h1>\n<p class="about">{about}</p>\n{"".join(parts)}</body>\n</html>\n'
    )


def _turn(stored: PageTurn, place: int, words: Mapping[str, str], agent: str, private: set[str]) -> str:
    speaker = words["share.you"] if stored.turn.speaker == "user" else agent
    when = _time(stored.turn.said_at)
    head = f"<h2>{escape(speaker)}{f' · {when}' if when else ''}</h2>\n"
    if stored.is_withheld:
        return f'{head}<p class="about">{escape(words["chat.forgotten"])}</p>\n'
    if stored.turn.speaker == "user":
        return f'{head}<div class="said">{escape(stored.turn.text)}</div>\n'
    picture = None if stored.reply is None else reply_picture(stored.reply)
    cited = () if picture is None else citations(stored.turn.text, picture.cards, private=private)
    anchor = f"source-{place}-"
    body = markdown_html(stored.turn.text, cited, words=words, anchor=anchor)
    return f'{head}<div class="reply">{body}</div>\n{_sources(cited, anchor, words)}'


def _sources(cited: Sequence[Citation], anchor: str, words: Mapping[str, str]) -> str:
    if not cited:
        return ""
    items = []
    for citation in cited:
        passage = citation.card.evidence.passage
        page = passage.meta.get("page", "")
        where = (
            " › ".join(dict.fromkeys(part for part in (passage.title, *passage.headings) if part)),
            passage.origin.rpartition("/")[2] or passage.source,
            words["card.page"].format(page=page) if page else "",
            passage.date,
        )
        text = passage_html(passage.text, citation.card.spans)
        place = escape(", ".join(dict.fromkeys(part for part in where if part)))
        item = f'{place}<div class="passage">{text}</div>'
        items.append(f'<li id="{anchor}{citation.number}" value="{citation.number}">{item}</li>')
    return f'<ol class="sources" aria-label="{escape(words["share.sources"])}">{"".join(items)}</ol>\n'


def _time(said_at: str) -> str:
    """A time as an element; "" if unknown."""
    moment = moment_of(said_at)
    return "" if moment is None else f'<time datetime="{moment:%Y-%m-%dT%H:%MZ}">{moment:%Y-%m-%d %H:%M} UTC</time>'
