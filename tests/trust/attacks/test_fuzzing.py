"""Any bytes, mutated from good ones, at every door: refused in words or taken, never a crash, never another's words."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from .fuzzing import ROOT, TARGETS, seeds_of, street, words_of

pytestmark = pytest.mark.trust
EXAMPLES = {"formats": 60, "http": 150}
HEAD = b'{"dragoman": "store", "format": 1}\n'
FOUND = {
    "records": [
        HEAD + bad
        for bad in (b"1", b'{"scope": 1}', b'{"end": {}}', b'{"kept": 1}', b"[" * 5000, b'{"kept": ["\\ud800", ""]}')
    ],
    "conversations": [b"a = " + b"[" * 3000, b"[[conversation]]\nname = 'a'\n[[conversation.turns]]\nuser = ''\n"],
    "recipes": [b"[train]\nlr = nan", b"a = " + b"{a=" * 500],
    "labelled": [b"1\n", b"[" * 5000, b'{"turns": 1}\n'],
    "http": [b"POST\n/v1/turns\n\n" + b"[" * 20000, b"GET\n/v1/dialogues/%00\n\n", b"GET\n/v1/memory?agent=%ff\n\n"],
}
"""What once went wrong, or is made to."""


@st.composite
def mutated(draw, target):
    """A good input with cuts, doublings and pieces put in anywhere."""
    content = draw(st.sampled_from(seeds_of(target) or [b""])) if draw(st.integers(0, 9)) else b""
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(content)))
        until = min(len(content), at + draw(st.integers(0, 40)))
        piece = draw(st.sampled_from(words_of(target)) | st.binary(max_size=8) | st.just(content[at:until] * 2))
        content = content[:at] + piece + content[until:]
    return content


@pytest.mark.parametrize("target", sorted(set(TARGETS) - {"http"}))
def test_any_bytes_are_taken_or_refused_in_words(target):
    _run(target)


def test_any_request_is_answered_without_a_failure_of_ours_or_anothers_words():
    opened = street()
    try:
        _run("http")
    finally:
        opened.close()
        street.cache_clear()


def _run(target):
    call = TARGETS[target]

    @settings(
        max_examples=EXAMPLES.get(target, 80),
        deadline=None,
        database=None,
        phases=(Phase.explicit, Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @example(b"")
    @given(mutated(target))
    def check(content):
        call(content)

    for content in (*seeds_of(target), *FOUND.get(target, ())):
        call(content)
    check()


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="atheris is not installed: make fuzz")
@pytest.mark.parametrize("target", sorted(TARGETS))
def test_coverage_guided_fuzzing_finds_nothing(target, tmp_path):
    command = [
        sys.executable,
        "-m",
        "tests.trust.attacks.fuzzing",
        target,
        "-max_total_time=10",
        "-timeout=30",
        "-max_len=8192",
    ]
    done = subprocess.run(
        [*command, f"-artifact_prefix={tmp_path}/"], cwd=ROOT, capture_output=True, text=True, timeout=180, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Done " in done.stderr
