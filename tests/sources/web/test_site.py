"""Pages, sitemaps and robots.txt, against a server on this machine; and sites that mean no good."""

import gzip
import time
from contextlib import suppress
from dataclasses import replace

import pytest

from dragoman.core.values import Scope, Source
from dragoman.sources.ingest import ingest
from dragoman.sources.web.site import WebLimits, fetch_pages
from dragoman.stores.in_memory import InMemoryStore
from dragoman.testing.stubs import StubEncoder

HERE = WebLimits(pause=0.0, allow_private=True)


def fetch(site, tmp_path, *paths, limits=HERE):
    return fetch_pages([f"{site.url}{path}" for path in paths], tmp_path / "pages", limits)


def sitemap(site, *paths, root="urlset", entry="url"):
    rows = "".join(f"<{entry}><loc>{site.url}{path}</loc></{entry}>" for path in paths)
    return 200, {"content-type": "application/xml"}, f"<{root}>{rows}</{root}>".encode()


def reasons(found):
    return [reason for _, reason in found.failed]


def test_a_page_is_read_under_its_address(site):
    site.html("/ferry", "<title>Ferry</title><p>It leaves at nine.</p>")
    store, source = InMemoryStore(), Source("DOCUMENTS")
    url = f"{site.url}/ferry"
    first = ingest(store, StubEncoder(), source, [url], scope=Scope(), web=HERE)
    again = ingest(store, StubEncoder(), source, [f"{url}#times"], scope=Scope(), web=HERE)
    (passage,) = store.passages(source.scope(Scope()), "DOCUMENTS")
    assert (passage.text, passage.title, passage.origin) == ("It leaves at nine.", "Ferry", url)
    assert (first.added, again.added, again.unchanged) == (1, 0, 1)


def test_pages_of_a_sitemap_are_read_those_of_other_hosts_are_not(site, tmp_path):
    site.html("/a", "<p>a</p>")
    site.html("/b", "<p>b</p>")
    status, _, content = sitemap(site, "/a", "/b", "/a")
    content = content.replace(b"</urlset>", b"<url><loc>https://example.org/x</loc></url></urlset>")
    site.pages["/part.xml.gz"] = (status, {"content-type": "application/gzip"}, gzip.compress(content))
    site.pages["/sitemap.xml"] = sitemap(site, "/part.xml.gz", root="sitemapindex", entry="sitemap")
    found = fetch(site, tmp_path, "/sitemap.xml")
    assert [file.origin for file in found.files] == [f"{site.url}/a", f"{site.url}/b"]
    assert found.failed == ()


def read(store, site, *paths, sync=True, limits=HERE, progress=None):
    """Ingest pages of the site; the report and the paths of the pages that the store holds afterwards."""
    source, urls = Source("DOCUMENTS"), [f"{site.url}{path}" for path in paths]
    report = ingest(store, StubEncoder(), source, urls, scope=Scope(), sync=sync, web=limits, progress=progress)
    origins = {passage.origin for passage in store.passages(source.scope(Scope()), "DOCUMENTS")}
    return report, sorted(origin.removeprefix(site.url) for origin in origins)


def test_sync_removes_pages_that_the_sitemap_no_longer_lists_and_keeps_others(site):
    for name in ("a", "b", "alone"):
        site.html(f"/{name}", f"<p>{name}</p>")
    site.pages["/map.xml"] = sitemap(site, "/a", "/b")
    store = InMemoryStore()
    read(store, site, "/map.xml", "/alone")
    site.html("/a", "<p>a has changed</p>")
    site.html("/c", "<p>c</p>")
    site.pages["/map.xml"] = sitemap(site, "/a", "/c")
    kept, pages = read(store, site, "/map.xml", sync=False)
    assert (kept.added, kept.changed, kept.removed, pages) == (1, 1, 0, ["/a", "/alone", "/b", "/c"])
    report, pages = read(store, site, "/map.xml")
    assert (report.removed, report.failed, pages) == (1, (), ["/a", "/alone", "/c"])


def test_sync_removes_a_page_that_is_gone_and_keeps_one_whose_server_fails(site):
    for name in ("a", "b", "c"):
        site.html(f"/{name}", f"<p>{name}</p>")
    store = InMemoryStore()
    read(store, site, "/a", "/b", "/c")
    site.pages["/a"], site.pages["/b"] = (410, {}, b""), (503, {}, b"")
    report, pages = read(store, site, "/a", "/b", "/c", "/never")
    assert (report.removed, pages) == (1, ["/b", "/c"])
    assert [path.removeprefix(site.url) for path, _ in report.failed] == ["/b", "/never"]
    site.pages["/b"] = (404, {}, b"")
    report, pages = read(store, site, "/b", sync=False)
    assert (len(report.failed), pages) == (1, ["/b", "/c"])


def test_sync_of_a_page_leaves_the_pages_below_it_alone(site):
    for path in ("/", "/a", "/a/b"):
        site.html(path, f"<p>{path}</p>")
    store = InMemoryStore()
    read(store, site, "/", "/a", "/a/b")
    report, pages = read(store, site, "/", "/a")
    assert (report.removed, pages) == (0, ["/", "/a", "/a/b"])


@pytest.mark.parametrize("broken", ["part", "whole", "full"])
def test_sync_removes_nothing_when_a_sitemap_was_not_read_to_its_end(site, broken):
    for name in ("a", "b", "c"):
        site.html(f"/{name}", f"<p>{name}</p>")
    site.pages["/one.xml"], site.pages["/two.xml"] = sitemap(site, "/a"), sitemap(site, "/b", "/c")
    site.pages["/map.xml"] = sitemap(site, "/one.xml", "/two.xml", root="sitemapindex", entry="sitemap")
    store = InMemoryStore()
    read(store, site, "/map.xml")
    limits = HERE
    if broken == "full":
        limits = replace(HERE, pages=1)
    else:
        site.pages["/two.xml" if broken == "part" else "/map.xml"] = (404, {}, b"")
    report, pages = read(store, site, "/map.xml", limits=limits)
    assert (report.removed, len(report.failed), pages) == (0, 1, ["/a", "/b", "/c"])


def test_an_address_that_is_none_does_not_stop_the_others(site):
    site.html("/a", "<p>a</p>")
    store, source = InMemoryStore(), Source("DOCUMENTS")
    urls = ["https://user:word@example.org/", f"{site.url}/a"]
    report = ingest(store, StubEncoder(), source, urls, scope=Scope(), web=HERE)
    assert report.added == 1 and "user name or password" in report.failed[0].reason
    assert "<td" in report._repr_html_() and "user name or password" in report._repr_html_()


def test_pages_are_counted_while_they_are_fetched(site):
    site.html("/a", "<p>a</p>")
    site.html("/b", "<p>b</p>")
    calls = []
    read(InMemoryStore(), site, "/a", "/b", progress=lambda *call: calls.append(call))
    fetched = [(done, name.removeprefix(site.url)) for done, total, name in calls if not total]
    assert fetched == [(0, "/a"), (1, "/b")]
    assert calls[-1][0] == calls[-1][1] > 0


def test_forbidden_pages_are_not_asked_for_and_the_others_go_on(site, tmp_path):
    site.pages["/robots.txt"] = (200, {}, b"User-agent: *\nDisallow: /private\n")
    site.html("/private/a", "<p>secret</p>")
    site.html("/open", "<p>open</p>")
    found = fetch(site, tmp_path, "/private/a", "/open")
    assert [file.origin for file in found.files] == [f"{site.url}/open"]
    assert "robots.txt forbids" in reasons(found)[0] and "/private/a" not in site.asked


def test_a_redirect_into_a_forbidden_place_is_not_followed(site, tmp_path):
    site.pages["/robots.txt"] = (200, {}, b"User-agent: dragoman\nDisallow: /private\n")
    site.pages["/old"] = (302, {"location": "/private/a"}, b"")
    assert "robots.txt forbids" in reasons(fetch(site, tmp_path, "/old"))[0]
    assert "/private/a" not in site.asked


def test_a_site_whose_robots_file_fails_is_left_alone(site, tmp_path):
    site.pages["/robots.txt"] = (503, {}, b"")
    site.html("/a", "<p>a</p>")
    assert "robots.txt forbids" in reasons(fetch(site, tmp_path, "/a"))[0]


@pytest.mark.trust
def test_private_addresses_are_refused_also_after_a_redirect(site, tmp_path, monkeypatch):
    site.html("/a", "<p>a</p>")
    found = fetch(site, tmp_path, "/a", limits=WebLimits(pause=0.0))
    assert "private address 127.0.0.1" in reasons(found)[0] and site.asked == []
    site.pages["/out"] = (302, {"location": "http://10.0.0.1/"}, b"")
    from dragoman.sources.web import addresses

    checked = addresses._is_public
    monkeypatch.setattr(addresses, "_is_public", lambda text: text == "127.0.0.1" or checked(text))
    found = fetch(site, tmp_path, "/out", limits=WebLimits(pause=0.0))
    assert "private address 10.0.0.1" in reasons(found)[0]


@pytest.mark.trust
def test_redirects_without_end_are_given_up(site, tmp_path):
    site.pages["/loop"] = (302, {"location": "/loop"}, b"")
    assert "redirects more than 5 times" in reasons(fetch(site, tmp_path, "/loop"))[0]
    assert site.asked.count("/loop") == 6


@pytest.mark.trust
@pytest.mark.parametrize("says_so", [True, False])
def test_a_page_without_end_is_given_up(site, tmp_path, says_so):
    sent = []

    def endless(handler):
        handler.send_response(200)
        handler.send_header("content-type", "text/html")
        if says_so:
            handler.send_header("content-length", str(10 * 2**30))
        handler.end_headers()
        try:
            while len(sent) < 1000:
                handler.wfile.write(b"x" * 100_000)
                sent.append(1)
        except OSError:
            pass

    site.pages["/endless"] = endless
    limits = WebLimits(pause=0.0, allow_private=True, bytes=2**20)
    found = fetch(site, tmp_path, "/endless", limits=limits)
    assert "has more than 1 MB" in reasons(found)[0] and len(sent) < 1000


@pytest.mark.trust
def test_a_page_that_drips_is_given_up(site, tmp_path):
    def slow(handler):
        handler.send_response(200)
        handler.end_headers()
        try:
            for _ in range(100):
                handler.wfile.write(b"x")
                time.sleep(0.1)
        except OSError:
            pass

    site.pages["/slow"] = slow
    site.pages["/robots.txt"] = (404, {}, b"")
    limits = WebLimits(pause=0.0, allow_private=True, seconds=0.3)
    found = fetch(site, tmp_path, "/slow", limits=limits)
    assert "takes more than" in reasons(found)[0]


def test_other_answers_are_reported_and_the_others_go_on(site, tmp_path):
    site.pages["/picture"] = (200, {"content-type": "image/png"}, b"\x89PNG")
    site.pages["/feed.xml"] = (200, {"content-type": "text/xml"}, b"<rss><channel/></rss>")
    site.pages["/bomb.xml"] = (200, {"content-type": "text/xml"}, b"<!DOCTYPE x [<!ENTITY a 'a'>]><urlset/>")
    site.html("/good", "<p>good</p>")
    found = fetch(site, tmp_path, "/none", "/picture", "/feed.xml", "/bomb.xml", "/good")
    assert [file.origin for file in found.files] == [f"{site.url}/good"]
    for reason, part in zip(reasons(found), ("404", "cannot be read", "no sitemap", "entities"), strict=True):
        assert part in reason


def test_the_number_of_pages_is_limited(site, tmp_path):
    for name in "abc":
        site.html(f"/{name}", f"<p>{name}</p>")
    found = fetch(site, tmp_path, "/a", "/b", "/c", limits=WebLimits(pause=0.0, allow_private=True, pages=2))
    assert len(found.files) == 2 and "More than 2 pages" in reasons(found)[0]


def test_requests_to_one_host_keep_their_distance(site, tmp_path, monkeypatch):
    pauses = []
    monkeypatch.setattr("dragoman.sources.web.site.time.sleep", pauses.append)
    site.pages["/robots.txt"] = (200, {}, b"User-agent: *\nCrawl-delay: 7\n")
    for name in "ab":
        site.html(f"/{name}", "<p>x</p>")
    fetch(site, tmp_path, "/a", "/b", limits=WebLimits(pause=0.5, allow_private=True))
    assert len(pauses) == 1 and 6.0 < pauses[0] <= 7.0


@pytest.mark.trust
@pytest.mark.parametrize(
    "location",
    [
        *("http://[::1/x", "http://h:99999/", "http://h:abc/", "file:///etc/passwd", "//", "http://%00/"),
        *("http://ä.test/ü", "/ü", "/a b", "http://a..b/", "http://127.0.0.1:0/", "x" * 3000),
    ],
)
def test_a_redirect_to_anything_ends_in_a_page_or_a_reason(site, tmp_path, location):
    site.pages["/x"] = (302, {"location": location.encode().decode("latin-1")}, b"")
    site.html("/fine", "<p>fine</p>")
    found = fetch(site, tmp_path, "/x", "/fine")
    assert [file.origin for file in found.files] == [f"{site.url}/fine"] and len(found.failed) == 1


@pytest.mark.trust
def test_addresses_in_any_script_are_fetched(site, tmp_path):
    site.html("/" + "%F0%9F%98%80" * 90, "<p>smile</p>")
    site.html("/a%20b", "<p>space</p>")
    site.pages["/map.xml"] = sitemap(site, "/" + "\U0001f600" * 90, "/a b", "")
    assert len(fetch(site, tmp_path, "/map.xml").files) == 2


@pytest.mark.trust
def test_headers_that_drip_are_given_up_at_the_deadline(site, tmp_path):
    """The timeouts of the HTTP library start anew with every byte."""

    waited_for = []

    def drip(handler):
        with suppress(OSError):  # once the client has hung up
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
            for _ in range(600):
                handler.wfile.write(b"a")
                handler.wfile.flush()
                time.sleep(0.1)
            waited_for.append("drip")

    site.pages["/drip"] = drip
    found = fetch(site, tmp_path, "/drip", limits=replace(HERE, seconds=1.0))
    assert "takes more than 1 s" in reasons(found)[0] and waited_for == []


@pytest.mark.trust
def test_a_sitemap_of_pages_that_lead_nowhere_is_given_up(site, tmp_path):
    site.pages["/map.xml"] = sitemap(site, *(f"/none{number}" for number in range(200)))
    found = fetch(site, tmp_path, "/map.xml", limits=replace(HERE, pages=10))
    assert len(site.asked) <= 13 and "More than 10 pages" in reasons(found)[-1]


@pytest.mark.trust
def test_pages_of_many_bytes_are_given_up_in_all(site, tmp_path):
    for name in "abcd":
        site.html(f"/{name}", f"<p>{'x' * 60_000}</p>")
    found = fetch(site, tmp_path, "/a", "/b", "/c", "/d", limits=replace(HERE, total_bytes=100_000))
    assert len(found.files) == 2 and "GB were listed" in reasons(found)[-1]


def test_an_address_of_a_sitemap_that_lies_across_two_pieces_is_whole(site, tmp_path):
    site.html("/page", "<p>whole</p>")
    status, headers, content = sitemap(site, "/page")
    site.pages["/map.xml"] = (status, headers, content.replace(b"<loc>", b" " * (2**16 - 30) + b"<loc>"))
    assert len(fetch(site, tmp_path, "/map.xml").files) == 1
