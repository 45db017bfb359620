"""The real server of llama.cpp, with the embedded model behind it, as a stranger's endpoint."""

from __future__ import annotations

from contextlib import closing

import pytest

from dragoman.core.values import Draft, Prompt
from dragoman.models.llamacpp.server import LlamaServer
from dragoman.models.remote.model import RemoteModel

SKY = Prompt.user("Is the sky blue? Answer yes or no.", system="You are a guide.")


@pytest.mark.slow
@pytest.mark.integration
def test_the_real_server_of_llama_cpp_is_found_and_used(monkeypatch):
    server = LlamaServer("smollm2-135m-instruct", 2048, 1, 2)
    server.load()
    monkeypatch.setenv("SERVER_KEY", server.key)
    try:
        with closing(RemoteModel(url=f"{server.address}/v1", model="any", key_env="SERVER_KEY")) as model:
            profile = model.knowledge.profile
            assert (profile.name, profile.window) == ("llamacpp", 2048)
            draft = model.generate([SKY], max_tokens=8)[0]
            assert draft.text
            assert 0 < draft.confidence < 1
            assert draft.usage.prompt_tokens > 5
            *pieces, streamed = model.stream(SKY, max_tokens=8)
            assert isinstance(streamed, Draft)
            assert "".join(pieces) == streamed.text == draft.text
            before = model.spent.calls
            chosen = model.choose([SKY], ["yes", "no"])[0]
            assert sum(chosen.values()) == pytest.approx(1)
            assert (model.choice_method, model.spent.calls - before) == ("logprobs", 1)
            scores = model.choose([Prompt.user("Rate it from 0.0 to 1.0:")], [f"{i / 10:.1f}" for i in range(11)])[0]
            assert sum(scores.values()) == pytest.approx(1)
            stream = model.stream(Prompt.user("Count to one hundred."), max_tokens=200)
            next(stream)
            stream.close()
            assert model.generate([SKY], max_tokens=8)[0].text == draft.text
    finally:
        server.close()
