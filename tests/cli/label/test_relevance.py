"""`dragoman label relevance`: every method by its options, what is shown, what is refused."""

import json

import pytest

JUDGE = """
[models.language]
kind = "scripted"
choices = [["re:Note:\\n.*organ", "0.9"]]
undecided = "first"
rules = [["of the 3 notes", "[1]: 0.8, [2]: 0.1, [3]: 0.0"]]
default = "I do not know."
"""
FEW = ("--data", "toy", "--option", "part=dev", "--option", "dialogues=0")


@pytest.fixture
def label(invoke, tmp_path):
    """Runs the command on a few turns; gives what it said and the file."""

    def run(*arguments, out="labels.jsonl"):
        path = tmp_path / out
        return invoke("label", "relevance", *FEW, "--out", str(path), *arguments), path

    return run


@pytest.fixture
def judge(tmp_path):
    folder = tmp_path / "judge"
    folder.mkdir()
    (folder / "agent.toml").write_text(JUDGE)
    return str(folder)


def header(path):
    return json.loads(path.read_text().splitlines()[0])["relevance"]


def scores(path):
    rows = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    return [score for row in rows for score in row["scores"].values()]


def test_hard_labels_and_their_distribution(label):
    done, path = label("--how", "hard")
    assert done.exit_code == 0, done.output
    assert set(scores(path)) == {0.0, 1.0}
    for word in ("PERSONA", "DOCUMENTS", "0.5 and more", "100.0 %", "ROC-AUC", "1.000", f"turns: {path}"):
        assert word in done.output.replace("\n", ""), word


@pytest.mark.parametrize("how", ["tfidf", "bm25"])
def test_labels_by_words(label, how):
    done, path = label("--how", how, "--query", "last")
    assert done.exit_code == 0, done.output
    assert header(path)["by"] == {"method": how, "version": 1, "query": "last", "cut": "words"}
    assert len(set(scores(path))) > 2


def test_all_sources_are_more_than_those_of_the_plan(label):
    _, some = label("--how", "hard")
    _, every = label("--how", "hard", "--sources", "all", out="all.jsonl")
    assert header(every)["data"]["turns"] > header(some)["data"]["turns"]


@pytest.mark.integration
@pytest.mark.slow
def test_the_shipped_cross_encoder_labels_without_a_part(label):
    done, path = label("--how", "cross")
    assert done.exit_code == 0, done.output
    assert header(path)["by"]["part"]["name"] == "relevance"
    assert "trained on toy" in done.stderr


def test_a_language_model_is_asked_once(label, judge):
    done, path = label("--how", "prompted", "--agent", judge)
    assert done.exit_code == 0, done.output
    assert f"asked anew: {header(path)['data']['pairs']}" in done.output
    assert set(scores(path)) == {0.0, 0.9}
    again, same = label("--how", "prompted", "--agent", judge, out="again.jsonl")
    assert "asked anew: 0" in again.output
    assert same.read_bytes() == path.read_bytes()


def test_a_model_may_be_named_on_the_command_line(label, tmp_path):
    cache = tmp_path / "mine.db"
    model = ("--models.language.kind", "scripted", "--models.language.undecided", "first", "--cache", str(cache))
    done, path = label("--how", "prompted", *model, "--turns", "1")
    assert done.exit_code == 0, done.output
    assert header(path)["by"]["model"] == {"kind": "model.scripted.v1", "undecided": "first"}
    assert header(path)["by"]["turns"] == 1
    assert cache.is_file()


def test_a_list_that_cannot_be_read_stops_it_or_is_skipped(label, judge):
    listed = ("--how", "prompted", "--agent", judge, "--ask", "list", "--retries", "0")
    done, path = label(*listed)
    assert done.exit_code == 1
    assert "could not be labelled" in str(done.exception)
    assert not path.exists()
    done, path = label(*listed, "--skip-failed")
    assert done.exit_code == 0, done.output
    assert "lack labels" in done.stderr
    assert set(scores(path)) == {0.8, 0.1, 0.0}


def test_given_again_it_says_what_was_there(label):
    label("--how", "hard")
    done, _ = label("--how", "hard")
    assert done.exit_code == 0
    assert "of them labelled before" in done.output
    other, _ = label("--how", "bm25")
    assert "holds other labels" in str(other.exception)
    assert label("--how", "bm25", "--fresh")[0].exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--how", "hard", "--part", "x"), "--part belongs to --how bi and --how cross"),
        (("--how", "cross", "--query", "last"), "--query belongs to --how tfidf and --how bm25"),
        (("--how", "bm25", "--model", "x"), "--model belongs to --how prompted"),
        (("--how", "bm25", "--gate.threshold", "1"), "--set belongs to --how prompted"),
        (("--how", "bi"), "--how bi needs --part"),
        (("--how", "prompted", "--retries", "1"), "--retries belongs to --ask list"),
        (("--how", "hard", "--option", "nonsense"), "'nonsense' is not an option"),
    ],
)
def test_options_of_another_method_are_refused(label, arguments, message):
    done, path = label(*arguments)
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())
    assert not path.exists()


def test_a_set_without_candidates_is_refused(invoke, tmp_path):
    turns = tmp_path / "turns.jsonl"
    turns.write_text('{"dialogue": "1", "context": [{"speaker": "user", "text": "When?"}], "retrieve": true}\n')
    done = invoke("label", "relevance", "--data", str(turns), "--how", "bm25", "--out", str(tmp_path / "x.jsonl"))
    assert done.exit_code == 1
    assert "candidates of its own" in str(done.exception)
