"""Hooks of the site: pages beside docs/, API reference, a page for each command, and links that lead out of docs/."""

from __future__ import annotations

import os
import posixpath
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
BESIDE = ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
"""Pages of the repository's root that the site shows too."""
_COMMANDS: dict[str, str] = {}
"""The page of each command by its name."""
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s#]+)(#[^)]*)?\)")
_API = """# Python

What `import dragoman` offers; the other modules may change without notice.

::: dragoman.agent.build.load

::: dragoman.agent.assistant.Assistant
    options:
      inherited_members: true

::: dragoman.core.trace.Reply

::: dragoman.core.trace.Trace

::: dragoman.core.values

::: dragoman.core.records

::: dragoman.core.protocols

::: dragoman.core.errors
"""


def on_files(files: Any, config: Any) -> Any:
    """Add the pages of the repository's root, the API reference from docstrings, and a page for each command."""
    from mkdocs.structure.files import File

    sys.path.insert(0, str(ROOT / "docs"))
    import generate_help

    os.environ.update(generate_help.PLAIN)
    _COMMANDS.update(generate_help.command_pages())
    for name in BESIDE:
        files.append(File.generated(config, name, content=(ROOT / name).read_text(encoding="utf-8")))
    files.append(File.generated(config, "api.md", content=_API))
    for name, content in _COMMANDS.items():
        files.append(File.generated(config, f"cli/{name}.md", content=content))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Point links to pages of the root at their copies, and take links to other files of the repository away."""
    here = posixpath.dirname(page.file.src_uri)
    if page.file.src_uri == "cli/README.md":
        markdown += "\n" + "\n".join(f"- [`dragoman {name}`]({name}.md)" for name in _COMMANDS) + "\n"

    def mended(match: re.Match[str]) -> str:
        text, target, anchor = match[1], match[2], match[3] or ""
        if "://" in target or target.startswith("mailto:"):
            return match[0]
        base = "" if page.file.src_uri in BESIDE else "docs"
        place = posixpath.normpath(posixpath.join(base, here, target))
        inside = place.removeprefix("docs/") if place.startswith("docs/") else place if place in BESIDE else ""
        if not inside or files.get_file_from_path(inside) is None:
            return text
        return f"[{text}]({posixpath.relpath(inside, here or '.')}{anchor})"

    return _LINK.sub(mended, markdown)
