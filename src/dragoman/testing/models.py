"""The suites for language models and encoders."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dragoman.core.protocols import Encoder, LanguageModel
from dragoman.core.values import Draft, Message, Prompt
from dragoman.testing.samples import is_probability

if TYPE_CHECKING:
    from dragoman.core.protocols import FloatArray

PROMPTS = (
    Prompt.user("Say hello.", system="You are a guide."),
    Prompt.user("What is two and two? Answer with a number."),
    Prompt.user("用一句话打招呼。"),
    Prompt((Message("user", "Hi."), Message("assistant", "Hello!"), Message("user", "Say it again."))),
)
OPTIONS = ("True", "False")


class LanguageModelConformance:
    """Give a fixture `language_model`. Repeatability is asked of `choose`; set `repeats = False` where it samples."""

    repeats = True
    tolerance = 0.02

    def test_is_a_language_model(self, language_model: LanguageModel) -> None:
        assert isinstance(language_model, LanguageModel), "a language model has generate, stream and choose"

    def test_generates_a_draft_for_every_prompt(self, language_model: LanguageModel) -> None:
        drafts = language_model.generate(PROMPTS, max_tokens=8)
        assert len(drafts) == len(PROMPTS), "one draft for each prompt"
        for draft in drafts:
            assert isinstance(draft, Draft), f"{draft!r} is not a Draft"
            assert is_probability(draft.confidence), f"{draft.confidence} is not a probability"
            assert draft.usage.completion_tokens <= 8, "max_tokens is a limit"

    def test_stream_is_the_draft_in_pieces(self, language_model: LanguageModel) -> None:
        *pieces, draft = language_model.stream(PROMPTS[0], max_tokens=8)
        assert isinstance(draft, Draft), "the last thing streamed is the whole draft"
        assert "".join(map(str, pieces)) == draft.text, "the pieces add up to the draft"

    def test_stops_before_a_stop_string(self, language_model: LanguageModel) -> None:
        whole = language_model.generate(PROMPTS[:1], max_tokens=8)[0].text
        stop = whole.strip()[1:2]
        if stop:
            text = language_model.generate(PROMPTS[:1], max_tokens=8, stop=(stop,))[0].text
            assert stop not in text, f"{stop!r} was to end the text, which is {text!r}"

    def test_chooses_with_probabilities_that_sum_to_one(self, language_model: LanguageModel) -> None:
        for options in (OPTIONS, ("NULL", "PERSONA", "DOCUMENTS"), ("0.1", "0.2", "0.9")):
            for chosen in language_model.choose(PROMPTS, options):
                assert set(chosen) == set(options), "a probability for every option and nothing else"
                assert all(is_probability(value) for value in chosen.values()), f"not probabilities: {dict(chosen)}"
                assert math.isclose(sum(chosen.values()), 1.0, abs_tol=1e-6), f"sums to {sum(chosen.values())}"

    def test_choice_does_not_depend_on_the_batch(self, language_model: LanguageModel) -> None:
        if self.repeats:
            for prompt, chosen in zip(PROMPTS, language_model.choose(PROMPTS, OPTIONS), strict=True):
                alone = language_model.choose([prompt], OPTIONS)[0]
                assert abs(alone["True"] - chosen["True"]) <= self.tolerance, f"{dict(chosen)}, alone {dict(alone)}"

    def test_one_option_is_certain(self, language_model: LanguageModel) -> None:
        assert language_model.choose(PROMPTS[:1], ("True",))[0] == {"True": 1.0}, "nothing else could be chosen"

    def test_empty_batch(self, language_model: LanguageModel) -> None:
        assert len(language_model.generate([], max_tokens=8)) == 0, "no prompts, no drafts"
        assert len(language_model.choose([], OPTIONS)) == 0, "no prompts, no choices"


TEXTS = ("The ferry leaves at nine.", "The boat departs at nine.", "猫在睡觉。", "🙂", "", "long " * 2000)


class EncoderConformance:
    """Give a fixture `encoder`. One that has `encode_passages` is asked by it too."""

    def test_is_an_encoder(self, encoder: Encoder) -> None:
        assert isinstance(encoder, Encoder), "an encoder has dimensions and encode(texts)"

    def test_gives_unit_vectors(self, encoder: Encoder) -> None:
        for read in _ways(encoder):
            vectors = read(TEXTS)
            assert vectors.shape == (len(TEXTS), encoder.dimensions), f"the shape is {vectors.shape}"
            assert str(vectors.dtype) == "float32", f"the type is {vectors.dtype}"
            for text, vector in zip(TEXTS, vectors, strict=True):
                length = math.sqrt(sum(float(value) ** 2 for value in vector))
                assert math.isclose(length, 1.0, abs_tol=1e-3), f"{text[:20]!r} has length {length}"

    def test_a_vector_does_not_depend_on_the_batch(self, encoder: Encoder) -> None:
        for read in _ways(encoder):
            for text, vector in zip(TEXTS, read(TEXTS), strict=True):
                likeness = float(vector @ read([text])[0])
                assert likeness > 0.99, f"{text[:20]!r} alone is another vector: cosine {likeness}"

    def test_paraphrases_are_closer_than_strangers(self, encoder: Encoder) -> None:
        ferry, boat, cat = encoder.encode(TEXTS[:3])
        assert float(ferry @ boat) > float(ferry @ cat), "a paraphrase must be closer than an unrelated text"

    def test_empty_batch(self, encoder: Encoder) -> None:
        for read in _ways(encoder):
            assert read([]).shape == (0, encoder.dimensions), "no texts, no rows"


def _ways(encoder: Encoder) -> list[Callable[[Sequence[str]], FloatArray]]:
    """The functions of an encoder that encode texts: for queries, and for passages where it has another one."""
    own = getattr(encoder, "encode_passages", None)
    return [encoder.encode] if own is None else [encoder.encode, own]
