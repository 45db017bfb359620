"""Examination of a language model with known verdicts, to see whether it may judge or answer doubtful questions.

A model's size does not tell: one of 1.5B says yes to most rules that share the words of a question, and would turn
refusals into permissions. So a model judges only after it has answered these.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, Thread, get_ident
from weakref import WeakKeyDictionary, ref

from dragoman import prompts
from dragoman.core.environment import home
from dragoman.core.errors import DragomanError
from dragoman.core.protocols import LanguageModel

log = logging.getLogger(__name__)
_DAYS = 7
"""How long a result holds: vendors change what stands behind a name."""

WORDS = ("yes", "no", "depends", "unknown")
"""What a model may reply; in the order of the prompt `judge-verdict.v1`."""
LEAST = 10
"""How many of the twelve a judge must get right, with no yes for a no."""


@dataclass(frozen=True, slots=True)
class ExamRule:
    """One question of the examination."""

    rule: str
    facts: str
    question: str
    word: str


ITEMS = (
    ExamRule(
        "Lockers: Lockers are for guests who stay overnight only.", "I leave at five today.", "Can I use one?", "no"
    ),
    ExamRule(
        "Cellar: The cellar stairs have no handrail and no lift.", "I use a wheelchair.", "Can I see the cellar?", "no"
    ),
    ExamRule("Rides: Riders must be at least 12.", "My son Max is nine.", "May Max ride?", "no"),
    ExamRule("Hours: The shop is closed on Wednesdays.", "I come on Wednesday.", "Will the shop be open?", "no"),
    ExamRule("Kitchen: The soup is thickened with flour.", "I have coeliac disease.", "is the soup ok for me", "no"),
    ExamRule(
        "Cards: Cards are accepted from 10 francs on.", "I pay by card.", "Can I pay my 15 francs by card?", "yes"
    ),
    ExamRule("Dogs: Dogs stay outside, except assistance dogs.", "My assistance dog is Bo.", "Can Bo come in?", "yes"),
    ExamRule("Fees: Pensioners pay half.", "I am retired.", "Do I get a reduction?", "yes"),
    ExamRule("Boats: Boats are hired out to anyone over 18.", "I am 40.", "Could I hire a boat?", "yes"),
    ExamRule("Course: Places are for members.", "My name is Ida.", "Can I join the course?", "depends"),
    ExamRule("Parking: The car park has 80 places.", "I come by car.", "Is there a charging point?", "unknown"),
    ExamRule("Tour: The tour begins at the gate.", "-", "Does the tour include lunch?", "unknown"),
)


@dataclass(frozen=True, slots=True)
class ExamResult:
    """How many items a model got right, and how many refusals it turned into a yes."""

    right: int
    turned_round: int

    @property
    def passed(self) -> bool:
        return self.right >= LEAST and self.turned_round == 0


def examine(model: LanguageModel) -> ExamResult:
    """Ask a model all items; its errors are raised to the caller."""
    template = prompts.get("judge-verdict.v1", "en")
    asked = [template.format(rule=item.rule, facts=item.facts, question=item.question) for item in ITEMS]
    return marked(model.choose(asked, list(WORDS)))


def marked(answers: Sequence[Mapping[str, float]]) -> ExamResult:
    """The result of an examination, by the most probable word of each answer."""
    words = [max(chances, key=lambda word: chances[word]) for chances in answers]
    pairs = list(zip(words, ITEMS, strict=True))
    right = sum(word == item.word for word, item in pairs)
    return ExamResult(right, sum(word == "yes" and item.word == "no" for word, item in pairs))


class Examination:
    """Examination of one model: runs once, in parallel to the first turn that needs it; the result is kept for a week.

    A result is kept in the home folder by the model's `identity`; a model without one is examined in every process.
    """

    def __init__(self, model: LanguageModel) -> None:
        self._model = ref(model)  # a weak reference, since this object must not keep the model alive
        self._result: ExamResult | None = None
        self._lock = Lock()
        self._thread: Thread | None = None

    def is_passed(self) -> bool:
        """Whether the model has passed; starts the examination where it is due."""
        with self._lock:
            model = self._model()
            if self._result is None and self._thread is None and model is not None:
                self._result = _stored_result(model)
                if self._result is None:
                    self._thread = Thread(target=self._examine, args=(model,), name="dragoman-exam", daemon=True)
                    self._thread.start()
                    return False  # not in the turn that starts it, even if the model is quick
            return self._result is not None and self._result.passed

    def wait(self, seconds: float) -> None:
        """Wait for an examination that has begun."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _examine(self, model: LanguageModel) -> None:
        try:
            result = examine(model)
        except DragomanError as error:
            log.warning("the model could not be examined as a judge: %s", error.message)
            return
        log.info("examined as a judge: %d right, %d refusals turned round", result.right, result.turned_round)
        keep(model, result)
        self._result = result


def keep(model: LanguageModel, result: ExamResult) -> None:
    """Store a result for later processes."""
    file = _file(model)
    if file is None:
        return
    with suppress(OSError):  # without a writable home, the examination runs again next time
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(f".{os.getpid()}-{get_ident()}")
        kept = {"at": time.time(), "right": result.right, "turned_round": result.turned_round}
        partial.write_text(json.dumps(kept), encoding="utf-8")
        partial.replace(file)


def _stored_result(model: LanguageModel) -> ExamResult | None:
    file = _file(model)
    try:
        kept = json.loads(file.read_text(encoding="utf-8")) if file is not None else {}
        is_fresh = 0 <= time.time() - float(kept["at"]) < _DAYS * 86_400
        return ExamResult(int(kept["right"]), int(kept["turned_round"])) if is_fresh else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _file(model: LanguageModel) -> Path | None:
    """Return the file of a model's result, by the model and the questions."""
    identity = str(getattr(model, "identity", ""))
    if not identity:
        return None
    key = f"{identity} {prompts.get('judge-verdict.v1', 'en').sha256} {ITEMS}"
    return home() / "examinations" / f"{hashlib.sha256(key.encode()).hexdigest()[:20]}.json"


_examinations: WeakKeyDictionary[LanguageModel, Examination] = WeakKeyDictionary()
_lock = Lock()


def examination_of(model: LanguageModel) -> Examination:
    """The one examination of a model in this process."""
    with _lock:
        return _examinations.setdefault(model, Examination(model))
