"""Pages, sitemaps and Git repositories as files to ingest."""

from __future__ import annotations

from dragoman.text import lazy_re as re

_SCHEME = re.compile(r"git\+|[a-z][a-z0-9+.-]+://", re.I)


def is_address(path: object) -> bool:
    """Whether a path on the command line is an address, of a Git repository or of any scheme, and no file."""
    return isinstance(path, str) and _SCHEME.match(path) is not None
