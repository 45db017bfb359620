"""The NLI learner on a tiny random encoder: from labelled turns to a part that the critic runs."""

from __future__ import annotations

import json

import pytest
from tests.train.agreeing import assert_agrees

from dragoman.core.errors import ConfigError, TrainingError
from dragoman.core.examples import Example, Gold
from dragoman.core.values import Context, Evidence, Passage, Scope
from dragoman.critic import NliCritic
from dragoman.models.part import open_part
from dragoman.train.contract import Corpus, Job
from dragoman.train.learners.critic_nli import NliLearner
from dragoman.train.spec import Recipe

THINGS = "ferry museum bakery garden tower bridge market harbour castle library mill theatre".split()
PLACES = "north south east west".split()


@pytest.fixture(scope="module")
def base(make_bert):
    return make_bert(words=" ".join([*THINGS, *PLACES, "the is in not it opens at we have a 12 34"]))


def corpus(first, count):
    examples = []
    for place in range(first, first + count):
        thing, side = THINGS[place % len(THINGS)], PLACES[place % len(PLACES)]
        dialogue = f"d{place}"
        pool = (
            Passage(f"{dialogue}/a", "DOCUMENTS", f"The {thing} is in the {side}."),
            Passage(f"{dialogue}/b", "DOCUMENTS", "It opens at 12."),
        )
        gold = Gold(True, ("DOCUMENTS",), (pool[0].id,), f"The {thing}? It is in the {side}.")
        context = Context.of(f"Where is the {thing}?", scope=Scope("set", dialogue), dialogue=dialogue)
        examples.append(Example(f"{dialogue}#0", context, (), pool, gold))
    return Corpus((), tuple(examples))


def job(folder, base, *, train=None, dev=None, **tables):
    recipe = {
        "kind": "critic.nli",
        "input": {"negatives": 2},
        "model": {"base": str(base), "max_tokens": 48},
        "train": {"epochs": 1, "batch": 16, "rate": 1e-3, "metric": "accuracy"},
        "calibrate": {"threshold": "half"},
        "export": {"int8": "never"},
        **tables,
    }
    folder.mkdir(exist_ok=True)
    return Job(Recipe.model_validate(recipe), train or corpus(0, 24), dev or corpus(100, 12), folder)


@pytest.fixture(scope="module")
def made(tmp_path_factory, base):
    folder = tmp_path_factory.mktemp("nli")
    return NliLearner().fit(job(folder, base)), folder


@pytest.mark.slow
def test_the_part_says_how_well_it_does_kind_by_kind(made):
    part, folder = made
    metrics = open_part(folder, kind="critic.nli").made["metrics"]
    assert {"accuracy", "random", "hard", "sibling", "opposite", "accepted", "random/DOCUMENTS"} <= metrics.keys()
    assert all(0.0 <= metrics[name] <= 1.0 for name in ("accuracy", "random", "hard"))
    assert part.made["dev_pairs"]["gold"] == 12
    assert part.head("consistent").threshold() == 0.5


@pytest.mark.slow
def test_the_critic_runs_what_was_trained(made):
    _, folder = made
    critic = NliCritic(part=str(folder))
    piece = Evidence(Passage("x", "DOCUMENTS", "The mill is in the north."), 1.0)
    pairs = [(piece, "The mill? It is in the north."), (piece, "We have a castle."), (piece, "")]
    together = critic.consistency(pairs)
    assert together[2] == 0.0
    assert all(0.0 < value < 1.0 for value in together[:2])
    assert together == pytest.approx([critic.consistency([pair])[0] for pair in pairs], abs=1e-4)


@pytest.mark.slow
def test_the_exported_critic_says_what_torch_says(made, tmp_path):
    pairs = [("The mill is in the north.", "It is in the north."), ("We have a market.", "The tower opens at 12.")]
    assert_agrees(made[1], pairs, "consistent", tmp_path)


def test_a_set_without_replies_is_refused(tmp_path, base):
    bare = Corpus((), (Example("a", Context.of("Hello?"), (), gold=Gold(retrieve=True)),))
    with pytest.raises(TrainingError, match="No turn of the train data has both gold evidence and a reply"):
        NliLearner().fit(job(tmp_path, base, train=bare))


def test_too_few_pairs_are_refused_before_anything_is_loaded(tmp_path):
    with pytest.raises(TrainingError, match="8 of each are the least"):
        NliLearner().fit(job(tmp_path, "no-such-base", dev=corpus(100, 3)))


def test_a_wrong_key_of_the_recipe_is_refused(tmp_path, base):
    with pytest.raises(ConfigError, match="negativs"):
        NliLearner().fit(job(tmp_path, base, input={"negativs": 3}))


def test_the_shipped_recipe_is_one_that_the_learner_takes():
    import tomllib
    from importlib.resources import files

    from dragoman.train.learners.critic_nli import NliInput
    from dragoman.train.recipe_tables import TrunkTable

    text = (files("dragoman.train") / "recipes" / "critic-nli.toml").read_text(encoding="utf-8")
    recipe = Recipe.model_validate(tomllib.loads(text))
    assert recipe.kind == "critic.nli"
    assert NliInput.model_validate(recipe.input).single
    assert TrunkTable.model_validate(recipe.model).base == "all-minilm-l6-v2"
    assert json.dumps(recipe.calibrate.threshold) == '"half"'
