"""The shipped set: what is in it, that it never changes unnoticed, and that there is something to learn from it."""

from __future__ import annotations

import hashlib
import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.core.codec import encode
from dragoman.core.errors import ConfigError, UnknownNameError
from dragoman.core.registry import datasets
from dragoman.core.values import Scope
from dragoman.datasets.toy import ToyDataset
from dragoman.testing import DatasetConformance

LANGUAGES = ("en", "zh")
PARTS = ("train", "dev", "test")
DECISIONS = {"NULL", "USER", "PERSONA", "PERSONA+DOCUMENTS", "USER+PERSONA"}


@pytest.fixture(scope="module", params=LANGUAGES)
def language(request):
    return request.param


@pytest.fixture(scope="module")
def examples(language):
    return list(ToyDataset(language=language).examples())


def decision(example):
    return "+".join(example.gold.plan) or "NULL"


def digest(examples):
    found = hashlib.sha256()
    for example in examples:
        found.update(json.dumps(encode(example), ensure_ascii=False, sort_keys=True).encode())
    return found.hexdigest()


class TestConformance(DatasetConformance):
    @pytest.fixture(params=LANGUAGES)
    def dataset(self, request):
        return ToyDataset(language=request.param, dialogues=40)


class TestPins:
    def test_the_bytes_are_those_of_this_version(self, language, examples):
        pinned = {
            "en": "c0e2e744591cedebcf9115d204f09a6c5b3415dbb303d53e37af00dddf8a3353",
            "zh": "1176c6cc01708cc65cfb01a61cf558f0cc8f1e4ca76ee062616bc2da0b196d3e",
        }
        assert digest(examples) == pinned[language], "a change of what the set says makes a toy.v2"

    def test_counts(self, language, examples):
        counts = Counter(map(decision, examples))
        assert (
            dict(counts)
            == {
                "en": {"NULL": 330, "PERSONA": 135, "PERSONA+DOCUMENTS": 315, "USER": 112, "USER+PERSONA": 44},
                "zh": {"NULL": 352, "PERSONA": 144, "PERSONA+DOCUMENTS": 309, "USER": 100, "USER+PERSONA": 44},
            }[language]
        )

    def test_first_middle_and_last_record(self, language, examples):
        found = [(e.id, e.context.last, e.gold.reply, decision(e)) for e in (examples[0], examples[500], examples[-1])]
        assert (
            found
            == {
                "en": [
                    (
                        "en-w01.0",
                        "Morning! I nearly missed my train again.",
                        "Good morning. Nearly is good enough for a train.",
                        "NULL",
                    ),
                    (
                        "en-g072.2",
                        "Who founded the Museum of Weather?",
                        "It was founded by the town's last watchmaker.",
                        "PERSONA+DOCUMENTS",
                    ),
                    ("en-g150.5", "Right, I have to run. Bye!", "Take care, until next time.", "NULL"),
                ],
                "zh": [
                    ("zh-w01.0", "早啊，今天差点又没赶上车。", "早，差一点就是赶上了。", "NULL"),
                    ("zh-g068.0", "落松步道哪里有泉水？", "泉水在第二道石门后面。", "PERSONA+DOCUMENTS"),
                    ("zh-g150.3", "谢谢，你真好。", "应该的。", "NULL"),
                ],
            }[language]
        )

    def test_dialogues_of_each_part_and_origin(self, examples):
        met = {(e.context.dialogue, e.meta["part"], e.meta["origin"]) for e in examples}
        assert Counter((part, origin) for _, part, origin in met) == {
            ("train", "written"): 14,
            ("dev", "written"): 3,
            ("test", "written"): 3,
            ("train", "generated"): 106,
            ("dev", "generated"): 22,
            ("test", "generated"): 22,
        }

    def test_another_seed_gives_other_generated_dialogues(self, language):
        one, other = (list(ToyDataset(language=language, seed=seed, dialogues=3).examples()) for seed in (7, 8))
        written = [[e for e in found if e.meta["origin"] == "written"] for found in (one, other)]
        assert written[0] == written[1] and digest(one) != digest(other)

    def test_packaged_sentences_are_small(self):
        files = {file for language in LANGUAGES for file in ToyDataset(language=language).files}
        assert len(files) == 11
        assert sum(file.stat().st_size for file in files if file.suffix == ".toml") < 200_000


class TestParts:
    def test_parts_together_are_the_whole(self, language, examples):
        parts = [e for part in PARTS for e in ToyDataset(language=language, part=part).examples()]
        assert sorted(parts, key=lambda e: e.id) == sorted(examples, key=lambda e: e.id)

    @pytest.mark.parametrize("part", PARTS)
    def test_every_decision_is_in_every_part(self, examples, part):
        assert {decision(e) for e in examples if e.meta["part"] == part} == DECISIONS

    def test_about_a_third_needs_nothing(self, examples):
        for part in (*PARTS, None):
            chosen = [e for e in examples if part in (None, e.meta["part"])]
            assert 0.28 < sum(not e.gold.retrieve for e in chosen) / len(chosen) < 0.45

    @pytest.mark.parametrize("part", ["dev", "test"])
    def test_some_documents_are_not_in_train_and_some_are(self, examples, part):
        texts = {
            name: {p.text for e in examples if e.meta["part"] == name for p in e.candidates if p.source == "DOCUMENTS"}
            for name in ("train", part)
        }
        assert 0.2 < len(texts[part] - texts["train"]) / len(texts[part]) < 0.8

    def test_dev_has_a_written_bot_that_train_never_meets(self, examples):
        statements = {
            part: {
                p.text
                for e in examples
                if (e.meta["part"], e.meta["origin"]) == (part, "written")
                for p in e.candidates
                if p.source == "PERSONA"
            }
            for part in PARTS
        }
        assert statements["dev"] and not statements["dev"] & statements["train"]

    def test_more_dialogues_begin_with_the_same_ones(self, language, examples):
        more = {e.id: e for e in ToyDataset(language=language, dialogues=170).examples()}
        assert len(more) > len(examples)
        assert all(more[e.id] == e for e in examples)


class TestContents:
    def test_three_statements_with_five_documents_each(self, examples):
        for example in examples:
            personas = [p.id for p in example.candidates if p.source == "PERSONA"]
            parents = Counter(p.parent for p in example.candidates if p.source == "DOCUMENTS")
            assert parents == dict.fromkeys(personas, 5) and len(personas) == 3

    def test_gold_documents_hang_on_the_gold_statement(self, examples):
        for example in examples:
            parents = {p.id: p.parent for p in example.candidates}
            named = [parents[found] for found in example.gold.evidence if parents[found]]
            assert all(parent in example.gold.evidence for parent in named), example.id

    def test_the_scope_is_the_dialogue(self, language, examples):
        tenant = {"en": "toy", "zh": "toy-zh"}[language]
        assert {e.context.scope for e in examples} == {Scope(tenant, e.context.dialogue) for e in examples}

    def test_no_place_in_a_sentence_is_left_open(self, examples):
        said = [text for e in examples for text in (e.context.last, e.gold.reply, *(p.text for p in e.candidates))]
        assert not [text for text in said if "{" in text or "|" in text or ".." in text or not text.strip()]

    def test_passage_ids_are_unique_in_the_whole_set(self, examples):
        pools = {e.context.scope: e.candidates for e in examples}
        ids = [p.id for pool in pools.values() for p in pool]
        assert len(ids) == len(set(ids))

    def test_at_least_seven_domains(self, examples):
        assert len({e.domain for e in examples}) >= 7

    def test_some_questions_are_evaded(self, examples):
        """Noise on purpose: a question that is looked up elsewhere is NULL here."""
        asked = {}
        for example in examples:
            asked.setdefault(example.context.last, set()).add(example.gold.retrieve)
        assert sum(len(labels) == 2 for labels in asked.values()) >= 5


class TestHardness:
    """BM25 over the last user turn: better than chance, far from perfect."""

    @pytest.fixture
    def tokens(self, language):
        if language == "en":
            return lambda text: "".join(c if c.isalnum() else " " for c in text.lower()).split()
        return lambda text: [text[i : i + 2] for i in range(len(text) - 1)]

    @pytest.mark.parametrize(("source", "low", "high"), [("PERSONA", 0.45, 0.85), ("DOCUMENTS", 0.3, 0.7)])
    def test_words_alone_do_not_settle_it(self, examples, tokens, source, low, high):
        from rank_bm25 import BM25Okapi

        turns = [e for e in examples if source in e.gold.plan and "USER" not in e.gold.plan]
        hits = 0
        for example in turns:
            pool = [p for p in example.candidates if p.source == source]
            scores = BM25Okapi([tokens(p.text) for p in pool]).get_scores(tokens(example.context.last))
            hits += pool[max(range(len(pool)), key=lambda i: scores[i])].id in example.gold.evidence
        assert low < hits / len(turns) < high


class TestOptions:
    def test_it_is_registered(self):
        assert datasets.resolve("toy") == "dataset.toy.v1"
        assert isinstance(datasets.factory("toy.v1")(language="zh"), ToyDataset)

    def test_an_unknown_language_is_refused(self):
        with pytest.raises(UnknownNameError, match="Unknown language of the toy set 'de'"):
            ToyDataset(language="de")

    def test_an_unknown_part_is_refused_with_a_suggestion(self):
        with pytest.raises(UnknownNameError, match="Did you mean 'train'"):
            ToyDataset(part="trian")

    def test_a_negative_number_of_dialogues_is_refused(self):
        with pytest.raises(ConfigError, match="-1"):
            ToyDataset(dialogues=-1)

    @settings(max_examples=12)
    @given(st.integers(), st.sampled_from(LANGUAGES), st.sampled_from(["dev", "test"]))
    def test_any_seed_gives_every_decision_and_legal_evidence(self, seed, language, part):
        found = list(ToyDataset(language=language, part=part, seed=seed).examples())
        assert {decision(e) for e in found} == DECISIONS
        assert all({p.id for p in e.candidates} >= set(e.gold.evidence) for e in found)
