import pytest

pytest.importorskip("dspy")

import dspy

from dragoman.integrations.dspy import DragomanRetriever


def test_passages_come_with_scores_and_origins(made):
    retriever = DragomanRetriever(made.assistant, sources=["DOCUMENTS"], k=2)
    found = retriever("ferry")
    assert found.passages == ["Ferry number 0.", "Ferry number 1."]
    assert found.scores == [1.0, 0.5] and found.origins == ["ferries.md"] * 2
    assert len(retriever("ferry", k=1).passages) == 1


def test_a_program_uses_it(made):
    class Program(dspy.Module):
        def __init__(self):
            super().__init__()
            self.retrieve = DragomanRetriever(made.assistant, k=1)

        def forward(self, question):
            return dspy.Prediction(answer=self.retrieve(question).passages[0])

    assert Program()(question="ferry").answer == "The user likes tea."
