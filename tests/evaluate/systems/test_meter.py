from __future__ import annotations

import copy
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import ModelError
from dragoman.core.protocols import Encoder, LanguageModel
from dragoman.core.values import Draft, Prompt, Usage
from dragoman.evaluate.systems.meter import CallMeter, Metered, MeteredEncoder, MeterReading, split
from dragoman.models.scripted import ScriptedEncoder, ScriptedModel
from dragoman.testing import EncoderConformance, LanguageModelConformance

PROMPT = Prompt.user("two words")


class TestMeteredModelConforms(LanguageModelConformance):
    @pytest.fixture
    def language_model(self):
        return Metered(ScriptedModel(default="one two three"))


class TestMeteredEncoderConforms(EncoderConformance):
    @pytest.fixture
    def encoder(self):
        return MeteredEncoder(ScriptedEncoder())


def test_every_way_of_asking_is_counted():
    model = Metered(ScriptedModel(default="one two three"))
    model.generate([PROMPT, PROMPT], max_tokens=9)
    list(model.stream(PROMPT, max_tokens=9))
    model.choose([PROMPT, PROMPT], ["yes", "no"])
    assert model.meter.read() == MeterReading(calls=5, choices=2, prompt_tokens=6, completion_tokens=9)
    assert model.meter.read().usage == Usage(6, 9, 5)


def test_a_stream_that_is_broken_off_was_a_call_all_the_same():
    model = Metered(ScriptedModel(default="one two three"))
    pieces = model.stream(PROMPT, max_tokens=9)
    next(pieces)
    pieces.close()
    assert model.meter.read() == MeterReading(calls=1)


def test_a_call_that_fails_is_not_counted():
    model = Metered(ScriptedModel())
    with pytest.raises(ModelError):
        model.generate([PROMPT], max_tokens=1)
    assert model.meter.read() == MeterReading()


def test_replies_are_those_of_the_model():
    plain, metered = ScriptedModel(default="x"), Metered(ScriptedModel(default="x"))
    assert metered.generate([PROMPT], max_tokens=1) == plain.generate([PROMPT], max_tokens=1)
    assert metered.choose([PROMPT], ["a", "b"]) == plain.choose([PROMPT], ["a", "b"])
    assert isinstance(list(metered.stream(PROMPT, max_tokens=1))[-1], Draft)


def test_texts_of_the_encoder_are_counted_in_the_same_meter():
    meter = CallMeter()
    encoder, model = MeteredEncoder(ScriptedEncoder(), meter), Metered(ScriptedModel(default="x"), meter)
    encoder.encode(["a", "b", "c"])
    model.generate([PROMPT], max_tokens=1)
    assert meter.read() == MeterReading(1, 0, 2, 1, encodings=1, encoded=3)
    assert encoder.dimensions == 256


def test_passages_of_an_encoder_that_reads_them_otherwise_are_counted_too():
    class Apart(ScriptedEncoder):
        def encode_passages(self, texts):
            return -self.encode(texts)

    encoder = MeteredEncoder(Apart())
    assert (encoder.encode_passages(["a", "b"]) == -encoder.encode(["a", "b"])).all()
    assert encoder.meter.read() == MeterReading(encodings=2, encoded=4)
    assert not hasattr(MeteredEncoder(ScriptedEncoder()), "encode_passages")


def test_wrappers_pass_for_what_they_wrap():
    model, encoder = Metered(ScriptedModel(default="x")), MeteredEncoder(ScriptedEncoder())
    assert isinstance(model, LanguageModel)
    assert isinstance(encoder, Encoder)
    model.warm_up()
    assert model.history == []
    assert not hasattr(encoder, "tokens")
    copy.copy(model)


def test_threads_do_not_lose_counts():
    model = Metered(ScriptedModel(default="x"))
    threads = [
        threading.Thread(target=lambda: [model.generate([PROMPT], max_tokens=1) for _ in range(50)]) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert model.meter.read().calls == 400


@given(st.lists(st.integers(0, 10**6), min_size=6, max_size=6), st.integers(1, 50))
def test_shares_of_a_batch_add_up_and_differ_by_one_at_most(numbers, turns):
    spent = MeterReading(*numbers)
    shares = split(spent, turns)
    assert len(shares) == turns
    assert sum(shares, MeterReading()) == spent
    assert max(share.calls for share in shares) - min(share.calls for share in shares) <= 1


def test_a_share_of_tokens_without_a_call_is_not_lost():
    """One call over two turns: the second has tokens and no call."""
    shares = [share.usage for share in split(MeterReading(calls=1, prompt_tokens=8, completion_tokens=3), 2)]
    assert shares == [Usage(4, 2, 1), Usage(4, 1, 0)]


def test_a_batch_without_turns_has_no_shares():
    assert split(MeterReading(3), 0) == []
