"""Downloads of weights by address: from a model hub or any URL, resumed where they broke off, with a checked hash.

A hub (`hf:OWNER/REPO/FILE.gguf`) answers `/OWNER/REPO/resolve/main/FILE` with a redirect to the file, whose SHA-256 is
in `X-Linked-ETag` and size in `X-Linked-Size`, and `/api/models/OWNER/REPO` with the licence. `HF_ENDPOINT` names
another hub, `HF_TOKEN` the token for gated models; the token is sent to the hub's own host and to no other one.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote, urljoin, urlsplit

from dragoman.core.environment import home
from dragoman.core.errors import WeightsError
from dragoman.models.suggested import SUGGESTIONS

if TYPE_CHECKING:
    import httpx

Progress: TypeAlias = Callable[[int, int | None], None]
"""Called with the bytes that are here and the bytes in all."""
HUB = "https://huggingface.co"
_MOST_HEADER = 1 << 20
_HOPS = 5
_SHA256 = re.compile(r'^"?([0-9a-f]{64})"?$')
_HF = re.compile(r"^hf:(?P<owner>[\w.-]+)/(?P<repo>[\w.-]+)/(?P<file>[\w./-]+\.gguf)$")
_REMEDIES = {
    401: "The model is gated: accept its terms on its page, and set HF_TOKEN to a token of yours.",
    403: "The model is gated: accept its terms on its page, and set HF_TOKEN to a token that may read it.",
    404: "Check the owner, the repository and the file's name on the model's page.",
    429: "Wait a while, then pull again: it goes on where it stopped.",
}


@dataclass(frozen=True, slots=True)
class Address:
    """Source and target of a download; `page` states the licence, "" if nothing does."""

    name: str
    url: str
    file: Path
    page: str = ""


@dataclass(frozen=True, slots=True)
class Offer:
    """Size, hash and licence of a file before its download; `sha256` is "" and `bytes` None if unknown."""

    address: Address
    url: str
    bytes: int | None
    sha256: str
    etag: str
    licence: str


def is_address(name: str) -> bool:
    """Whether a name is an address or an alias of one, and not in the catalogue."""
    return name.startswith(("hf:", "http://", "https://")) or name in SUGGESTIONS


def address(name: str) -> Address:
    """Resolve `hf:OWNER/REPO/FILE.gguf`, a URL or the name of a suggested model to its address."""
    if name in SUGGESTIONS:
        return replace(address(SUGGESTIONS[name].address), name=name)
    if name.startswith("hf:"):
        match = _HF.match(name)
        if match is None or ".." in match["file"].split("/"):
            raise WeightsError(f"'{name}' is no file of a model hub.", remedy="Write hf:OWNER/REPO/FILE.gguf.")
        hub = os.environ.get("HF_ENDPOINT", "").rstrip("/") or HUB
        owner, repo, file = match["owner"], match["repo"], match["file"]
        place = home() / "models" / f"{owner}--{repo}" / file.replace("/", "--")
        url, page = f"{hub}/{owner}/{repo}/resolve/main/{file}", f"{hub}/api/models/{owner}/{repo}"
        return Address(name, url, place, page)
    path = Path(unquote(urlsplit(name).path)).name
    if not path.endswith(".gguf") or not re.fullmatch(r"[\w.-]+", path):
        raise WeightsError(f"'{name}' is not the address of a GGUF file.", remedy="Give a URL that ends in .gguf.")
    folder = hashlib.sha256(name.encode()).hexdigest()[:12]
    return Address(name, name, home() / "models" / folder / path)


def ask(where: Address, *, transport: object | None = None) -> Offer:
    """Ask the server for size, hash and licence of a file; nothing is downloaded yet."""
    with _client(transport) as client:
        response, url = _open(client, where, {"Range": "bytes=0-0"})
        with _closing(response):
            headers = response.headers
            size = headers.get("x-linked-size") or _total(headers.get("content-range", ""))
            linked = _SHA256.match(headers.get("x-linked-etag", "")) or _SHA256.match(headers.get("etag", ""))
            etag = headers.get("etag", "")
        licence = _licence(client, where) if where.page else ""
    count = int(size) if size and size.isdigit() and len(size) < 16 else None
    digest = linked[1] if linked else ""
    expected = SUGGESTIONS[where.name].sha256 if where.name in SUGGESTIONS else ""
    if expected and digest and digest != expected:
        raise WeightsError(
            f"The file of '{where.name}' has changed: its SHA-256 is {digest}, not {expected}.",
            remedy=f"Look at the model's page; pull {SUGGESTIONS[where.name].address} if you trust the new file.",
        )
    return Offer(where, url, count, digest or expected, etag, licence)


def fetch(offer: Offer, *, progress: Progress | None = None, transport: object | None = None) -> Path:
    """Fetch a file, going on where an earlier attempt stopped; it is moved into place once its hash is right."""
    place = offer.address.file
    part, note = place.with_name(f"{place.name}.part"), place.with_name(f"{place.name}.part.json")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        if offer.bytes is not None and offer.bytes > shutil.disk_usage(place.parent).free + _present(part):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        mark = {"url": offer.address.url, "sha256": offer.sha256, "etag": offer.etag, "bytes": offer.bytes}
        if _read(note) != mark:  # what is here is a part of another file
            part.unlink(missing_ok=True)
            note.write_text(json.dumps(mark), encoding="utf-8")
        with _client(transport) as client:
            _append(client, offer, part, progress)
        digest = _checked(offer, part)
        part.replace(place)
        note.unlink(missing_ok=True)
        record = {"name": offer.address.name, "sha256": digest, "licence": offer.licence}
        place.with_name(f"{place.name}.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise WeightsError(
                f"The disk is too full for '{offer.address.name}'.",
                remedy="Free some space, or set DRAGOMAN_HOME to a folder on a larger disk; pull again to go on.",
            ) from error
        raise WeightsError(
            f"'{place}' cannot be written: {error.strerror or error}.", remedy="Make the folder writable."
        ) from error
    return place


def _append(client: httpx.Client, offer: Offer, part: Path, progress: Progress | None) -> None:
    present = _present(part)
    if offer.bytes is not None and present >= offer.bytes:
        return
    headers = {"Range": f"bytes={present}-"} if present else {}
    if present and offer.etag and not offer.etag.startswith("W/"):
        headers["If-Range"] = offer.etag
    response, _ = _open(client, offer.address, headers)
    with _closing(response), part.open("ab" if response.status_code == 206 else "wb") as file:
        done = present if response.status_code == 206 else 0
        for chunk in _chunks(response, offer):
            file.write(chunk)
            done += len(chunk)
            if offer.bytes is not None and done > offer.bytes:
                raise WeightsError(
                    f"'{offer.address.name}' is longer than its server said.", remedy="Pull again; do not use it."
                )
            if progress is not None:
                progress(done, offer.bytes)


def _chunks(response: httpx.Response, offer: Offer) -> Iterator[bytes]:
    import httpx

    try:
        yield from response.iter_bytes()  # as they come: what has come is kept where the rest does not
    except httpx.HTTPError as error:
        raise WeightsError(
            f"The download of '{offer.address.name}' broke off: {error or type(error).__name__}.",
            remedy="Pull again: it goes on where it stopped.",
        ) from error


def _checked(offer: Offer, part: Path) -> str:
    size = _present(part)
    if offer.bytes is not None and size < offer.bytes:
        raise WeightsError(
            f"'{offer.address.name}' was cut short: {size} of {offer.bytes} bytes came.",
            remedy="Pull again: it goes on where it stopped.",
        )
    with part.open("rb") as file:
        magic = file.read(4)
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if magic != b"GGUF":
        part.unlink()
        raise WeightsError(f"'{offer.address.name}' is not a GGUF file.", remedy="Check the address.")
    if offer.sha256 and digest != offer.sha256:
        part.unlink()
        raise WeightsError(
            f"'{offer.address.name}' has the SHA-256 {digest}, not {offer.sha256}; it was not kept.",
            remedy="Pull again; if it stays so, do not use it.",
        )
    return digest


def _open(client: httpx.Client, where: Address, headers: dict[str, str]) -> tuple[httpx.Response, str]:
    """A response after redirects, whose hash headers are kept; the token goes to the first host alone."""
    import httpx

    url, linked = where.url, dict[str, str]()
    host = urlsplit(url).netloc
    for _ in range(_HOPS):
        token = os.environ.get("HF_TOKEN", "").strip() if where.page and urlsplit(url).netloc == host else ""
        own = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            response = client.send(client.build_request("GET", url, headers=headers | own), stream=True)
        except httpx.HTTPError as error:
            raise WeightsError(
                f"'{where.name}' cannot be reached: {error or type(error).__name__}.",
                remedy="Check the network, then pull again: it goes on where it stopped.",
            ) from error
        linked |= {key: value for key, value in response.headers.items() if key.startswith("x-linked-")}
        place = response.headers.get("location", "")
        if response.status_code in (301, 302, 303, 307, 308) and place:
            response.close()
            target = urljoin(url, place)
            if urlsplit(url).scheme == "https" and urlsplit(target).scheme != "https":
                raise WeightsError(f"'{where.name}' is redirected to {target}.", remedy="Give an https address.")
            url = target
            continue
        if response.status_code >= 300:
            response.close()
            raise WeightsError(
                f"The server answered {response.status_code} for '{where.name}'.",
                remedy=_REMEDIES.get(response.status_code, "Try again later."),
                status=response.status_code,
            )
        response.headers.update(linked)
        return response, url
    raise WeightsError(f"'{where.name}' is redirected too often.", remedy="Check the address.")


def _licence(client: httpx.Client, where: Address) -> str:
    """The licence that a model's page states; "" where it cannot be read."""
    page = Address(where.name, where.page, where.file, where.page)
    try:
        response, _ = _open(client, page, {})
        with _closing(response):
            text = b"".join(response.iter_bytes())[:_MOST_HEADER]
        card = json.loads(text)
    except (WeightsError, ValueError, RecursionError):
        return ""
    stated = card.get("cardData") if isinstance(card, dict) else None
    licence = stated.get("license", "") if isinstance(stated, dict) else ""
    return licence if isinstance(licence, str) else ", ".join(map(str, licence)) if isinstance(licence, list) else ""


def _client(transport: object | None) -> httpx.Client:
    import httpx

    return httpx.Client(
        transport=transport,  # type: ignore[arg-type]  # a transport of httpx, which is imported late
        timeout=httpx.Timeout(30.0),
        headers={"Accept-Encoding": "identity", "User-Agent": "dragoman"},
    )


@contextmanager
def _closing(response: httpx.Response) -> Iterator[None]:
    try:
        yield
    finally:
        response.close()


def _total(content_range: str) -> str:
    return content_range.rpartition("/")[2]


def _present(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _read(note: Path) -> Any:
    try:
        return json.loads(note.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
