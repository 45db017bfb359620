"""Programs of others, unmodified, against a running server: LangChain, LlamaIndex and `llm`.

OpenAI's own client has files of its own (`test_openai`, `test_responses`, `test_files`), and so has MCP's.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
import time

import pytest
from pydantic import BaseModel

from dragoman.server.http.app import make_app, with_request_limits
from dragoman.server.http.uvicorn_server import server_of

from ..conftest import services

pytestmark = [pytest.mark.slow, pytest.mark.integration]  # the programs take seconds to import, and open sockets

QUESTION = "What does a day ticket cost?"


@pytest.fixture(scope="module")
def address(folder, tmp_path_factory):
    """The address of a server, as other programs are configured with."""
    root = tmp_path_factory.mktemp("programs")
    with services(folder, root) as make, socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        service = make()
        server = server_of(with_request_limits(make_app(service, warm=False), service), grace=5.0)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])), daemon=True)
        thread.start()
        deadline = time.monotonic() + 60
        while not server.started and time.monotonic() < deadline:
            time.sleep(0.005)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join(60)
    assert not thread.is_alive()


class Price(BaseModel):
    answer: str
    price: float


class TestLangChain:
    @pytest.fixture
    def model(self, address):
        langchain_openai = pytest.importorskip("langchain_openai")
        return langchain_openai.ChatOpenAI(base_url=f"{address}/v1", api_key="none", model="robin", max_retries=0)

    def test_a_question_is_answered_whole_and_as_a_stream(self, model):
        whole = model.invoke([("system", "Be brief."), ("user", QUESTION)])
        assert "6 francs" in whole.content and whole.usage_metadata["total_tokens"] > 0
        assert "".join(chunk.content for chunk in model.stream(QUESTION)) == whole.content

    def test_a_chat_goes_on_with_its_history(self, model):
        first = model.invoke(QUESTION)
        assert model.invoke([("user", QUESTION), first, ("user", "And what else?")]).content

    def test_a_schema_is_filled(self, model):
        found = model.with_structured_output(Price, method="json_schema").invoke(QUESTION)
        assert found.price == pytest.approx(6.0) and "6 francs" in found.answer

    def test_tools_are_refused_in_words(self, model):
        def book(seats: int) -> str:
            """Book seats."""
            return "booked"

        with pytest.raises(Exception, match="'tools' cannot be honoured here"):
            model.bind_tools([book]).invoke(QUESTION)

    def test_the_responses_interface_is_understood(self, model):
        reply = model.model_copy(update={"use_responses_api": True}).invoke(QUESTION)
        assert "6 francs" in reply.text

    def test_documents_are_embedded(self, address):
        langchain_openai = pytest.importorskip("langchain_openai")
        encoder = langchain_openai.OpenAIEmbeddings(
            base_url=f"{address}/v1", api_key="none", model="robin", check_embedding_ctx_length=False
        )
        assert len(encoder.embed_query("a boat")) == 256


class TestLlamaIndex:
    """`llama-index-llms-openai-like` asks for an older `openai` than ours, so it is tried where it is installed."""

    @pytest.fixture
    def model(self, address):
        module = pytest.importorskip("llama_index.llms.openai_like")
        return module.OpenAILike(
            api_base=f"{address}/v1", api_key="none", model="robin", is_chat_model=True, max_retries=0
        )

    def test_a_question_is_answered_whole_and_as_a_stream(self, model):
        assert "6 francs" in model.complete(QUESTION).text
        assert "6 francs" in "".join(chunk.delta for chunk in model.stream_complete(QUESTION))

    def test_messages_are_answered(self, model):
        from llama_index.core.llms import ChatMessage

        messages = [ChatMessage(role="system", content="Be brief."), ChatMessage(role="user", content=QUESTION)]
        assert "6 francs" in model.chat(messages).message.content


@pytest.fixture
def home(address, tmp_path):
    """A folder of `llm` whose configuration names the server."""
    pytest.importorskip("llm")
    entry = {"model_id": "robin", "model_name": "robin", "api_base": f"{address}/v1", "supports_schema": True}
    (tmp_path / "extra-openai-models.yaml").write_text(json.dumps([entry]), encoding="utf-8")  # JSON is YAML
    return tmp_path


class TestLlm:
    def run(self, home, *arguments):
        environment = {**os.environ, "LLM_USER_PATH": str(home), "PYTHONWARNINGS": "ignore"}
        command = [sys.executable, "-m", "llm", *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def test_a_question_is_answered_and_continued(self, home):
        assert "6 francs" in self.run(home, "-m", "robin", QUESTION)
        assert self.run(home, "-m", "robin", "-c", "-s", "Be brief.", "-o", "temperature", "0.2", "And what else?")

    def test_a_schema_is_filled(self, home):
        told = self.run(home, "-m", "robin", "--schema", "answer, price float", QUESTION)
        assert json.loads(told)["price"] == pytest.approx(6.0)
