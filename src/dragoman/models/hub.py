"""Share trained parts on a model hub: push one as a repository, and pull one after checking every file.

A pulled part is a stranger's: nothing but data formats is downloaded, every file must have the hash that `part.json`
names, and a base model must be one that is known here.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from dragoman.core.environment import home
from dragoman.core.errors import EndpointError, InputError, WeightsError
from dragoman.models import weights
from dragoman.models.base_weights import base_digest
from dragoman.models.onnx.outside_data import check_self_contained
from dragoman.models.part import FILE, Part, open_part

if TYPE_CHECKING:
    from huggingface_hub import HfApi

PREFIX = "hf:"
CARD = "README.md"
MOST_BYTES = 16 * 2**30
MOST_FILES = 100
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")
_DATA = frozenset({".json", ".md", ".txt", ".onnx", ".safetensors", ".gguf"})
"""Suffixes of files that hold data only; a pickle, a program or an archive may run code when it is loaded."""
_IGNORED = frozenset({".gitattributes", ".gitignore", "LICENSE"})


@dataclass(frozen=True, slots=True)
class HubName:
    """A repository on the hub, at a revision."""

    repository: str
    revision: str = "main"

    @property
    def folder(self) -> Path:
        """Return the folder of a pulled part; roles find it by the name of its repository."""
        return home() / "parts" / self.repository


def hub_name(text: str) -> HubName:
    """Parse `hf:OWNER/NAME` or `hf:OWNER/NAME@REVISION`."""
    repository, _, revision = text.removeprefix(PREFIX).partition("@")
    if not text.startswith(PREFIX) or not _NAME.fullmatch(repository) or ".." in repository:
        raise InputError(f"'{text}' is not a name on the hub.", remedy="Write hf:OWNER/NAME or hf:OWNER/NAME@REVISION.")
    return HubName(repository, revision or "main")


def push_part(part: str | Path, target: HubName, *, private: bool = True, tables: str = "") -> str:
    """Upload a part with its model card as one commit; return its address. Needs a token (`hf auth login`).

    `tables` are those of an agent.toml that uses it, for the card.
    """
    from huggingface_hub import CommitOperationAdd

    opened = open_part(part)
    if opened.shares:
        raise InputError(f"'{part}' is one head of a shared part.", remedy="Push the folder around it.")
    files = {FILE: opened.folder / FILE, **{name: opened.file(name) for name in opened.files}}
    for inner in sorted(opened.folder.glob(f"*/{FILE}")):
        files[f"{inner.parent.name}/{FILE}"] = inner
    _check_names(files, str(part))
    additions = [CommitOperationAdd(name, path) for name, path in files.items()]
    additions.append(CommitOperationAdd(CARD, card(opened, target, tables).encode()))
    with _reported(target):
        api = _api()
        api.create_repo(target.repository, private=private, exist_ok=True)
        commit = api.create_commit(
            target.repository, additions, commit_message=f"Add the part {opened.kind}", revision=target.revision
        )
    return str(commit.commit_url)


def pull_part(source: HubName) -> Part:
    """Download a part, check it, and move it to `$DRAGOMAN_HOME/parts/OWNER/NAME`, over an older one."""
    source.folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".pull-", dir=source.folder.parent) as temporary:
        folder = Path(temporary) / source.folder.name
        with _reported(source):
            _download(source, folder)
        part = open_part(folder)
        for inner in folder.glob(f"*/{FILE}"):
            open_part(inner.parent)
        for model in folder.rglob("*.onnx"):
            check_self_contained(model)
        _check_base(part)
        if source.folder.exists():
            shutil.rmtree(source.folder)
        folder.rename(source.folder)
    return open_part(source.folder)


def card(part: Part, target: HubName, tables: str = "") -> str:
    """The model card: the part's own, under the hub's header, and how to use it."""
    own = part.folder / CARD
    text = (
        own.read_text(encoding="utf-8")
        if own.is_file()
        else f"# {part.folder.name}\n\nA part of the kind `{part.kind}`.\n"
    )
    licence = str(_recipe(part).get("licence", ""))
    spdx = re.match(r"Apache-2\.0|MIT", licence)
    header = {
        "library_name": "dragoman",
        "tags": ["dragoman", part.kind.partition(".")[0]],
        # What was learned from other sets may carry their terms, which the card names.
        "license": spdx[0].lower() if spdx and spdx[0] == licence else "other",
    }
    lines = [f"{key}: {json.dumps(value)}" for key, value in header.items()]
    use = f"\n## How to use\n\n    dragoman parts pull {PREFIX}{target.repository}\n"
    if tables:
        use += f"\nIn agent.toml:\n\n```toml\n{tables}\n```\n"
    body = text if "dragoman parts pull" in text else f"{text.rstrip()}\n{use}"
    return "---\n" + "\n".join(lines) + "\n---\n\n" + body.removeprefix("\n")


def _download(source: HubName, folder: Path) -> None:
    from huggingface_hub import hf_hub_download

    api = _api()
    info = api.model_info(source.repository, revision=source.revision, files_metadata=True)
    sizes = {file.rfilename: file.size or 0 for file in info.siblings or ()}
    downloads = {name: size for name, size in sizes.items() if PurePosixPath(name).name not in _IGNORED}
    _check_names(downloads, source.repository)
    if len(downloads) > MOST_FILES or sum(downloads.values()) > MOST_BYTES:
        raise WeightsError(
            f"'{source.repository}' has {len(downloads)} files of {sum(downloads.values()) / 1e9:.1f} GB.",
            remedy=f"A part has up to {MOST_FILES} files and {MOST_BYTES / 1e9:.0f} GB.",
        )
    for name in downloads:
        # By commit, not by branch: what was listed is what is downloaded.
        hf_hub_download(
            source.repository, name, revision=info.sha, local_dir=folder, endpoint=api.endpoint, token=api.token
        )
    shutil.rmtree(folder / ".cache", ignore_errors=True)


def _check_names(names: Iterable[str], where: str) -> None:
    """Refuse files that are not data, or that lie elsewhere than a part's do."""
    listed = list(names)
    for name in listed:
        path = PurePosixPath(name)
        if path.suffix.lower() not in _DATA:
            raise WeightsError(
                f"'{where}' holds {name}, which may run code when it is loaded.",
                remedy=f"A part holds {', '.join(sorted(_DATA))} only.",
            )
        if len(path.parts) > 2 or path.is_absolute() or any(piece.startswith(".") for piece in path.parts):
            raise WeightsError(
                f"'{where}' holds {name}, which is no place for a file of a part.", remedy="Do not use it."
            )
    if FILE not in listed:
        raise WeightsError(f"'{where}' is no part for Dragoman: it has no {FILE}.", remedy="Check the name.")


def _check_base(part: Part) -> None:
    """Refuse a part that is to run on a base model which is not known here, or has other weights."""
    base = part.options.get("base")
    if base is None:
        return
    name = str(base)
    is_available = name in weights.CATALOGUE or (Path(name).name == name and (home() / "models" / name).exists())
    if not is_available:
        raise WeightsError(
            f"The part was trained on the base '{name}', which is not known here.",
            remedy=f"Put these weights into $DRAGOMAN_HOME/models/{Path(name).name}, and pull again.",
        )
    expected = part.options.get("base_sha256")
    if expected is not None and base_digest(name) != expected:
        raise WeightsError(
            f"The part was trained on other weights than '{name}' has here.", remedy="Ask who made it for its base."
        )


def _recipe(part: Part) -> dict[str, Any]:
    recipe = part.made.get("recipe")
    return recipe if isinstance(recipe, dict) else {}


def _api() -> HfApi:
    from huggingface_hub import HfApi

    return HfApi(endpoint=os.environ.get("HF_ENDPOINT") or None, token=os.environ.get("HF_TOKEN") or None)


@contextmanager
def _reported(name: HubName) -> Iterator[None]:
    """Turn errors of the hub and of its client into ours."""
    from huggingface_hub.errors import HfHubHTTPError, LocalTokenNotFoundError

    foreign: tuple[type[Exception], ...] = (HfHubHTTPError, LocalTokenNotFoundError, OSError, ValueError)
    try:
        yield
    except foreign + _network_errors() as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        raise EndpointError(
            f"The hub did not take or give '{name.repository}': {reason}",
            remedy="Check the name, your token (HF_TOKEN) and the network.",
        ) from error


def _network_errors() -> tuple[type[Exception], ...]:
    """Return the errors that the hub's client raises without a connection; they depend on its HTTP library."""
    errors = [import_module(name).HTTPError for name in ("httpx", "httpx2") if find_spec(name) is not None]
    return tuple(errors)
