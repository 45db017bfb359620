"""What the commands do, done by workers elsewhere: the same bytes as here, whoever dies, and gone on with."""

from __future__ import annotations

from functools import partial

import pytest

from dragoman.agent.encoding import encoder_of
from dragoman.cli.label.methods import How, Wanted, method_of
from dragoman.core.errors import InputError, RunError, TrainingError
from dragoman.core.values import Scope, Source
from dragoman.evaluate.spec import SystemSpec
from dragoman.models.scripted import ScriptedEncoder
from dragoman.sources.ingest import ingest
from dragoman.stores.sqlite.store import SqliteStore
from dragoman.stores.transfer.portable import summary
from dragoman.train.relevance.labelling import label_relevance
from dragoman.train.sweep.study import load_sweep, sweep

DEATHS = {0: 1, 2: 2, 5: 3}
DOCS = Source("DOCS")
FEW = {"dialogues": 20}


@pytest.fixture
def runner(beside):
    return beside("evaluate/running/test_runner.py")


def rows_of(kept, runner):
    return {name: [runner.without_seconds(row) for row in rows] for name, rows in kept.rows.items()}


def systems(runner):
    return [
        runner.system("bm25", retriever=runner.SPARSE),
        runner.system("hybrid", retriever={"kind": "hybrid"}, gate={"kind": "shuffled"}),
        runner.system("gold", **runner.GOLD, reader={"kind": "frequent"}),
        runner.system("loud", retriever=runner.SPARSE, view={"shout": True}),
    ]


def test_evaluation_gives_the_same_rows(fake, runner):
    here = runner.run(systems(runner))
    _, workers = fake(deaths=DEATHS)
    there = runner.run(systems(runner), workers=workers)
    assert rows_of(there, runner) == rows_of(here, runner)
    assert [len(rows) for rows in there.rows.values()] == [18] * 4


def test_evaluation_goes_on_where_it_was_stopped(fake, runner):
    here = runner.run(systems(runner))
    kept = runner.Kept()
    for name, rows in here.rows.items():
        kept.rows[name] = list(rows[: {"bm25": 8, "hybrid": 8, "gold": 4, "loud": 4}[name]])
    _, workers = fake()
    assert rows_of(runner.run(systems(runner), rows=kept, workers=workers), runner) == rows_of(here, runner)


def test_a_turn_that_fails_is_told_with_its_shard_and_what_was_before_it_is_kept(fake, runner):
    asked = [
        SystemSpec(name="asked", retriever={"kind": "sparse"}, reader={"kind": "frequent"}, planner={"kind": "gold"})
    ]
    _, workers = fake(cpus=1.0)
    kept = runner.Kept()

    class Odd(runner.Little):
        def examples(self):
            for number, example in enumerate(super().examples()):
                yield runner.Example(
                    example.id, example.context, example.sources, example.candidates,
                    runner.Gold(None) if number == 9 else example.gold, example.position,
                )  # fmt: skip

    with pytest.raises(RunError, match=r"turn 'd3#0' of 'little'.*\(shard 'little, turns 9-12', on the node"):
        runner.run(asked, dataset=Odd(), rows=kept, workers=workers)
    assert len(kept.rows["asked"]) == 8


def test_labels_are_the_same_bytes(fake, beside, tmp_path):
    corpus = beside("train/relevance_toys.py").corpus(70)
    made = partial(method_of, Wanted(How.tfidf), "en")
    with made() as method:
        label_relevance(corpus, method, tmp_path / "here.jsonl")
        _, workers = fake(deaths=DEATHS)
        done = []
        label_relevance(
            corpus, method, tmp_path / "there.jsonl", workers=workers, made=made, report=lambda *told: done.append(told)
        )
    assert (tmp_path / "there.jsonl").read_bytes() == (tmp_path / "here.jsonl").read_bytes()
    assert done == [(0, 70), (16, 70), (32, 70), (48, 70), (64, 70), (70, 70)]


def test_a_method_that_cannot_travel_is_refused(fake, beside, tmp_path):
    toys = beside("train/relevance_toys.py")
    _, workers = fake()
    with pytest.raises(InputError, match="made"):
        label_relevance(toys.corpus(2), toys.Sum(), tmp_path / "labels.jsonl", workers=workers)


@pytest.fixture
def stored(tmp_path):
    """Ingests a folder into a new store; gives the report without its seconds and what the store holds."""

    def run(name, folder, workers=None, batch=4, **options):
        store = SqliteStore(path=tmp_path / name / "store.db", analyse=str.split)
        encoder = ScriptedEncoder(dimensions=16)
        config = {"models": {"encoder": {"kind": "encoder.hashing.v1", "dimensions": 16}}}
        made = partial(encoder_of, config, None)
        report = ingest(
            store, encoder, DOCS, [folder], scope=Scope("t"), base=tmp_path, batch=batch, workers=workers, made=made,
            **options,
        )  # fmt: skip
        found = summary(store)
        store.close()
        return (report.added, report.changed, report.removed, report.unchanged, report.files, report.failed), found

    return run


@pytest.fixture
def folder(tmp_path):
    import os

    made = tmp_path / "docs"
    made.mkdir()
    for number in range(15):
        (made / f"f{number:02d}.md").write_text("".join(f"# H{i}\ntext {i} of {number}\n\n" for i in range(number % 5)))
    (made / "f41.md").write_text("- twice {#same}\n")
    (made / "f42.md").write_text("- once more {#same}\n")
    for number in range(50, 53):  # so that the next one is compared while those before are on their way
        (made / f"f{number}.md").write_text("".join(f"# H{i}\ntext {i} of {number}\n\n" for i in range(4)))
    (made / "f99.md").write_text("- and later {#same}\n")
    (made / "odd.xyz").write_text("what")
    for path in made.iterdir():
        os.utime(path, (1_000_000_000, 1_000_000_000))
    return made


def test_a_store_holds_the_same(fake, stored, folder):
    here = stored("here", folder)
    _, workers = fake(deaths=DEATHS)
    there = stored("there", folder, workers)
    assert there == here
    assert here[0][0] > 25
    assert len(here[0][5]) == 3 + 2 + 1  # empty files, an id that was taken, a kind that nobody reads


def test_files_that_change_places_end_up_the_same(fake, stored, folder):
    """An id that leaves one file and comes to another, far enough apart to be written at other times."""
    import os

    for name in ("here", "there"):
        (folder / "a.md").write_text("- moves {#moves}\n- stays {#stays}\n")
        (folder / "z.md").write_text("- other {#other}\n")
        for path in folder.iterdir():
            os.utime(path, (1_000_000_000, 1_000_000_000))
        stored(name, folder)
        (folder / "a.md").write_text("- stays {#stays}\n- and has grown {#new}\n")
        (folder / "z.md").write_text("- moves {#moves}\n- other {#other}\n")
        for number in range(15):
            (folder / f"f{number:02d}.md").write_text(f"another text {number}")
        for path in folder.iterdir():
            os.utime(path, (1_100_000_000, 1_100_000_000))
        if name == "here":
            here = stored(name, folder, sync=True)
            for number in range(15):
                (folder / f"f{number:02d}.md").write_text(
                    "".join(f"# H{i}\ntext {i} of {number}\n\n" for i in range(number % 5))
                )
    _, workers = fake(cpus=4.0)
    assert stored("there", folder, workers, sync=True) == here
    assert not [failure for failure in here[0][5] if "moves" in failure.reason]


def test_an_encoder_that_cannot_travel_is_refused(fake, folder, tmp_path):
    store = SqliteStore(path=tmp_path / "store.db", analyse=str.split)
    _, workers = fake()
    with pytest.raises(InputError, match="made"):
        ingest(store, ScriptedEncoder(dimensions=4), DOCS, [folder], scope=Scope("t"), workers=workers)
    store.close()


@pytest.fixture
def swept(beside, tmp_path, monkeypatch):
    """Sweeps into a folder; gives what was found and the bytes of all files."""
    counting = beside("train/learner.py")
    counting.register()
    recipe = tmp_path / "counting.toml"
    recipe.write_text(counting.RECIPE)

    def run(name, spec, workers=None):
        out = tmp_path / name / "out"
        data = {"train": ["toy"], "dev": ["toy"]}
        found = sweep(recipe, spec, data, out, options=FEW, workers=workers, command="dragoman train")
        files = {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}
        return [(trial.settings, trial.score, trial.failed) for trial in found.trials], found.best.number, files

    run.counting = counting
    yield run
    counting.unregister()


def test_a_grid_gives_the_same_parts(fake, swept):
    spec = load_sweep(["model.fail=true,false", "model.weight=0.4"])
    here = swept("here", spec)
    _, workers = fake(deaths=DEATHS)
    there = swept("there", spec, workers)
    assert there == here
    assert here[1] == 1
    assert [bool(failed) for _, _, failed in here[0]] == [True, False]


def test_trials_that_are_done_are_not_done_again(fake, swept):
    spec = load_sweep(["model.weight=0.9,0.4"])
    ray, workers = fake()
    swept("there", spec, workers)
    assert len(ray.tasks) == 2
    ray, workers = fake()
    swept("there", spec, workers)
    assert len(ray.tasks) == 0


@pytest.mark.slow
def test_optuna_chooses_the_same(fake, swept, tmp_path):
    study = tmp_path / "study.toml"
    study.write_text('trials = 13\n[parameters."model.weight"]\nlow = 0.0\nhigh = 1.0\n')
    spec = load_sweep([str(study)])
    here = swept("here", spec)
    ray, workers = fake()
    there = swept("there", spec, workers)
    assert there[:2] == here[:2]
    assert ray.ahead >= 3  # the first ones, which know nothing of each other, at once


def test_a_trial_of_other_data_is_not_written_over(fake, swept, tmp_path):
    spec = load_sweep(["model.weight=0.9"])
    _, workers = fake()
    swept("there", spec, workers)
    place = tmp_path / "there" / "out" / "trials" / "000"
    (place / "part.json").unlink()
    (place / "data.json").write_text("{}")
    with pytest.raises(TrainingError, match=r"other data.*--fresh"):
        swept("there", spec, workers)
