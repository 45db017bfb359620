"""The unified model in torch: one packed pass gives what one by one gives, and a turn reads its dialogue once."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.core.errors import ConfigError, InputError
from dragoman.core.tokens import EVALUATION, Shown, WrittenSequence
from dragoman.core.values import Context, Draft
from dragoman.models.choice import walk
from dragoman.models.unified import turn_trees
from dragoman.models.unified.model import CandidatePassage, Judging, Writing

CONTEXT = Context.of("Good morning.", "Hello!", "What does the ferry cost?")
OTHER = Context.of("Who are you?")
CANDIDATES = (
    CandidatePassage("PERSONA", "I sell tickets."),
    CandidatePassage("PERSONA", "I drink black tea."),
    CandidatePassage("DOCUMENTS", "34 francs.", 0),
    CandidatePassage("DOCUMENTS", "From pier two.", 0),
    CandidatePassage("DOCUMENTS", "Tea grows in the hills.", 1),
    CandidatePassage("MEMORY", "Ana is a vegetarian."),
)
ORDERS = ((), ("PERSONA",), ("MEMORY",), ("PERSONA", "DOCUMENTS"), ("PERSONA", "MEMORY", "DOCUMENTS"))
PLAN = ("PERSONA", "DOCUMENTS")
EVIDENCE = (Shown("PERSONA", "I sell tickets.", 9), Shown("DOCUMENTS", "34 francs.", 10), Shown("DOCUMENTS", "No.", 1))
JUDGING = Judging(CONTEXT, CANDIDATES, PLAN)
WRITING = Writing(CONTEXT, WrittenSequence(PLAN, EVIDENCE))
FAMILIES = ("llama", "qwen2")


def logits_after(runtime, tokens):
    """The library's own logits after a plain line of tokens, without mask, cache or tree."""
    with torch.no_grad():
        return (
            runtime._ready()[0].causal.model(input_ids=torch.tensor([tokens]), use_cache=False).logits[0, -1].double()
        )


def expected(runtime, tokens):
    """The expected similarity after a plain line."""
    ids = [runtime.turns.spelling.one(token) for token in EVALUATION]
    chances = logits_after(runtime, tokens)[ids].softmax(0)
    return sum(i / 10 * float(chance) for i, chance in enumerate(chances))


def line_of(runtime, judging, number):
    """Dialogue, what the candidate stands on, and the candidate, as one line."""
    turns, line, at = runtime.turns, [], number
    while at is not None:
        line = [*turns.branch(judging.candidates[at].source, judging.candidates[at].text), *line]
        at = judging.candidates[at].parent if runtime.shape.layout == "tree" else None
    trunk = turn_trees.judging(turns, judging).segments[0].tokens
    return [*trunk, *line]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("layout", ["tree", "paper"])
def test_packed_scores_are_those_of_each_line_alone(make_unified, family, layout):
    runtime = make_unified(family, layout=layout)
    scores = runtime.judge([JUDGING])[0]
    alone = [expected(runtime, line_of(runtime, JUDGING, number)) for number in range(len(CANDIDATES))]
    assert scores == pytest.approx(alone, abs=1e-5)
    assert max(alone) - min(alone) > 0.01  # a random model that tells candidates apart


def test_expected_similarity_by_hand(make_unified):
    runtime = make_unified()
    passes = runtime._ready()[1]
    passes.logits = lambda states, tokens: torch.log(torch.tensor([[0.5, 0, 0, 0, 0, 0, 0, 0, 0, 0.25, 0.25]]))
    assert runtime._similarities(passes, torch.zeros(1, 4)) == pytest.approx([0.25 * 0.9 + 0.25 * 1.0])


@pytest.fixture(scope="module")
def shuffling(make_unified):
    return make_unified()


@settings(max_examples=15)
@given(st.permutations(range(len(CANDIDATES))))
def test_shuffling_candidates_changes_nothing(shuffling, order):
    order = sorted(order, key=lambda i: CANDIDATES[i].parent is not None)  # parents before their children
    shuffled = tuple(
        replace(CANDIDATES[i], parent=None if CANDIDATES[i].parent is None else order.index(CANDIDATES[i].parent))
        for i in order
    )
    shuffling.clear_cache()
    straight = shuffling.judge([JUDGING])[0]
    shuffling.clear_cache()
    scores = shuffling.judge([Judging(CONTEXT, shuffled, PLAN)])[0]
    assert scores == pytest.approx([straight[i] for i in order], abs=1e-5)


@pytest.mark.parametrize("packed_tokens", [1, 40, 90])
def test_candidates_in_several_packs_have_the_scores_of_one(make_unified, packed_tokens):
    assert make_unified(packed_tokens=packed_tokens).judge([JUDGING])[0] == pytest.approx(
        make_unified().judge([JUDGING])[0], abs=1e-5
    )


@pytest.mark.parametrize("layout", ["tree", "paper", "plain"])
def test_turns_in_a_batch_have_the_scores_of_each_alone(make_unified, layout):
    runtime = make_unified(layout=layout, pass_tokens=400)
    asked = [JUDGING, Judging(OTHER, CANDIDATES[:2], ("PERSONA",)), Judging(OTHER, ()), replace(JUDGING, context=OTHER)]
    together = runtime.judge(asked)
    assert [len(scores) for scores in together] == [6, 2, 0, 6]
    for one, scores in zip(asked, together, strict=True):
        assert make_unified(layout=layout).judge([one])[0] == pytest.approx(scores, abs=1e-5)


def test_plain_layout_reads_what_was_said_of_the_candidates_before(make_unified):
    runtime = make_unified(layout="plain")
    turns, line, alone = runtime.turns, list(turn_trees.trunk(runtime.turns, CONTEXT, PLAN).segments[0].tokens), []
    for candidate in CANDIDATES[:3]:
        line += turns.branch(candidate.source, candidate.text)
        alone.append(expected(runtime, line))
        ids = [turns.spelling.one(token) for token in EVALUATION]
        line.append(ids[int(logits_after(runtime, line)[ids].argmax())])
    assert runtime.judge([replace(JUDGING, candidates=CANDIDATES[:3])])[0] == pytest.approx(alone, abs=1e-5)


def test_plain_line_that_outgrows_its_room_begins_again_at_the_dialogue(make_unified):
    runtime = make_unified(layout="plain", window=160)
    many = tuple(CandidatePassage("DOCUMENTS", f"Passage number {n} of a long list.") for n in range(8))
    scores = runtime.judge([Judging(OTHER, many)])[0]
    assert len(scores) == 8
    assert scores[0] == pytest.approx(runtime.judge([Judging(OTHER, many[:1])])[0][0], abs=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("way", ["rows", "text"])
def test_plan_is_the_walk_over_the_orders(make_unified, family, way):
    runtime = make_unified(family, way=way)
    trunk = list(turn_trees.trunk(runtime.turns, CONTEXT).segments[0].tokens)

    def logprobs(prefix, among):
        told = logits_after(runtime, [*trunk, *prefix])
        return {token: float(told[token]) for token in among}

    reference = walk({">".join(order): runtime.turns.plan(order) for order in ORDERS}, logprobs)
    found = runtime.plan([CONTEXT], ORDERS)[0]
    assert {">".join(order): chance for order, chance in found.items()} == pytest.approx(reference, abs=1e-5)
    assert math.fsum(found.values()) == pytest.approx(1.0)


def test_plans_of_a_batch_are_those_of_each_turn(make_unified):
    together = make_unified().plan([CONTEXT, OTHER, CONTEXT], ORDERS)
    assert together[0] == pytest.approx(together[2], abs=1e-6)
    assert make_unified().plan([OTHER], ORDERS)[0] == pytest.approx(together[1], abs=1e-5)


def test_one_order_is_certain(make_unified):
    assert make_unified().plan([CONTEXT], [()]) == [{(): 1.0}]


@pytest.mark.parametrize("family", FAMILIES)
def test_check_sees_all_candidates_and_gives_their_scores(make_unified, family):
    runtime = make_unified(family)
    chances, scores = runtime.check([JUDGING], ORDERS)[0]
    assert scores == pytest.approx(make_unified(family).judge([JUDGING])[0], abs=1e-5)
    assert chances == pytest.approx(dict.fromkeys(ORDERS, 0) | checked_one_by_one(runtime), abs=1e-5)
    without = runtime.check([replace(JUDGING, candidates=CANDIDATES[:5])], ORDERS)[0][0]
    assert max(abs(without[order] - chances[order]) for order in ORDERS) > 1e-4


def checked_one_by_one(runtime):
    """Each order in a tree of its own, with the reference tree of `turn_trees` and a mask made by hand."""
    from dragoman.models.unified.masks import layout_mask
    from dragoman.models.unified.token_tree import laid_out

    turns, model = runtime.turns, runtime._ready()[0].causal.model
    spelt = {">".join(order): turns.check(order) for order in ORDERS}
    told = {}
    for order in ORDERS:
        planted = turn_trees.checking(turns, JUDGING, order)
        layout = laid_out(planted.segments)
        with torch.inference_mode():
            logits = model(
                input_ids=torch.tensor([layout.tokens]),
                position_ids=torch.tensor([layout.positions]),
                attention_mask=layout_mask(layout)[None, None],
                use_cache=False,
            ).logits[0]
        for length in range(1, len(turns.check(order))):
            told[turns.check(order)[:length]] = logits[layout.place(len(planted.segments) - 1, length - 1)]
    found = walk(spelt, lambda prefix, among: {token: float(told[prefix][token]) for token in among})
    return {order: found[">".join(order)] for order in ORDERS}


def greedy(runtime, tokens, count):
    """The most probable response after a plain line, by the library itself; special tokens and a first end left out."""
    said, silent = [], runtime._silent
    while len(said) < count:
        logits = logits_after(runtime, [*tokens, *said])
        logits[silent] = -math.inf
        if not said:
            logits[runtime.turns.end] = -math.inf
        token = int(logits.argmax())
        if token == runtime.turns.end:
            break
        said.append(token)
    return said


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("layout", ["tree", "plain"])
def test_writes_what_the_line_goes_on_with(make_unified, family, layout):
    runtime = make_unified(family, layout=layout)
    (segment,) = turn_trees.writing(runtime.turns, WRITING).segments
    said = greedy(runtime, segment.tokens, 8)
    draft = runtime.write([WRITING], max_tokens=8)[0]
    assert draft.text == runtime._ready()[0].causal.text(said)
    assert (draft.usage.prompt_tokens, draft.usage.completion_tokens) == (len(segment.tokens), len(said))


def test_confidence_is_the_geometric_mean_of_the_tokens_probabilities(make_unified):
    runtime = make_unified()
    (segment,) = turn_trees.writing(runtime.turns, WRITING).segments
    silent, logprobs = runtime._silent, []
    said = greedy(runtime, segment.tokens, 3)
    for i, token in enumerate(said):
        logits = logits_after(runtime, [*segment.tokens, *said[:i]])
        logits[silent if i else [*silent, runtime.turns.end]] = -math.inf
        logprobs.append(float(logits.log_softmax(0)[token]))
    draft = runtime.write([WRITING], max_tokens=3)[0]
    assert draft.confidence == pytest.approx(math.exp(sum(logprobs) / len(logprobs)), abs=1e-5)


def test_response_of_the_papers_layout_sees_all_evidence_in_any_order(make_unified):
    runtime = make_unified(layout="paper")
    first, turned, less = (
        runtime.write([Writing(CONTEXT, WrittenSequence(PLAN, evidence))], max_tokens=8)[0]
        for evidence in (EVIDENCE, EVIDENCE[::-1], EVIDENCE[:1])
    )
    assert (turned.text, turned.confidence) == (first.text, pytest.approx(first.confidence, abs=1e-5))
    assert (less.text, less.confidence) != (first.text, pytest.approx(first.confidence, abs=1e-5))


@pytest.mark.parametrize("layout", ["tree", "paper", "plain"])
def test_several_responses_at_once_are_those_of_each_alone(make_unified, layout):
    asked = [WRITING, Writing(OTHER, WrittenSequence()), Writing(OTHER, WrittenSequence(PLAN, EVIDENCE[:1]))]
    together = make_unified(layout=layout).write(asked, max_tokens=8)
    for one, draft in zip(asked, together, strict=True):
        alone = make_unified(layout=layout).write([one], max_tokens=8)[0]
        assert (alone.text, alone.confidence) == (draft.text, pytest.approx(draft.confidence, abs=1e-4))


def test_ending_is_moved_for_its_own_response_alone(make_unified):
    runtime = make_unified()
    short, long = replace(WRITING, ending=50.0), replace(WRITING, ending=-50.0)
    plain, ended, going = runtime.write([WRITING, short, long], max_tokens=8)
    assert ended.usage.completion_tokens <= 2  # something is said, then the end
    assert going.usage.completion_tokens == 8
    assert plain.text == make_unified().write([WRITING], max_tokens=8)[0].text


def test_stream_is_the_draft_in_pieces(make_unified):
    runtime = make_unified()
    *pieces, draft = runtime.stream(WRITING, max_tokens=8)
    assert isinstance(draft, Draft)
    assert "".join(pieces) == draft.text == runtime.write([WRITING], max_tokens=8)[0].text


@pytest.mark.trust
@pytest.mark.parametrize("way", ["rows", "reserved"])
def test_response_never_holds_a_special_token(make_unified, way):
    sources = ("DOCUMENTS",) if way == "reserved" else ("PERSONA", "DOCUMENTS")
    runtime = make_unified(way=way, sources=sources)
    written = WrittenSequence(("DOCUMENTS",), (Shown("DOCUMENTS", "34.", 9),))
    opened = runtime._ready()[0]
    silent = set(runtime._silent)
    named = {
        runtime.turns.spelling.one(token)
        for token in (*opened.turns.shape.grammar.indicators, *opened.turns.shape.grammar.acting)
    }
    assert named <= silent
    seen = []
    opened.causal.tokenizer.decode = lambda tokens, **_: seen.extend(tokens) or "x" * len(tokens)
    runtime.write([Writing(CONTEXT, written, temperature=5.0, seed=i) for i in range(20)], max_tokens=10)
    assert len(set(seen)) > 20
    assert not silent & set(seen)


DRAWN = [replace(WRITING, temperature=2.0, seed=seed) for seed in (1, 2, 3)]


@pytest.mark.parametrize("layout", ["tree", "paper", "plain"])
def test_drafts_are_drawn_by_their_seed_whatever_is_written_beside_them(make_unified, layout):
    asked = [
        WRITING,
        *DRAWN,
        Writing(OTHER, WrittenSequence(), temperature=2.0, seed=1),
        Writing(OTHER, WrittenSequence()),
    ]
    together = [draft.text for draft in make_unified(layout=layout).write(asked, max_tokens=8)]
    assert len(set(together)) == len(asked)
    assert together == [make_unified(layout=layout).write([one], max_tokens=8)[0].text for one in asked]
    narrow = make_unified(layout=layout, pass_tokens=1)
    assert together[::-1] == [draft.text for draft in narrow.write(asked[::-1], max_tokens=8)]
    before = torch.random.get_rng_state()
    *pieces, _ = make_unified(layout=layout).stream(DRAWN[0], max_tokens=8)
    assert "".join(pieces) == together[1]
    assert torch.equal(before, torch.random.get_rng_state())  # nobody else's chance is used up


def test_near_zero_what_is_drawn_is_the_most_probable(make_unified):
    plain, cold = make_unified().write([WRITING, replace(WRITING, temperature=1e-6, seed=5)], max_tokens=8)
    assert (cold.text, cold.confidence) == (plain.text, pytest.approx(plain.confidence))


@pytest.mark.parametrize("layout", ["tree", "paper", "plain"])
def test_drafts_of_one_turn_read_it_once(make_unified, layout):
    runtime = make_unified(layout=layout, kept_tokens=0)
    drafts = runtime.write([WRITING, *DRAWN, Writing(OTHER, WrittenSequence())], max_tokens=2)
    assert runtime.fed == drafts[0].usage.prompt_tokens + drafts[-1].usage.prompt_tokens + 5  # one token more for each


@pytest.mark.parametrize("layout", ["tree", "paper", "plain"])
def test_responses_that_have_ended_are_let_go(make_unified, layout):
    short, long = replace(WRITING, ending=50.0), replace(WRITING, ending=-50.0)
    other = Writing(OTHER, WrittenSequence(), ending=50.0)
    runtime = make_unified(layout=layout, kept_tokens=0)
    drafts = runtime.write([short, long, short, other], max_tokens=8)
    assert [draft.usage.completion_tokens for draft in drafts] == [1, 8, 1, 1]
    prompts = drafts[0].usage.prompt_tokens + drafts[3].usage.prompt_tokens
    assert runtime.fed == prompts + 4 + 6  # a token of each, then those of the one that goes on
    assert drafts[1].text == make_unified(layout=layout).write([long], max_tokens=8)[0].text


def dialogue_tokens(runtime, context=CONTEXT):
    return len(turn_trees.trunk(runtime.turns, context).segments[0].tokens)


@pytest.mark.parametrize("layout", ["tree", "paper"])
def test_whole_turn_reads_its_dialogue_once(make_unified, layout):
    runtime = make_unified(layout=layout)
    turns = runtime.turns
    branches = sum(len(turns.branch(one.source, one.text)) for one in CANDIDATES)
    counted = []
    runtime._ready()[1]._decoder.register_forward_pre_hook(
        lambda module, args, kwargs: counted.append(kwargs["input_ids"].numel()), with_kwargs=True
    )
    runtime.plan([CONTEXT], ORDERS)
    runtime.judge([JUDGING])
    drafts = runtime.write([WRITING], max_tokens=4)
    plan = len(turns.plan(PLAN))
    evidence = len(turns.evidence(EVIDENCE)) + (1 if layout == "paper" else 0)  # the segment that sees them all
    forks = 4  # [SOURCE]; PERSONA after it; MEMORY after PERSONA is one order
    said = drafts[0].usage.completion_tokens
    once = dialogue_tokens(runtime) + branches + plan + evidence
    assert once < sum(counted) <= once + forks + said
    assert sum(counted) == runtime.fed


def test_candidates_that_were_judged_are_not_read_again(make_unified):
    runtime = make_unified()
    first = runtime.check([JUDGING], ORDERS)[0][1]
    fed = runtime.fed
    assert runtime.judge([replace(JUDGING, candidates=(CANDIDATES[1], replace(CANDIDATES[4], parent=0)))])[0] == [
        first[1],
        first[4],
    ]
    assert runtime.fed == fed


def test_next_turn_goes_on_where_the_dialogue_ended(make_unified):
    runtime = make_unified()
    runtime.plan([CONTEXT], ORDERS)
    longer = Context.of(*(turn.text for turn in CONTEXT.turns), "34 francs.", "And for children?")
    fed = runtime.fed
    runtime.plan([longer], ORDERS)
    assert runtime.fed - fed < dialogue_tokens(runtime, longer) - dialogue_tokens(runtime) + 8


def test_cleared_cache_reads_again_and_says_the_same(make_unified):
    runtime = make_unified()
    before = runtime.judge([JUDGING])[0]
    fed = runtime.fed
    runtime.clear_cache()
    assert runtime.judge([JUDGING])[0] == pytest.approx(before, abs=1e-6)
    assert runtime.fed == 2 * fed


def test_cache_stays_within_its_tokens(make_unified):
    runtime = make_unified(kept_tokens=150)
    for number in range(12):
        runtime.plan([Context.of(f"Question number {number} of many, and none like another.")], ORDERS)
    kept = runtime._ready()[1].prefixes
    assert 0 < kept.tokens <= 150
    assert make_unified(kept_tokens=0).judge([JUDGING])[0] == pytest.approx(runtime.judge([JUDGING])[0], abs=1e-5)


def test_closed_model_is_loaded_again_when_it_is_needed(make_unified):
    runtime = make_unified()
    before = runtime.judge([JUDGING])
    runtime.close()
    assert runtime.fed == 0
    assert runtime.judge([JUDGING])[0] == pytest.approx(before[0], abs=1e-6)


def test_dialogue_that_is_too_long_loses_its_oldest_turns_and_says_so(make_unified):
    runtime = make_unified(window=160)
    long = Context.of(*(f"Turn number {n} of a dialogue that is long." for n in range(9)))
    draft = runtime.write([Writing(long, WrittenSequence())], max_tokens=4)[0]
    assert draft.notes["turns_left_out"] >= 1
    assert len(runtime.judge([Judging(long, CANDIDATES[:2])])[0]) == 2


def test_evidence_that_finds_no_room_is_left_out_the_least_similar_first(make_unified):
    runtime = make_unified(window=180, candidate=24)
    many = tuple(Shown("DOCUMENTS", f"Passage number {n}.", 9 - n) for n in range(6))
    draft = runtime.write([Writing(OTHER, WrittenSequence(("DOCUMENTS",), many))], max_tokens=4)[0]
    assert draft.notes["evidence_left_out"] >= 2
    kept, dropped = turn_trees.fit_evidence(runtime.turns, Writing(OTHER, WrittenSequence(("DOCUMENTS",), many)))
    assert [shown.tenths for shown in kept.written.evidence] == [9 - n for n in range(6 - dropped)]


def test_grammar_without_similarities_judges_nothing_but_plans_and_writes(make_unified):
    runtime = make_unified(layout="plain", style="safari")
    with pytest.raises(InputError, match="safari judges no evidence"):
        runtime.judge([JUDGING])
    assert set(runtime.plan([CONTEXT], ORDERS)[0]) == set(ORDERS)
    shown = tuple(replace(piece, tenths=None) for piece in EVIDENCE)
    assert runtime.write([Writing(CONTEXT, WrittenSequence(PLAN, shown))], max_tokens=4)[0].usage.completion_tokens <= 4


def test_plain_line_has_no_check(make_unified):
    with pytest.raises(InputError, match="no check"):
        make_unified(layout="plain").check([JUDGING], ORDERS)


def test_odd_options_are_refused(make_unified):
    for options in ({"pass_tokens": -1}, {"packed_tokens": -1}, {"kept_tokens": -1}):
        with pytest.raises(ConfigError):
            make_unified(**options)


@pytest.mark.slow
@pytest.mark.integration
def test_packed_scores_of_real_weights_are_those_of_each_line_alone():
    from dragoman.core.tokens import Grammar
    from dragoman.models.torch.causal_lm import load_causal
    from dragoman.models.unified.model import TreeShape, TurnTokens
    from dragoman.models.unified.token_spelling import spell
    from dragoman.models.unified.torch_model import LoadedUnified, TorchUnified
    from dragoman.models.unified.vocabularies import tokenizer_vocabulary

    causal = load_causal("smollm2-135m-instruct")
    shape, vocabulary = TreeShape(Grammar(("PERSONA", "MEMORY", "DOCUMENTS"))), tokenizer_vocabulary(causal.tokenizer)
    turns = TurnTokens(shape, spell(shape.grammar, "text", vocabulary), vocabulary.encode, min(causal.ends))
    runtime = TorchUnified(shape, lambda: LoadedUnified(causal, turns))
    alone = [expected(runtime, line_of(runtime, JUDGING, number)) for number in range(len(CANDIDATES))]
    assert runtime.judge([JUDGING])[0] == pytest.approx(alone, abs=1e-3)
