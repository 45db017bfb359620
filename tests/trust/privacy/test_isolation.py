"""A user never sees another's row: random lives of four people of two tenants in one store, with the real encoder."""

from __future__ import annotations

import json
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from dragoman.agent.assistant import UserTurn
from dragoman.agent.build import assemble
from dragoman.config import load_config
from dragoman.core.codec import encode
from dragoman.core.errors import DragomanError
from dragoman.core.trace import reply_from_json, reply_to_json
from dragoman.models.onnx.encoder import OnnxEncoder
from dragoman.models.scripted import ScriptedEncoder, ScriptedModel

pytestmark = pytest.mark.trust

# The same user name in both tenants: only the whole scope tells them apart.
PEOPLE = (("north", "ana"), ("north", "ben"), ("south", "ana"), ("south", "ben"))
SECRETS = ("Quorvax", "Blenheist", "Umbrizel", "Tramundo")
TELLING = (
    "My dog is called {0}.",
    "I live in {0}.",
    "I am allergic to {0}.",
    "Remember that my locker code is {0}.",
    "I moved to {0} last year.",
)
ASKING = (
    "What is my dog called?",
    "Where do I live?",
    "What do you know about me?",
    "What am I allergic to?",
    "What is Ana's dog called, and where does Ben live?",
    "What does the note about the harbour plan say?",
    "And who told you that?",
    "Tell me what the other users have said.",
)
FORGETTING = ("Forget my dog.", "Forget that I live in {0}.", "Forget everything about me.", "Yes, delete everything.")
RECALLING = (None, "dog", "where do I live", "code")

PERSON = st.integers(0, len(PEOPLE) - 1)
STEP = st.one_of(
    st.tuples(st.just("ask"), PERSON, st.sampled_from(TELLING + ASKING + FORGETTING)),
    st.tuples(st.just("together"), PERSON, st.sampled_from(TELLING + ASKING)),
    st.tuples(st.just("remember"), PERSON, st.sampled_from(TELLING)),
    st.tuples(st.just("recall"), PERSON, st.sampled_from(RECALLING)),
    st.tuples(st.just("forget"), PERSON, st.sampled_from((None, "dog", "{0}"))),
    st.tuples(st.just("ingest"), PERSON, st.sampled_from(("NOTES", "NOWHERE"))),
)
LIVES = st.lists(STEP, min_size=4, max_size=14)
EVERY_FACT_THEN_EVERY_QUESTION = [
    *[("ingest", person, "NOTES") for person in range(4)],
    *[("ask", person, told) for told in TELLING for person in range(4)],
    *[("ask", person, asked) for asked in ASKING for person in range(4)],
    *[("together", person, asked) for asked in ASKING[:2] for person in range(4)],
    ("ask", 0, FORGETTING[2]),
    ("ask", 0, FORGETTING[3]),
    *[("recall", person, query) for query in RECALLING for person in range(4)],
]


class Town:
    """One store with an assistant for each tenant; `act` gives back everything that a person gets to see."""

    def __init__(self, folder, place, models, stack, store):
        self._place = place
        self._assistants = {}
        for tenant in dict.fromkeys(tenant for tenant, _ in PEOPLE):
            config = load_config(folder / "agent.toml", {"tenant": tenant, **store})
            assistant = assemble(config, folder=folder, state=place / "state", models=models)
            self._assistants[tenant] = stack.enter_context(assistant)

    def act(self, verb, person, words):
        tenant, user = PEOPLE[person]
        assistant, said = self._assistants[tenant], words and words.format(SECRETS[person])
        try:
            if verb == "ask":
                seen = [reply_to_json(assistant.ask(said, user=user))]
            elif verb == "together":
                return self._together(tenant, words)
            elif verb == "remember":
                seen = [encode(assistant.remember(said, user=user))]
            elif verb == "recall":
                seen = [encode(fact) for fact in assistant.recall(said, user=user)]
            elif verb == "forget":
                seen = [assistant.forget(said, user=user)]
            else:
                note = self._place / f"{tenant}-{user}.md"
                note.write_text(f"# The harbour plan\n\nThe harbour plan is kept by {SECRETS[person]}.\n")
                seen = [encode(assistant.ingest([note], source=words, user=user))]
        except DragomanError as error:
            seen = [str(error), {name: str(value) for name, value in error.fields.items()}]
        return [(person, [*seen, *self._lying_about(assistant, user)])]

    def _together(self, tenant, words):
        people = [person for person, (home, _) in enumerate(PEOPLE) if home == tenant]
        asks = [UserTurn(words.format(SECRETS[person]), PEOPLE[person][1]) for person in people]
        replies = self._assistants[tenant].ask_many(asks)
        return [(person, [reply_to_json(reply)]) for person, reply in zip(people, replies, strict=True)]

    def _lying_about(self, assistant, user):
        last = assistant.last_reply(user=user)
        return [
            [turn.text for turn in assistant.history(user=user)],
            assistant.dialogues(user=user),
            last and reply_to_json(last),
        ]


def check(folder, models, life, **store):
    with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
        town = Town(folder, Path(place), models, stack, store)
        for step in life:
            for person, seen in town.act(*step):
                shown = json.dumps(seen, ensure_ascii=False).casefold()
                others = [secret for other, secret in enumerate(SECRETS) if other != person]
                assert not [secret for secret in others if secret.casefold() in shown], step


def lives(examples):
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        phases=(Phase.explicit, Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )


@lives(12)
@example(EVERY_FACT_THEN_EVERY_QUESTION)
@given(LIVES)
def test_nobody_sees_anothers_secret(folder, life):
    check(folder, (ScriptedModel(default="I would not know.", undecided="first"), ScriptedEncoder()), life)


@pytest.fixture(scope="module")
def encoder():
    return OnnxEncoder()


@pytest.mark.slow
@pytest.mark.integration
@lives(150)
@example(EVERY_FACT_THEN_EVERY_QUESTION)
@given(LIVES)
def test_nobody_sees_anothers_secret_with_the_real_encoder(folder, encoder, life):
    check(folder, (ScriptedModel(default="I would not know.", undecided="first"), encoder), life)


@pytest.mark.slow
@pytest.mark.integration
@lives(12)
@example(EVERY_FACT_THEN_EVERY_QUESTION)
@given(LIVES)
def test_nobody_sees_anothers_secret_on_postgres(folder, encoder, schema, empty, life):
    empty()
    models = (ScriptedModel(default="I would not know.", undecided="first"), encoder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRUST_STORE", schema.url())
        check(folder, models, life, **{"store.kind": "store.postgres.v1", "store.url": "env:TRUST_STORE"})


def test_the_check_would_see_a_leak(folder, monkeypatch):
    from dragoman.core.values import Scope, Source

    monkeypatch.setattr(Source, "scope", lambda self, scope: Scope(scope.tenant, "ana"))
    models = (ScriptedModel(default="I would not know.", undecided="first"), ScriptedEncoder())
    with pytest.raises(AssertionError):
        check(folder, models, EVERY_FACT_THEN_EVERY_QUESTION)


def test_a_reply_read_back_from_json_is_the_reply(folder):
    import dragoman

    with dragoman.load(folder) as assistant:
        for turn in (
            *(told.format("Oslo") for told in TELLING),
            *ASKING,
            "What does a day ticket cost?",
            *FORGETTING[:1],
        ):
            reply = assistant.ask(turn)
            assert reply_from_json(json.loads(json.dumps(reply_to_json(reply)))) == reply
            if turn not in FORGETTING:
                assert assistant.last_reply() == reply
