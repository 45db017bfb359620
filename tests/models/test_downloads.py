"""The hub's protocol, against a local server that behaves so."""

from __future__ import annotations

import hashlib
import re

import httpx
import pytest

from dragoman.core.errors import WeightsError
from dragoman.models import weights
from dragoman.models.downloads import address, ask, fetch

CONTENT = b"GGUF" + bytes(range(256)) * 400
DIGEST = hashlib.sha256(CONTENT).hexdigest()
NAME = "hf:acme/tiny-model-GGUF/tiny-q4.gguf"


class Hub:
    """A hub with one file behind a redirect to a store; `cuts` are the bytes after which downloads break off."""

    def __init__(self, content=CONTENT, *, digest=DIGEST, cuts=(), gated=False, ranges=True, licence="apache-2.0"):
        self.content, self.digest, self.cuts = content, digest, list(cuts)
        self.gated, self.ranges, self.licence = gated, ranges, licence
        self.requests = []

    def __call__(self, request):
        self.requests.append(request)
        if request.url.path.startswith("/api/models/"):
            return httpx.Response(200, json={"id": "x", "cardData": {"license": self.licence}})
        if request.url.host == "huggingface.co":
            if "tiny" not in request.url.path:
                return httpx.Response(404)
            if self.gated and request.headers.get("authorization") != "Bearer mine":
                return httpx.Response(401)
            linked = {"x-linked-etag": f'"{self.digest}"', "x-linked-size": str(len(self.content))}
            return httpx.Response(302, headers={"location": "https://cdn.test/blob", **linked})
        return self._file(request)

    def _file(self, request):
        start, end = 0, len(self.content)
        asked = re.match(r"bytes=(\d+)-(\d*)", request.headers.get("range", "")) if self.ranges else None
        headers = {"etag": '"v1"'}
        if asked:
            start, end = int(asked[1]), min(int(asked[2]) + 1, end) if asked[2] else end
            headers["content-range"] = f"bytes {start}-{end - 1}/{len(self.content)}"
        body = self.content[start:end]
        if self.cuts and request.headers.get("range") != "bytes=0-0":
            body = body[: self.cuts.pop(0)]
            return httpx.Response(206 if asked else 200, headers=headers, stream=Broken(body))
        return httpx.Response(206 if asked else 200, headers=headers, content=body)

    def transport(self):
        return httpx.MockTransport(self)


class Broken(httpx.SyncByteStream):
    def __init__(self, body):
        self.body = body

    def __iter__(self):
        yield self.body
        raise httpx.ReadError("connection reset")


def pulled(hub, name=NAME):
    offer = ask(address(name), transport=hub.transport())
    return fetch(offer, transport=hub.transport())


def test_a_file_is_fetched_with_its_hash_size_and_licence():
    hub = Hub()
    offer = ask(address(NAME), transport=hub.transport())
    assert (offer.bytes, offer.sha256, offer.licence) == (len(CONTENT), DIGEST, "apache-2.0")
    seen = []
    place = fetch(offer, transport=hub.transport(), progress=lambda done, total: seen.append((done, total)))
    assert place.read_bytes() == CONTENT
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert [file.name for file in place.parent.iterdir() if "part" in file.name] == []
    assert weights.path(NAME) == place, "an agent finds it by the same name"


def test_a_download_goes_on_where_it_broke_off():
    hub = Hub(cuts=[30_000, 20_000])
    for _ in range(2):
        with pytest.raises(WeightsError, match="broke off"):
            pulled(hub)
    assert pulled(hub).read_bytes() == CONTENT
    assert [r.headers.get("range") for r in hub.requests if r.url.host == "cdn.test"][-1] == "bytes=50000-"


def test_a_server_without_ranges_begins_again():
    hub = Hub(cuts=[30_000], ranges=False)
    with pytest.raises(WeightsError, match="broke off"):
        pulled(hub)
    assert pulled(hub).read_bytes() == CONTENT


def test_a_part_of_another_version_is_not_gone_on_with():
    with pytest.raises(WeightsError):
        pulled(Hub(cuts=[30_000]))
    other = b"GGUF" + b"other" * 20_000
    assert pulled(Hub(other, digest=hashlib.sha256(other).hexdigest())).read_bytes() == other


def test_a_wrong_hash_is_not_kept():
    hub = Hub(digest="0" * 64)
    with pytest.raises(WeightsError, match="SHA-256"):
        pulled(hub)
    assert not address(NAME).file.exists()


def test_a_file_cut_short_without_an_error_is_noticed():
    hub = Hub()
    offer = ask(address(NAME), transport=hub.transport())
    hub.content = CONTENT[:-100]
    with pytest.raises(WeightsError, match="cut short"):
        fetch(offer, transport=hub.transport())


def test_a_gated_model_names_the_remedy_and_the_token_stays_with_the_hub(monkeypatch):
    monkeypatch.delenv("HF_TOKEN", raising=False)
    hub = Hub(gated=True)
    with pytest.raises(WeightsError) as caught:
        pulled(hub)
    assert "HF_TOKEN" in caught.value.remedy
    monkeypatch.setenv("HF_TOKEN", "mine")
    assert pulled(hub).read_bytes() == CONTENT
    for request in hub.requests:
        assert request.url.host == "huggingface.co" or "authorization" not in request.headers


def test_a_missing_file_and_a_page_of_html_are_told():
    with pytest.raises(WeightsError, match="404"):
        pulled(Hub(), "hf:acme/other/x.gguf")
    page = b"<html>" * 100
    with pytest.raises(WeightsError, match="not a GGUF file"):
        pulled(Hub(page, digest=hashlib.sha256(page).hexdigest()))


@pytest.mark.parametrize(
    "name",
    ["hf:acme", "hf:acme/x/y.bin", "hf:a/b/../../c.gguf", "https://m.test/model.bin", "https://m.test/a%2Fb.gguf/.."],
)
def test_what_is_no_address_of_a_gguf_file_is_refused(name):
    with pytest.raises(WeightsError):
        address(name)


def test_a_url_is_fetched_without_a_hub():
    hub = Hub()
    assert pulled(hub, "https://cdn.test/files/tiny.gguf").read_bytes() == CONTENT


def test_a_redirect_away_from_https_is_refused():
    def handle(request):
        return httpx.Response(302, headers={"location": "http://evil.test/x.gguf"})

    with pytest.raises(WeightsError, match="redirected to http://evil"):
        ask(address(NAME), transport=httpx.MockTransport(handle))


def test_a_name_that_was_not_pulled_says_how():
    with pytest.raises(WeightsError) as caught:
        weights.path(NAME)
    assert f"dragoman models pull {NAME}" in caught.value.remedy
