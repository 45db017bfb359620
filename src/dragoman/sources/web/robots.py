"""robots.txt as RFC 9309 defines it: the longest matching rule decides, and an equal permission wins."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

AGENT = "dragoman"
MOST_CHARACTERS = 512_000
"""Most characters of the file that are read, as the RFC advises."""
MOST_DELAY = 10.0


@dataclass(frozen=True, slots=True)
class Robots:
    """The rules for this program: (is allowed, path pattern), the seconds between two requests, and sitemaps."""

    rules: tuple[tuple[bool, str], ...] = ()
    delay: float = 0.0
    sitemaps: tuple[str, ...] = ()

    def allows(self, url: str) -> bool:
        """Whether a page may be fetched."""
        parts = urlsplit(url)
        path = _normal(parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        matching = [(len(pattern), allowed) for allowed, pattern in self.rules if _matches(pattern, path)]
        return max(matching)[1] if matching else True


NOTHING = Robots(((False, "/"),))
"""Forbids everything: for a site whose robots.txt cannot be read now."""


def parse(text: str) -> Robots:
    """The rules of the group that names this program, else of the group for all."""
    groups: dict[str, list[tuple[bool, str]]] = {}
    delays: dict[str, float] = {}
    sitemaps: list[str] = []
    agents: set[str] = set()  # those of this group that matter here: a file may name thousands
    in_rules = False
    for line in text[:MOST_CHARACTERS].lstrip("\ufeff").splitlines():
        key, colon, value = line.partition("#")[0].partition(":")
        key, value = key.strip().lower(), value.strip()
        if not colon:
            continue
        if key == "user-agent":
            agents = set() if in_rules else agents
            in_rules = False
            agent = value.lower().partition("/")[0]
            if agent in (AGENT, "*"):
                agents.add(agent)
                groups.setdefault(agent, [])
        elif key in ("allow", "disallow"):
            in_rules = True
            for agent in agents:
                if value:
                    groups[agent].append((key == "allow", _normal(value)))
        elif key == "crawl-delay":
            in_rules = True
            if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", value):
                delays.update(dict.fromkeys(agents, min(float(value), MOST_DELAY)))
        elif key == "sitemap":
            sitemaps.append(value)
    agent = AGENT if AGENT in groups else "*"
    return Robots(tuple(groups.get(agent, ())), delays.get(agent, 0.0), tuple(sitemaps))


def _normal(path: str) -> str:
    """A path with one spelling for each character, so that rules and pages compare."""
    return quote(unquote(path), safe="/*$?=&,;:@!~+'()%")


def _matches(pattern: str, path: str) -> bool:
    """Whether a pattern matches the beginning of a path; `*` is anything, `$` at its end the end.

    Piece by piece instead of by a regular expression, which many stars would slow down.
    """
    anchored = pattern.endswith("$")
    first, *others = pattern.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    place = len(first)
    for number, piece in enumerate(others, start=1):
        if anchored and number == len(others):
            return path.endswith(piece) and len(path) - len(piece) >= place
        index = path.find(piece, place)
        if index < 0:
            return False
        place = index + len(piece)
    return not anchored or place == len(path)
