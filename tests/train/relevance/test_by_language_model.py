"""Labels by a language model: strict parsing, asking again, and answers that are never paid for twice."""

import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import StoreCorruptError
from dragoman.core.values import Passage, Prompt
from dragoman.models.scripted import ScriptedModel, text_of
from dragoman.train.relevance.answer_cache import AnswerCache
from dragoman.train.relevance.by_language_model import ChosenLabels, ListedLabels, identity, parse
from dragoman.train.relevance.candidate_pools import CandidatePool, turn_to_label
from dragoman.train.relevance.methods import TENTHS, Unanswered

ONE = {"kind": "scripted"}


@pytest.fixture
def toys(load_beside):
    return load_beside("relevance_toys")


@pytest.fixture
def pools(toys):
    return turn_to_label(toys.turn(), "plan").pools


@pytest.fixture
def answers(tmp_path):
    """Makes answers over one file."""
    made = []

    def make(model, name="model"):
        made.append(AnswerCache(model, tmp_path / "deep" / "answers.db", identity={"name": name}))
        return made[-1]

    yield make
    for each in made:
        each.close()


def listed(answers, **options):
    return ListedLabels(answers, model=ONE, language="en", **options)


class TestParsing:
    @pytest.mark.parametrize(
        "text",
        ["[1]: 0.2, [2]: 1.0", "[1]:0.2,[2]:1", " [1]: 0.2\n[2]: 1.0\n", "[2]: 1.0; [1]: 0.2.", "[1]：0.2，[2]：1.0。"],
    )
    def test_a_list_of_scores(self, text):
        assert parse(text, 2) == [0.2, 1.0]

    @pytest.mark.parametrize(
        "text",
        [
            *["", "0.2, 0.3", "[1]: 0.2", "[1]: 0.2, [1]: 0.3", "[1]: 0.2, [3]: 0.3", "[1]: 0.2, [2]: 0.25"],
            *["[1]: 0.2, [2]: 1.1", "[1]: 0.2, [2]: .5", "[1]: 0.2, [2]: -0.5", "Sure! [1]: 0.2, [2]: 0.3"],
            *["[1]: 0.2, [2]: 0.3 (of use)", "[0]: 0.2, [1]: 0.3", "[1]: 0.2, [2]: 0.3, [3]: 0.3", "[1] 0.2 [2] 0.3"],
        ],
    )
    def test_anything_else_is_not_read(self, text):
        assert isinstance(parse(text, 2), Unanswered)

    @given(st.lists(st.sampled_from(TENTHS), min_size=1, max_size=20), st.randoms())
    def test_what_is_written_in_the_form_is_read_as_it_was(self, scores, dice):
        entries = [f"[{number}]: {score}" for number, score in enumerate(scores, start=1)]
        dice.shuffle(entries)
        assert parse(", ".join(entries), len(scores)) == scores

    @given(st.text(), st.integers(1, 3))
    def test_no_text_breaks_it(self, text, count):
        found = parse(text, count)
        assert isinstance(found, Unanswered) or (len(found) == count and set(found) <= set(TENTHS))


class TestChoosing:
    def test_the_label_is_the_expected_score_by_hand(self, answers, pools):
        """0.2 with 1/4 and 0.8 with 3/4: 0.05 + 0.6; a uniform choice of eleven: 0.5."""
        model = ScriptedModel(choices=[("- Tea grows", {"0.2": 1.0, "0.8": 3.0}), ("- I like", "1.0")])
        persona, documents = ChosenLabels(answers(model), model=ONE, language="en").judge(pools)
        assert persona == pytest.approx([1.0, 0.5])
        assert documents == pytest.approx([0.5, 0.65, 0.5])

    def test_title_and_language_are_in_the_prompt(self, answers, toys):
        model = ScriptedModel()
        passage = Passage("a", "PERSONA", "text\nhere", title="Hotel")
        pool = CandidatePool(toys.turn(), toys.PERSONA, (passage,))
        ChosenLabels(answers(model), model=ONE, language="zh", turns=1).judge([pool])
        said = text_of(model.history[0])
        assert "- Hotel text here" in said
        assert "用户：Where does tea grow?" in said
        assert "Hello!" not in said


class TestLists:
    def test_one_prompt_a_source(self, answers, pools):
        model = ScriptedModel(answers=["[1]: 0.9, [2]: 0.1", "[1]: 0.3, [2]: 1.0, [3]: 0.0"])
        assert listed(answers(model)).judge(pools) == [[0.9, 0.1], [0.3, 1.0, 0.0]]
        assert len(model.history) == 2
        assert "[2] Tea grows on hills." in text_of(model.history[1])

    def test_an_answer_that_cannot_be_read_is_shown_to_the_model_again(self, answers, pools):
        model = ScriptedModel(answers=["The first.", "[1]: 0.9, [2]: 0.1"])
        assert listed(answers(model)).judge(pools[:1]) == [[0.9, 0.1]]
        roles = [message.role for message in model.history[1].messages]
        assert roles == ["system", "user", "assistant", "user"]
        assert model.history[1].messages[2].content == "The first."
        assert "each of the 2 notes" in model.history[1].messages[3].content

    def test_it_is_asked_again_a_bounded_number_of_times(self, answers, pools):
        model = ScriptedModel(default="The first.")
        (found,) = listed(answers(model), retries=3).judge(pools[:1])
        assert found == Unanswered("the answer 'The first.' is not a list of scores")
        assert len(model.history) == 4

    def test_a_long_pool_is_asked_in_pieces(self, answers, toys):
        many = tuple(Passage(f"p{number}", "PERSONA", f"fact {number}") for number in range(23))
        twenty = ", ".join(f"[{number}]: 0.1" for number in range(1, 21))
        model = ScriptedModel(rules=[("of the 20 notes", twenty), ("of the 3 notes", "[1]: 1, [2]: 1, [3]: 1")])
        (found,) = listed(answers(model)).judge([CandidatePool(toys.turn(), toys.PERSONA, many)])
        assert found == [0.1] * 20 + [1.0] * 3

    def test_a_pool_of_which_a_piece_fails_has_no_labels(self, answers, toys):
        many = tuple(Passage(f"p{number}", "PERSONA", f"fact {number}") for number in range(23))
        model = ScriptedModel(rules=[("of the 3 notes", "[1]: 1, [2]: 1, [3]: 1")], default="no")
        (found,) = listed(answers(model), retries=0).judge([CandidatePool(toys.turn(), toys.PERSONA, many)])
        assert isinstance(found, Unanswered)


class TestAnswers:
    def test_nothing_is_asked_twice_in_this_run_or_a_later_one(self, answers, pools):
        first, later = ScriptedModel(choices=[("tea", "0.7")]), ScriptedModel(choices=[("tea", "0.1")])
        before = ChosenLabels(answers(first), model=ONE, language="en").judge([*pools, *pools])
        assert len(first.history) == 5
        known = answers(later)
        assert ChosenLabels(known, model=ONE, language="en").judge([*pools, *pools]) == before
        assert (later.history, known.paid) == ([], 0)

    def test_another_model_is_asked(self, answers, pools):
        ChosenLabels(answers(ScriptedModel(), "one"), model=ONE, language="en").judge(pools)
        other = answers(ScriptedModel(), "other")
        ChosenLabels(other, model=ONE, language="en").judge(pools)
        assert other.paid == 5

    def test_answers_that_could_not_be_read_are_not_paid_for_again_either(self, answers, pools):
        listed(answers(ScriptedModel(default="no")), retries=1).judge(pools)
        again = answers(ScriptedModel(default="no"))
        listed(again, retries=2).judge(pools)
        assert again.paid == 2, "only the third try is new"

    def test_what_was_answered_before_a_failure_is_kept(self, answers):
        class Breaking(ScriptedModel):
            def choose(self, prompts, options):
                if len(self.history) >= 32:
                    raise KeyboardInterrupt
                return super().choose(prompts, options)

        prompts = [Prompt.user(f"{number}") for number in range(40)]
        with pytest.raises(KeyboardInterrupt):
            answers(Breaking()).choose(prompts, ("0.0", "1.0"))
        rest = answers(ScriptedModel())
        rest.choose(prompts, ("0.0", "1.0"))
        assert rest.paid == 8

    def test_many_may_open_a_new_file_at_the_same_moment(self, tmp_path):
        at_once = threading.Barrier(6)

        def ask(number, file):
            known = AnswerCache(ScriptedModel(), file, identity={})
            at_once.wait()
            try:
                known.choose([Prompt.user(f"{number}"), Prompt.user("all")], ("a", "b"))
            finally:
                known.close()

        with ThreadPoolExecutor(6) as pool:
            for round_ in range(10):
                list(pool.map(partial(ask, file=tmp_path / f"{round_}.db"), range(6)))
        later = AnswerCache(ScriptedModel(), tmp_path / "9.db", identity={})
        later.choose([Prompt.user(f"{number}") for number in range(6)], ("a", "b"))
        later.close()
        assert later.paid == 0

    def test_no_prompt_is_kept_in_words(self, answers, pools, tmp_path):
        known = answers(ScriptedModel())
        ChosenLabels(known, model=ONE, language="en").judge(pools)
        known.close()
        with sqlite3.connect(tmp_path / "deep" / "answers.db") as database:
            rows = database.execute("SELECT key, answer FROM answers").fetchall()
        database.close()
        assert len(rows) == 5
        assert not any("tea" in f"{row}" for row in rows)

    def test_a_file_that_is_something_else_is_named(self, tmp_path):
        file = tmp_path / "answers.db"
        file.write_text("this is no database, and long enough to be looked at " * 20)
        broken = AnswerCache(ScriptedModel(), file, identity={})
        with pytest.raises(StoreCorruptError, match=r"answers\.db cannot be used.*--cache"):
            broken.choose([Prompt.user("x")], ("a", "b"))
        broken.close()


class TestIdentity:
    def test_speed_and_keys_are_no_part_of_it(self):
        table = {"kind": "model.remote.v1", "url": "http://host", "model": "m", "temperature": 0.0}
        told = identity(table | {"timeout": 9.0, "retries": 1, "concurrency": 2, "key_env": "KEY"})
        assert told == table

    def test_weights_are_known_by_their_hash(self, tmp_path):
        file = tmp_path / "model.gguf"
        file.write_bytes(b"abc")
        told = identity({"kind": "model.llamacpp.v1", "weights": str(file)})
        digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        assert told == {"kind": "model.llamacpp.v1", "weights": {"name": "model.gguf", "sha256": digest}}

    def test_a_method_says_model_and_prompts(self, answers):
        about = listed(answers(ScriptedModel()), retries=5).about
        assert about["model"] == ONE
        assert about["retries"] == 5
        assert list(about["prompts"]) == ["en/relevance-list.v1", "en/relevance-list-again.v1"]


@pytest.mark.slow
@pytest.mark.integration
def test_the_default_model_judges(answers, toys):
    from dragoman.models.llamacpp.model import LlamaCppModel

    model = LlamaCppModel()
    try:
        pool = turn_to_label(toys.turn(), "plan").pools[0]
        (found,) = ChosenLabels(answers(model), model=ONE, language="en").judge([pool])
        assert len(found) == 2
        assert all(0 <= relevance <= 1 for relevance in found)
        (again,) = ChosenLabels(answers(model), model=ONE, language="en").judge([replace(pool)])
        assert again == found
    finally:
        model.close()
