"""LangChain's own standard tests, which are run where `langchain-tests` is installed: it brings plugins of pytest."""

import pytest

pytest.importorskip("langchain_tests")

from langchain_tests.integration_tests import ChatModelIntegrationTests, RetrieversIntegrationTests
from langchain_tests.unit_tests import ChatModelUnitTests

from dragoman.integrations.langchain import ChatDragoman, DragomanRetriever


class _Model:
    """An agent calls no tools of others, writes no JSON and sees no pictures: the suite leaves those tests out."""

    has_tool_calling = has_structured_output = supports_json_mode = False
    chat_model_class = ChatDragoman

    @pytest.fixture(autouse=True)
    def _assistant(self, made):
        self._params = {"assistant": made.assistant}

    @property
    def chat_model_params(self):
        return self._params


class TestChatModel(_Model, ChatModelUnitTests):
    pass


class TestChatModelConversations(_Model, ChatModelIntegrationTests):
    pass


class TestRetriever(RetrieversIntegrationTests):
    retriever_constructor = DragomanRetriever
    retriever_query_example = "ferry"

    @pytest.fixture(autouse=True)
    def _assistant(self, made):
        self._params = {"assistant": made.assistant, "sources": ("DOCUMENTS",)}

    @property
    def retriever_constructor_params(self):
        return self._params
