"""Pages, sitemaps and Git repositories as files to ingest."""

from __future__ import annotations


def is_address(path: object) -> bool:
    """Whether a path on the command line is an address on the web or of a Git repository."""
    return isinstance(path, str) and path.startswith(("https://", "http://", "git+"))
