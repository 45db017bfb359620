"""The OpenAPI document: complete, and true of what the server answers."""

from __future__ import annotations

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from dragoman.server.http.problems import CODES

pytestmark = pytest.mark.trust

PATHS = {
    "/v1/chat/completions": {"post"},
    "/v1/responses": {"post"},
    "/v1/completions": {"post"},
    "/api/chat": {"post"},
    "/api/embed": {"post"},
    "/api/generate": {"post"},
    "/api/ps": {"get"},
    "/api/tags": {"get"},
    "/api/show": {"post"},
    "/api/version": {"get"},
    "/v1/models": {"get"},
    "/v1/models/{model}": {"get"},
    "/v1/embeddings": {"post"},
    "/v1/turns": {"post"},
    "/v1/agents": {"get"},
    "/v1/sources": {"get"},
    "/v1/sources/{source}/search": {"post"},
    "/v1/sources/{source}/files": {"get", "post"},
    "/v1/sources/{source}/files/{name}": {"delete"},
    "/v1/files": {"get", "post"},
    "/v1/files/{file_id}": {"get", "delete"},
    "/v1/files/{file_id}/content": {"get"},
    "/v1/vector_stores": {"get", "post"},
    "/v1/vector_stores/{store_id}": {"get", "delete"},
    "/v1/vector_stores/{store_id}/search": {"post"},
    "/v1/vector_stores/{store_id}/files": {"get", "post"},
    "/v1/vector_stores/{store_id}/files/{file_id}": {"get", "delete"},
    "/v1/vector_stores/{store_id}/files/{file_id}/content": {"get"},
    "/v1/vector_stores/{store_id}/file_batches": {"post"},
    "/v1/vector_stores/{store_id}/file_batches/{batch_id}": {"get"},
    "/v1/memory": {"get", "post", "delete"},
    "/v1/memory/export": {"get"},
    "/v1/memory/import": {"post", "put"},
    "/v1/memory/wishes": {"get"},
    "/v1/memory/wishes/{id}": {"delete"},
    "/v1/memory/{id}": {"put", "delete"},
    "/v1/dialogues": {"get"},
    "/v1/dialogues/{id}": {"get", "delete", "patch"},
    "/v1/dialogues/{id}/export": {"get"},
    "/v1/feedback": {"get", "post"},
    "/v1/runs": {"get"},
    "/v1/runs/{id}": {"get"},
    "/healthz": {"get"},
    "/readyz": {"get"},
    "/metrics": {"get"},
}


@pytest.fixture(scope="module")
def document(server):
    return server.app.openapi()


def test_every_path_is_described_with_its_answers_and_errors(document):
    assert {path: set(operations) for path, operations in document["paths"].items()} == PATHS
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert operation["description"], (path, method)
            problem = operation["responses"]["default"]["content"]["application/problem+json"]["schema"]
            assert problem == {"$ref": "#/components/schemas/ProblemDetails"}
            assert any(code.startswith("2") for code in operation["responses"]), (path, method)
            if method in ("post", "put") and path != "/v1/completions":  # which answers nothing
                assert operation["requestBody"]["required"]


def test_every_reference_leads_somewhere(document):
    def references(node):
        if isinstance(node, dict):
            yield from ([node["$ref"]] if "$ref" in node else [])
            for value in node.values():
                yield from references(value)
        elif isinstance(node, list):
            for value in node:
                yield from references(value)

    known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert set(references(document)) <= known


def test_codes_and_statuses_are_pinned():
    """A code that programs rely on does not vanish unnoticed."""
    assert {code: status for code, (status, _) in CODES.items()} == {
        "bad-request": 400,
        "bad-json": 400,
        "bad-file-name": 400,
        "unsupported-parameter": 400,
        "unauthorized": 401,
        "forbidden": 403,
        "gone-api": 404,
        "not-found": 404,
        "unknown-model": 404,
        "method-not-allowed": 405,
        "slow-sender": 408,
        "quota": 409,
        "unconfirmed": 409,
        "request-answered": 409,
        "forgotten": 410,
        "too-large": 413,
        "unsupported-kind": 415,
        "elsewhere": 421,
        "invalid": 422,
        "request-reused": 422,
        "too-many-turns": 429,
        "too-many-tokens": 429,
        "too-many-waiting": 429,
        "internal": 500,
        "store": 500,
        "model": 502,
        "busy": 503,
        "closing": 503,
        "turn-timeout": 504,
        "disk-full": 507,
    }


CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.fixture(scope="module")
def described(server):
    """The document as schemathesis reads it."""
    loaded = schemathesis.openapi.from_dict(server.app.openapi())
    loaded.config.generation.update(with_security_parameters=False)
    return loaded


def send(client, case):
    """What schemathesis made, over the server's socket."""
    told = case.as_transport_kwargs(base_url="http://localhost")
    parts = ("method", "url", "headers", "params", "json", "data", "files", "cookies")
    made = requests.Request(**{name: told[name] for name in parts if name in told}).prepare()
    headers = {name: value for name, value in made.headers.items() if name.lower() not in ("host", "transfer-encoding")}
    content = made.body.encode() if isinstance(made.body, str) else made.body
    return client.request(made.method, made.url, content=content, headers=headers)


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize(
    ("path", "method"), [(path, method) for path, methods in PATHS.items() for method in sorted(methods)]
)
def test_whatever_is_sent_is_answered_as_described(server, described, path, method, mode):
    client = server.client()
    made = described[path][method].as_strategy(generation_mode=mode)

    @settings(
        max_examples=4,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(made)
    def check(case):
        case.validate_response(send(client, case), checks=CHECKS)

    try:
        check()
    except Unsatisfiable:
        assert mode is GenerationMode.NEGATIVE  # nothing can be wrong where nothing is given
