"""The unified model in llama.cpp: what it asks of the server."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace

import pytest
from tests.models.ferry_turn import CANDIDATES, CONTEXT, JUDGING, ORDERS, OTHER, WRITING

from dragoman.core.errors import ConfigError, InputError, WeightsError
from dragoman.core.tokens import EVALUATION, Grammar, Shown, WrittenSequence
from dragoman.core.values import Context
from dragoman.models.choice import normalise, walk
from dragoman.models.part import Part
from dragoman.models.unified import turn_trees
from dragoman.models.unified.llama_model import LlamaUnified
from dragoman.models.unified.model import KIND, CandidatePassage, Judging, TreeShape, Writing
from dragoman.models.unified.token_spelling import spell
from dragoman.models.unified.turn_lines import lines_of

END = 2


class Letters:
    """A vocabulary of characters, with ten tokens in reserve."""

    size = 300
    reserved = tuple(range(3, 13))

    def encode(self, text):
        return [20 + ord(letter) % 128 for letter in text]


class Server:
    """A server that answers by arithmetic, and notes what it was asked."""

    def __init__(self, weights, context_tokens, parallel, threads, adapter=None):
        self.weights, self.context_tokens, self.parallel, self.adapter = weights, context_tokens, parallel, adapter
        self.is_loaded = False
        self.asked, self.written, self.said = [], [], []

    def load(self):
        self.is_loaded = True

    def close(self):
        self.is_loaded = False

    def get(self, path):
        return {"eos_token": "!"}

    def tokens(self, text, *, special=False):
        return [END] if special else Letters().encode(text)

    def text(self, tokens):
        return "".join(chr(token - 20) if token >= 20 else f"<{token}>" for token in tokens)

    def complete(self, body):
        self.asked.append(body)
        bias = dict(map(tuple, body["logit_bias"]))
        shares = normalise({t: (logit(body["prompt"], t) + bias[t]) / body["temperature"] for t in bias})
        told = [{"id": token, "prob": share} for token, share in shares.items()]
        return {"choices": [{"logprobs": {"content": [{"top_probs": told}]}}]}

    def write(self, body, on_chunk):
        self.written.append(body)
        for piece in self.said.pop(0) if self.said else ("a", "b"):
            if on_chunk({"choices": [{"text": piece, "logprobs": {"content": [{"logprob": math.log(0.5)}]}}]}):
                return
        usage = {"prompt_tokens": len(body["prompt"]), "completion_tokens": 2}
        on_chunk({"choices": [{"text": "", "finish_reason": "stop"}], "usage": usage})

    def next_token(self, body):
        assert [END, False] in body["logit_bias"]
        return Letters().encode("x")[0]

    def clear_slots(self, blank):
        self.asked.append({"cleared": blank})


def logit(prompt, token):
    """A number that depends on every token of a prompt."""
    return 3 * math.sin(sum((i + 1) * one for i, one in enumerate(prompt)) * 0.37 + token)


def options(shape, *, way="reserved", base="base.gguf"):
    return {
        "shape": shape.to_json(),
        "spelling": spell(shape.grammar, way, Letters()).to_json(),
        "base": base,
        "base_sha256": "",
        "end": END,
    }


@pytest.fixture
def make(monkeypatch, tmp_path):
    monkeypatch.setattr("dragoman.models.unified.llama_model.LlamaServer", Server)
    monkeypatch.setattr("dragoman.models.unified.vocabularies.LlamaVocabulary.reserved", Letters.reserved)

    def made(*, way="reserved", files=("adapter.gguf",), grammar=None, given=None, **shape):
        kept = TreeShape(grammar or Grammar(("PERSONA", "DOCUMENTS")), **{"window": 300, "candidate": 40, **shape})
        part = Part(tmp_path, KIND, {}, options(kept, way=way), dict.fromkeys(files, ""))
        return LlamaUnified(part, **(given or {}))

    return made


def test_candidates_are_asked_depth_first_in_one_slot_and_scored_by_expected_similarity(make):
    runtime = make()
    scores = runtime.judge([JUDGING])[0]
    planted = turn_trees.judging(runtime.turns, JUDGING)
    trunk, lines = planted.segments[0].tokens, lines_of(planted)
    ids = [runtime.turns.spelling.one(token) for token in EVALUATION]
    for line, score in zip(lines, scores, strict=True):
        chances = normalise({tenths: logit((*trunk, *line), token) for tenths, token in enumerate(ids)})
        assert score == pytest.approx(sum(tenths / 10 * chance for tenths, chance in chances.items()), abs=1e-6)
    asked = [tuple(body["prompt"]) for body in runtime.server.asked]
    assert sorted(asked) == sorted((*trunk, *line) for line in lines)
    parents = [None if one.parent is None else (*trunk, *lines[one.parent]) for one in CANDIDATES]
    for i, parent in enumerate(parents):  # nothing but its siblings lies between a document and its persona
        if parent is not None:
            own = asked.index((*trunk, *lines[i]))
            assert all(one[: len(parent)] == parent for one in asked[asked.index(parent) : own])
    assert len({body["id_slot"] for body in runtime.server.asked}) == 1


def test_what_was_judged_on_the_same_dialogue_is_not_asked_again_until_it_is_forgotten(make):
    runtime = make()
    first = runtime.judge([JUDGING])[0]
    fewer = Judging(CONTEXT, (CANDIDATES[1], replace(CANDIDATES[3], parent=0)))
    assert runtime.judge([fewer])[0] == [first[1], first[3]]
    assert len(runtime.server.asked) == 5
    runtime.clear_cache()
    assert runtime.judge([fewer, JUDGING]) == [[first[1], first[3]], first]
    assert len(runtime.server.asked) == 5 + 1 + 5


def test_plan_is_the_walk_over_the_orders(make):
    for way in ("reserved", "text"):
        runtime = make(way=way)
        trunk = turn_trees.trunk(runtime.turns, CONTEXT).segments[0].tokens
        reference = walk(
            {">".join(order): runtime.turns.plan(order) for order in ORDERS},
            lambda prefix, among, trunk=trunk: {token: logit((*trunk, *prefix), token) for token in among},
        )
        found = runtime.plan([CONTEXT], ORDERS)[0]
        assert {">".join(order): chance for order, chance in found.items()} == pytest.approx(reference, abs=1e-6)
        assert math.fsum(found.values()) == pytest.approx(1.0)


def test_one_order_is_certain_and_none_is_refused(make):
    runtime = make()
    assert runtime.plan([CONTEXT], [()]) == [{(): 1.0}]
    assert not runtime.server.asked
    with pytest.raises(InputError, match="no order"):
        runtime.plan([CONTEXT], [])


def test_roles_of_a_turn_share_its_slot_and_other_turns_take_another(make):
    runtime = make()
    runtime.plan([CONTEXT], ORDERS)
    runtime.plan([OTHER], ORDERS)
    runtime.judge([JUDGING])
    runtime.write([WRITING], max_tokens=4)
    slots = {}
    for body in (*runtime.server.asked, *runtime.server.written):
        opening = tuple(body["prompt"][:10])
        slots.setdefault(opening, set()).add(body["id_slot"])
    assert len(slots) == 2
    assert all(len(used) == 1 for used in slots.values())
    assert len(set.union(*slots.values())) == 2


def test_plain_layout_judges_one_after_another_with_what_was_said(make):
    runtime = make(layout="plain")
    scores = runtime.judge([Judging(CONTEXT, CANDIDATES[:2], ("PERSONA",))])[0]
    first, second = (body["prompt"] for body in runtime.server.asked)
    ids = [runtime.turns.spelling.one(token) for token in EVALUATION]
    said = max(ids, key=lambda token: logit(first, token))
    assert second[: len(first) + 1] == [*first, said]
    assert len(scores) == 2


def test_writing_says_no_special_token_and_begins_after_plan_and_evidence(make):
    runtime = make()
    draft = runtime.write([WRITING], max_tokens=1000)[0]
    body = runtime.server.written[0]
    (segment,) = turn_trees.writing(runtime.turns, WRITING).segments
    assert body["prompt"] == list(segment.tokens)
    assert body["n_predict"] == runtime.shape.response
    spelt = {runtime.turns.spelling.one(token) for token in runtime.shape.grammar.indicators}
    assert {token for token, bias in body["logit_bias"] if bias is False} >= spelt
    assert all(token < 20 for token, _ in body["logit_bias"])  # similarities are characters, which a text may have
    assert (draft.text, draft.confidence) == ("ab", pytest.approx(0.5))
    assert (draft.usage.prompt_tokens, draft.usage.completion_tokens) == (len(segment.tokens), 2)


def test_drafts_are_drawn_by_the_server_in_the_slot_that_read_the_turn(make):
    runtime = make()
    drawn = replace(WRITING, ending=-2.0, temperature=0.7, seed=9)
    runtime.write([WRITING, drawn, replace(drawn, seed=10)], max_tokens=8)
    bodies = {body.get("seed", 0): body for body in runtime.server.written}
    assert "samplers" not in bodies[0] and bodies[0]["temperature"] == 0
    for seed in (9, 10):
        told = {name: bodies[seed][name] for name in ("temperature", "samplers", "top_p", "cache_prompt")}
        assert told == {"temperature": 0.7, "samplers": ["temperature", "top_p"], "top_p": 0.95, "cache_prompt": True}
        assert bodies[seed]["logit_bias"] == [*bodies[0]["logit_bias"], [END, -2.0]]
        assert (bodies[seed]["prompt"], bodies[seed]["id_slot"]) == (bodies[0]["prompt"], bodies[0]["id_slot"])


def test_tokens_that_are_plain_text_end_a_response(make):
    runtime = make(way="text", window=400)
    runtime.write([WRITING], max_tokens=4)
    assert "[EVIDENCE]" in runtime.server.written[0]["stop"]
    assert not runtime.server.written[0]["logit_bias"]


def test_something_is_always_said(make):
    runtime = make()
    runtime.server.said = [(), ("y",)]
    *pieces, draft = runtime.stream(WRITING, max_tokens=8)
    assert "".join(pieces) == draft.text == "xy"
    before, after = runtime.server.written
    assert after["prompt"] == [*before["prompt"], *Letters().encode("x")]
    assert after["n_predict"] == 7
    assert draft.usage.prompt_tokens == len(before["prompt"])
    assert draft.usage.completion_tokens == 3


def test_dialogue_longer_than_the_window_loses_its_oldest_turns_and_says_so(make):
    runtime = make(window=300, response=40)
    long = Context.of(*(f"This is turn {n} of a long dialogue." for n in range(9)))
    draft = runtime.write([Writing(long, WrittenSequence())], max_tokens=8)[0]
    prompt = runtime.server.written[0]["prompt"]
    assert len(prompt) + 40 <= 300
    text = runtime.server.text(prompt)
    first = int(draft.notes["turns_left_out"])
    assert 0 < first < 8
    assert text.startswith(f"{'User' if first % 2 == 0 else 'Agent'}: This is turn {first} of")
    assert "turn 8 of" in text


def test_evidence_longer_than_the_window_is_cut_or_left_out_and_said(make):
    runtime = make(window=300, response=40)
    huge = tuple(Shown("DOCUMENTS", letter * 1_000_000, tenths) for letter, tenths in (("a", 9), ("b", 2), ("c", 8)))
    many = tuple(replace(shown, text=shown.text[:60]) for shown in huge) * 3
    draft = runtime.write([Writing(CONTEXT, WrittenSequence(("DOCUMENTS",), many))], max_tokens=8)[0]
    assert len(runtime.server.written[0]["prompt"]) + 40 <= 300
    assert draft.notes["evidence_left_out"] > 0
    long = runtime.write([Writing(CONTEXT, WrittenSequence(("DOCUMENTS",), huge[:1]))], max_tokens=8)[0]
    assert long.notes["evidence_cut"] == 1
    assert runtime.judge([Judging(CONTEXT, (CandidatePassage("DOCUMENTS", huge[0].text),))])[0][0] <= 1.0
    assert len(runtime.server.asked[0]["prompt"]) <= 300


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"layout": "paper"}, "layout paper"),
        ({"way": "rows"}, "new rows"),
        ({"files": ()}, "no adapter.gguf"),
    ],
)
def test_what_only_torch_can_run_is_refused_with_the_remedy(make, wrong, said):
    with pytest.raises(WeightsError, match=said) as refused:
        make(**wrong)
    assert "torch" in refused.value.remedy


def test_check_and_a_grammar_without_similarities_are_refused(make):
    with pytest.raises(ConfigError) as refused:
        make().check([JUDGING], ORDERS)
    assert 'runtime = "torch"' in refused.value.remedy
    with pytest.raises(InputError, match="judges no evidence"):
        make(grammar=Grammar(("PERSONA", "DOCUMENTS"), "safari"), layout="plain").judge([JUDGING])


def test_windows_too_small_are_refused_and_others_are_taken(make):
    with pytest.raises(ConfigError, match="context_tokens 100"):
        make(given={"context_tokens": 100})
    with pytest.raises(ConfigError, match="parallel 0"):
        make(given={"parallel": 0})
    assert make(given={"context_tokens": 512}).shape.window == 512


def test_runtime_is_made_without_torch():
    code = "import sys; from dragoman.models.unified import llama_model, loading; print('torch' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "False"
