import pytest
from tests.effort import assert_linear

from dragoman.sources.web.robots import NOTHING, parse

TEXT = """
User-agent: other
Disallow: /

User-agent: *
Disallow: /tmp
Allow: /tmp/open
Disallow: /*.pdf$
Disallow: /a*b
Disallow:
Crawl-delay: 2
Sitemap: https://example.org/sitemap.xml
"""


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/", True),
        ("/tmp/x", False),
        ("/tmp/open/x", True),
        ("/doc/a.pdf", False),
        ("/doc/a.pdf?x=1", True),
        ("/a/some/b/c", False),
        ("/%74mp/x", False),
    ],
)
def test_the_longest_rule_decides(path, allowed):
    assert parse(TEXT).allows(f"https://example.org{path}") is allowed


def test_delay_and_sitemaps_are_read():
    assert (parse(TEXT).delay, parse(TEXT).sitemaps) == (2.0, ("https://example.org/sitemap.xml",))
    assert parse("User-agent: *\nCrawl-delay: 9999").delay == 10.0


def test_a_group_of_our_own_counts_alone():
    rules = parse("User-agent: *\nDisallow: /\n\nUser-agent: x\nUser-agent: Dragoman/1.0\nDisallow: /no\n")
    assert rules.allows("https://a.org/yes") and not rules.allows("https://a.org/no")


def test_an_equal_permission_wins_and_nothing_forbids_nothing():
    assert parse("User-agent: *\nDisallow: /a\nAllow: /a").allows("https://a.org/a")
    assert parse("").allows("https://a.org/a") and not NOTHING.allows("https://a.org/a")


@pytest.mark.trust
def test_many_stars_take_no_time():
    rules = parse("User-agent: *\nDisallow: /" + "*a" * 5000 + "b")
    assert rules.allows("https://a.org/" + "a" * 5000)


@pytest.mark.trust
def test_a_file_that_names_thousands_of_agents_is_read_in_linear_time():
    """Each rule once went to each agent: 512,000 characters could stand for hundreds of millions of rules."""

    def read(count):
        rules = parse("User-agent: a\n" * count + "User-agent: *\n" + "Disallow: /x\n" * count)
        assert len(rules.rules) == count and not rules.allows("https://a.org/x")

    assert_linear(read, 15_000)
