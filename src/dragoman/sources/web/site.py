"""Pages and sitemaps of sites, fetched politely into a folder, to be ingested under their addresses."""

from __future__ import annotations

import gzip
import io
import time
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Protocol
from urllib.parse import urljoin, urlsplit

from dragoman.core.errors import InputError
from dragoman.sources.files import Failure, FoundFiles, Listing, SourceFile, readers
from dragoman.sources.formats.xml_events import Start, parse
from dragoman.sources.web import robots
from dragoman.sources.web.addresses import check_url
from dragoman.sources.web.fetch import MOST_BYTES, MOST_REDIRECTS, SECONDS, Fetcher, Page

MOST_PAGES = 500
PAUSE = 0.5
"""Seconds between two requests to one host; a longer Crawl-delay of the site counts."""
_MOST_SITEMAPS = 20
_MAP_SUFFIXES = (".xml", ".gz")
_CHUNK = 1 << 16
_LONGEST_ADDRESS = 4096


@dataclass(frozen=True, slots=True)
class WebLimits:
    """Limits of a fetch: pages in all, bytes and seconds a page, bytes in all, seconds between two requests."""

    pages: int = MOST_PAGES
    bytes: int = MOST_BYTES
    seconds: float = SECONDS
    pause: float = PAUSE
    total_bytes: int = 50 * MOST_BYTES
    allow_private: bool = False


class GoneError(InputError):
    """A page that its site no longer has."""


class FetchProgress(Protocol):
    """Callback with the number of pages fetched so far, and the address that is fetched now."""

    def __call__(self, count: int, address: str, /) -> None: ...


def fetch_pages(
    urls: Iterable[str], folder: Path, limits: WebLimits | None = None, *, progress: FetchProgress | None = None
) -> FoundFiles:
    """Fetch pages, and the pages that sitemaps among them list, as files; what cannot be fetched is reported."""
    limits = limits or WebLimits()
    with Fetcher(allow_private=limits.allow_private, most_bytes=limits.bytes, seconds=limits.seconds) as fetcher:
        return _Visit(fetcher, folder, limits, progress).run(urls)


@dataclass(slots=True)
class _Crawl:
    """Progress on one given address: the pages of its sitemaps, and whether all of these could be read."""

    sitemap: str = ""
    pages: list[str] = field(default_factory=list)
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class _Step:
    """An address to fetch; `is_map` says that an index of sitemaps names it."""

    url: str
    crawl: _Crawl
    is_map: bool = False


@dataclass(slots=True)
class _Visit:
    """One visit of some sites."""

    fetcher: Fetcher
    folder: Path
    limits: WebLimits
    progress: FetchProgress | None = None
    gone: list[str] = field(default_factory=list)
    files: list[SourceFile] = field(default_factory=list)
    failed: list[Failure] = field(default_factory=list)
    rules: dict[str, robots.Robots] = field(default_factory=dict)
    last: dict[str, float] = field(default_factory=dict)
    kept_bytes: int = 0

    def run(self, urls: Iterable[str]) -> FoundFiles:
        crawls = [_Step(url, _Crawl()) for url in urls]
        waiting, seen, sitemaps = crawls[::-1], set[str](), 0
        while waiting:
            step = waiting.pop()
            # Pages that fail count as well: a sitemap may list any number of addresses that lead nowhere.
            if self._is_full(pages=len(seen) - sitemaps):
                reason = f"More than {self.limits.pages} pages or {self.limits.total_bytes / 1e9:.1f} GB were listed."
                self.failed.append(Failure(step.url, f"{reason} Raise --pages, or name the pages you mean."))
                for left in (step, *waiting):
                    left.crawl.is_whole = False
                break
            address = step.url
            try:
                address = check_url(step.url)
                if step.crawl.sitemap and not step.is_map:
                    step.crawl.pages.append(address)
                if address in seen:
                    continue
                seen.add(address)
                if self.progress is not None:
                    self.progress(len(self.files), address)
                page = self.page(address)
                if page.suffix in _MAP_SUFFIXES:
                    sitemaps += 1
                    if sitemaps > _MOST_SITEMAPS:
                        raise InputError(f"More than {_MOST_SITEMAPS} sitemaps.", remedy="Name the one you mean.")
                    waiting.extend(reversed(list(_steps(page, step.crawl))))
                    step.crawl.sitemap = step.crawl.sitemap or address
                else:
                    self.keep(address, page)
            except InputError as error:
                self.failed.append(Failure(address, str(error)))
                if step.is_map or address.endswith(_MAP_SUFFIXES):
                    step.crawl.is_whole = False
                if isinstance(error, GoneError):
                    self.gone.append(address)
        whole = (step.crawl for step in crawls if step.crawl.sitemap and step.crawl.is_whole)
        listings = tuple(Listing(crawl.sitemap, tuple(dict.fromkeys(crawl.pages))) for crawl in whole)
        return FoundFiles(tuple(self.files), (), tuple(self.failed), gone=tuple(self.gone), listings=listings)

    def _is_full(self, *, pages: int) -> bool:
        return pages >= self.limits.pages or self.kept_bytes > self.limits.total_bytes

    def page(self, url: str) -> Page:
        """A page, through its redirects; every address on the way is asked of its site's robots.txt."""
        until, address = monotonic() + self.limits.seconds, url
        for _ in range(MOST_REDIRECTS + 1):
            if not self._robots(address).allows(address):
                raise InputError(f"The site's robots.txt forbids '{address}'.", remedy="Ask who runs it for a copy.")
            self._wait(address)
            answer = self.fetcher.hop(address, max(until, monotonic() + 1.0))
            if isinstance(answer, Page):
                if answer.status in (404, 410):
                    raise GoneError(f"'{url}' was answered with {answer.status}.", remedy="Check the address.")
                if answer.status != 200:
                    raise InputError(f"'{url}' was answered with {answer.status}.", remedy="Check the address.")
                return answer
            address = answer
        raise InputError(f"'{url}' redirects more than {MOST_REDIRECTS} times.", remedy="Give the final address.")

    def keep(self, url: str, page: Page) -> None:
        """Write a page to the folder, as a file of its kind."""
        if page.suffix not in readers():
            raise InputError(f"'{url}' is of the kind '{page.suffix}', which cannot be read.", remedy="Leave it out.")
        name = Path(urlsplit(url).path).stem or urlsplit(url).hostname or "page"
        inner = self.folder / str(len(self.files))
        inner.mkdir(parents=True)
        path = inner / f"{name[:80]}{page.suffix}"
        path.write_bytes(page.content)
        self.kept_bytes += len(page.content)
        self.files.append(SourceFile(path, url))

    def _robots(self, url: str) -> robots.Robots:
        site = _site(url)
        if site not in self.rules:
            self.rules[site] = self._read_robots(f"{site}/robots.txt")
        return self.rules[site]

    def _read_robots(self, url: str) -> robots.Robots:
        """The rules of a site: none where there is no file, everything forbidden where its server fails."""
        address = url
        for _ in range(MOST_REDIRECTS + 1):
            answer = self.fetcher.hop(address)
            if isinstance(answer, Page):
                if answer.status >= 500:
                    return robots.NOTHING
                return (
                    robots.parse(answer.content.decode("utf-8", "replace")) if answer.status == 200 else robots.Robots()
                )
            address = answer
        return robots.Robots()

    def _wait(self, url: str) -> None:
        site = _site(url)
        pause = max(self.limits.pause, self.rules[site].delay)
        if site in self.last:
            time.sleep(max(0.0, self.last[site] + pause - monotonic()))
        self.last[site] = monotonic()


def _site(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _steps(page: Page, crawl: _Crawl) -> Iterator[_Step]:
    """The addresses that a sitemap lists, those of its own host alone."""
    content = _unzipped(page) if page.content.startswith(b"\x1f\x8b") else page.content
    root, place, in_place = "", "", False
    host = urlsplit(page.url).netloc
    pieces = (content[start : start + _CHUNK] for start in range(0, len(content), _CHUNK))
    for event in parse(pieces, page.url, "sitemap"):
        if isinstance(event, Start):
            root = root or event.tag
            in_place, place = event.tag == "loc", ""
            if root not in ("urlset", "sitemapindex"):
                raise InputError(f"'{page.url}' is XML, and no sitemap.", remedy="Give a page or a sitemap.")
        elif isinstance(event, str):
            # One address may come in two events, and none is longer than this.
            if in_place and len(place) < _LONGEST_ADDRESS:
                place += event
        else:
            if in_place and (address := _on_host(page.url, place.strip(), host)):
                yield _Step(address, crawl, is_map=root == "sitemapindex")
            in_place = False


def _on_host(url: str, place: str, host: str) -> str:
    """The address of an entry of a sitemap; empty if it is no address or of another host."""
    try:
        address = urljoin(url, place)
        return address if urlsplit(address).netloc == host else ""
    except ValueError:
        return ""


def _unzipped(page: Page) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(page.content)) as opened:
            content = opened.read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"'{page.url}' is a damaged archive.", remedy="Give a page or a sitemap.") from error
    if len(content) > MOST_BYTES:
        raise InputError(f"'{page.url}' unpacks into more than {MOST_BYTES // 2**20} MB.", remedy="Name its parts.")
    return content
