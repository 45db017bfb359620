"""The language model as judge of another retriever's candidates."""

import pytest

from dragoman.core.values import Context, Evidence, Passage, Request, Source
from dragoman.retriever import PromptedRetriever
from dragoman.retriever.prompted import SCORES, expected_score
from dragoman.text.analyse import analyse


class Judge:
    """Gives a passage the score that is written for it; counts its calls."""

    def __init__(self, scores):
        self.scores = scores
        self.prompts = []
        self.calls = 0

    def choose(self, prompts, options):
        self.calls += 1
        self.prompts += prompts
        text = [prompt.messages[-1].content for prompt in prompts]
        chosen = [next(score for word, score in self.scores.items() if word in each) for each in text]
        return [{option: float(option == score) for option in options} for score in chosen]


class First:
    """A first stage with a fixed list."""

    def __init__(self, texts):
        self.texts = texts
        self.asked = []

    def retrieve(self, requests):
        self.asked += requests
        return [
            [Evidence(Passage(text, "D", text), 0.5, {"bm25": 1.0}) for text in self.texts[: r.k]] for r in requests
        ]


def build(judge, first, **options):
    return PromptedRetriever(
        language_model=judge, store=None, encoder=None, analyse=analyse, first=first, candidates=4, **options
    )


def test_expected_score_of_a_worked_example():
    """0.2 with 1/4 and 0.8 with 3/4: 0.05 + 0.6."""
    assert expected_score({"0.2": 0.25, "0.8": 0.75}) == pytest.approx(0.65)


def test_there_are_eleven_scores():
    assert SCORES == ("0.0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1.0")


def test_nothing_said_is_no_relevance():
    assert expected_score({}) == 0.0


def test_the_model_orders_and_scores_the_candidates():
    judge, first = Judge({"owl": "0.1", "ferry": "0.9", "tea": "0.4"}), First(["owl", "ferry", "tea"])
    [found] = build(judge, first).retrieve([Request(Context.of("When does it leave?"), (Source("D"),), k=2)])
    assert [(piece.id, piece.relevance) for piece in found] == [
        ("ferry", pytest.approx(0.9)),
        ("tea", pytest.approx(0.4)),
    ]
    assert found[0].scores == {"bm25": 1.0, "first": 0.5}


def test_the_first_stage_is_asked_for_more_and_keeps_the_rest_of_the_request():
    judge, first = Judge({"owl": "0.1"}), First(["owl"])
    asked = Request(Context.of("x"), (Source("D"),), k=2, without=frozenset({"z"}))
    build(judge, first).retrieve([asked])
    assert first.asked[0].k == 4
    assert first.asked[0].without == frozenset({"z"})


def test_a_batch_is_one_call_of_the_model():
    judge, first = Judge({"owl": "0.1", "tea": "0.4"}), First(["owl", "tea"])
    found = build(judge, first).retrieve([Request(Context.of(text), (Source("D"),)) for text in ("a", "b")])
    assert judge.calls == 1
    assert [len(row) for row in found] == [2, 2]


def test_no_candidates_ask_no_model():
    judge = Judge({})
    assert build(judge, First([])).retrieve([Request(Context.of("x"), (Source("D"),))]) == [[]]
    assert judge.calls == 0


def test_the_prompt_speaks_the_agents_language():
    judge = Judge({"茶": "0.4"})
    build(judge, First(["茶"]), language="zh").retrieve([Request(Context.of("喝什么？"), (Source("D"),))])
    assert "用户" in judge.prompts[0].messages[-1].content


def test_without_a_first_stage_the_hybrid_one_serves(store, encoder):
    judge = Judge({"museum": "0.9", "": "0.1"})
    retriever = PromptedRetriever(language_model=judge, store=store, encoder=encoder, analyse=analyse)
    from dragoman.core.values import Scope

    asked = Request(Context.of("What does it cost?", scope=Scope("harbour", "ana")), (Source("DOCUMENTS"),), k=1)
    assert [piece.id for piece in retriever.retrieve([asked])[0]] == ["d-museum"]
