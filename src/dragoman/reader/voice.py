"""A language model words the decided answer; its text is checked sentence by sentence.

The model reads the question, the user's facts, the evidence and the decision. A sentence stays if its numbers and names
are supported. A text that says less than the composed reply, or the opposite, or that the critic finds inconsistent
with the evidence, is dropped as a whole and the composed reply is used. If only the closest sentence was found, nothing
is decided, and the model answers from all evidence (`reader.open_answer`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dragoman import prompts
from dragoman.core.protocols import Critic, LanguageModel
from dragoman.core.values import Draft, Evidence, Passage, Prompt, ReadTask
from dragoman.reader.judge_exam import examination_of
from dragoman.reader.open_answer import is_doubtful, may_answer, open_fault, open_prompt, supporting
from dragoman.text import lazy_re as re
from dragoman.text.circles import loops
from dragoman.text.claims import names, negated, numbers, unsupported
from dragoman.text.sentences import sentences

_COVERED = 0.5
"""The share of the composed reply's words that a model's text must keep."""
_YES = re.compile(r"\s*(?:yes|sure|certainly|of course|you can|you may)\b|\s*(?:可以|能|是的)", re.IGNORECASE)
_NO = re.compile(
    r"\s*(?:no|sorry|unfortunately|you cannot|you can't|you may not)\b|\s*(?:不|抱歉|很遗憾)", re.IGNORECASE
)

_YES_NO = {
    "Spanish": ("sí|si|claro", "no"), "French": ("oui|bien sûr", "non"), "German": ("ja|natürlich", "nein"),
    "Italian": ("sì|si|certo", "no"), "Portuguese": ("sim|claro", "não|nao"), "Dutch": ("ja|jazeker", "nee"),
    "Swedish": ("ja", "nej"), "Danish": ("ja", "nej"), "Norwegian": ("ja", "nei"), "Finnish": ("kyllä", "ei"),
    "Polish": ("tak", "nie"), "Czech": ("ano", "ne"), "Russian": ("да", "нет"), "Ukrainian": ("так", "ні"),
    "Turkish": ("evet", "hayır"), "Japanese": ("はい", "いいえ"), "Korean": ("네|예", "아니요"),
    "Greek": ("ναι", "όχι"), "English": ("yes|sure", "no|sorry"),
}  # fmt: skip
"""How a reply in another language begins with yes or no."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A model's text with its faulty sentences left out; `fault` says why none of it can be used.

    `quoted` are the passages that an answer of the model's own rests on.
    """

    text: str
    fault: str = ""
    quoted: tuple[str, ...] = ()


class Voice:
    """Writes decided answers with a language model, and checks them."""

    def __init__(
        self,
        *,
        language_model: LanguageModel,
        critic: Critic,
        analyse: Callable[[str], tuple[str, ...]],
        language: str,
        name: str,
        max_tokens: int,
        consistency: float,
        style: str = "",
    ) -> None:
        self._model = language_model
        self._critic = critic
        self._analyse = analyse
        self._language = language
        self._name = name
        self._max_tokens = max_tokens
        self._consistency = consistency
        self._style = prompts.style_text(style, language)
        # "Call the user Captain" supports that name; a number in a style supports nothing.
        styled = sorted(names(self._style))
        self.styled_names = " ".join(styled)
        self._addresses = (
            re.compile(rf",?\s?\b(?:{'|'.join(map(re.escape, styled))})\b,?", re.IGNORECASE) if styled else None
        )

    def write(
        self, tasks: Sequence[ReadTask], composed: Sequence[Draft], facts: Sequence[Sequence[Evidence]]
    ) -> list[Draft]:
        """The model's drafts for tasks whose answers are decided or doubtful; empty where it is not asked."""
        asked = [i for i, task in enumerate(tasks) if not is_doubtful(composed[i]) or self._may_answer(task)]
        wanted = [self._prompt(tasks[i], composed[i], facts[i]) for i in asked]
        drafts = self._model.generate(wanted, max_tokens=self._max_tokens) if wanted else ()
        written = dict(zip(asked, drafts, strict=True))
        return [written.get(i, Draft("")) for i in range(len(tasks))]

    def check(self, task: ReadTask, draft: Draft, composed: Draft) -> Checked:
        """Return the part of a draft that the evidence supports."""
        text = draft.text.strip()
        if not text or loops(text):
            left_out = "the model answers no doubts" if is_doubtful(composed) else "empty"
            return Checked("", "repeats itself" if text else left_out)
        supports = [piece.passage.indexed for piece in task.evidence] + [turn.text for turn in task.context.turns]
        other = _other_language(task, self._language)
        if other or is_doubtful(composed):
            return _checked_abroad(text, other, composed, supports) if other else self._checked_open(task, text)
        named = [*supports, self._name, self.styled_names]
        kept = [sentence for sentence in sentences(text) if not unsupported(sentence, named)]
        if not kept:
            return Checked("", f"unsupported: {', '.join(unsupported(text, supports)[:3])}")
        said = " ".join(kept)
        decision = str(composed.notes.get("decision", ""))
        fault = _turned_round(said, decision, composed.text) or self._thinner(said, composed)
        if fault:
            return Checked("", fault)
        if not self._consistent(task, said, composed):
            return Checked("", "not consistent with the evidence")
        return Checked(said)

    def _may_answer(self, task: ReadTask) -> bool:
        """Whether the model is asked where the rules are in doubt; starts its examination if that is due."""
        return may_answer(task) and examination_of(self._model).is_passed()

    def _checked_open(self, task: ReadTask, text: str) -> Checked:
        """Check an answer that the model found itself because nothing was decided."""
        names = [self._name, self.styled_names]
        fault = open_fault(text, task, names=names, analyse=self._analyse, critic=self._critic)
        return Checked("", fault) if fault else Checked(text, "", supporting(text, task.evidence, self._analyse))

    def _thinner(self, text: str, composed: Draft) -> str:
        """Return why a text says less than the composed reply; "" if it does not."""
        value = str(composed.notes.get("value", ""))
        if value and not numbers(value) <= numbers(text):
            return "leaves out the value"
        rule = str(composed.notes.get("rule", composed.text))
        words = frozenset(self._analyse(rule))
        covered = len(words & frozenset(self._analyse(text))) / len(words) if words else 1.0
        return "" if covered >= _COVERED else "says less than the rule"

    def _consistent(self, task: ReadTask, text: str, composed: Draft) -> bool:
        pieces = [piece for piece in task.evidence if piece.id in composed.quoted]
        if not pieces:
            return True
        whole = Passage("evidence", pieces[0].source, " ".join(piece.passage.indexed for piece in pieces))
        unaddressed = self._addresses.sub("", text) if self._addresses else text
        return max(self._critic.consistency([(Evidence(whole, 1.0), unaddressed)])) >= self._consistency

    def _prompt(self, task: ReadTask, composed: Draft, facts: Sequence[Evidence]) -> Prompt:
        if is_doubtful(composed):
            prompt = open_prompt(task, facts, name=self._name, language=self._language)
        else:
            passages = [piece for piece in task.evidence if piece not in facts]
            prompt = prompts.get("decided.v1", self._language).format(
                name=self._name,
                facts="\n".join(f"- {fact.text}" for fact in facts) or "-",
                evidence=prompts.evidence(passages, self._language),
                decision=composed.text,
                dialogue=prompts.dialogue(task.context, self._language, last=4),
            )
        prompt = prompts.styled(prompt, self._style, self._language)
        return prompts.for_caller(prompt, task.context, self._language)


def _other_language(task: ReadTask, own: str) -> str:
    """The language that the user wants replies in, where it is not the agent's."""
    language = next((row.meta["value"] for row in task.context.wishes if row.meta.get("kind") == "language"), "")
    return "" if language in ("", {"en": "English", "zh": "Chinese"}.get(own[:2], "English")) else language


def _checked_abroad(text: str, language: str, composed: Draft, supports: Sequence[str]) -> Checked:
    """A text in another language: its numbers must be known, and yes and no must be those of the decision.

    Its words cannot be compared with the evidence. In a language whose words for yes and no are unknown, verdicts are
    rejected.
    """
    supported = set().union(*(numbers(support) for support in (*supports, composed.text)))
    if strange := numbers(text) - supported:
        return Checked("", f"unsupported: {', '.join(sorted(map(str, strange))[:3])}")
    if not numbers(str(composed.notes.get("value", ""))) <= numbers(text):
        return Checked("", "leaves out the value")
    decision = str(composed.notes.get("decision", ""))
    if decision in ("yes", "no"):
        words = _YES_NO.get(language, ())
        if not words or not re.match(rf"\W*(?:{words[decision == 'no']})\b", text, re.IGNORECASE):
            return Checked("", f"does not say {decision} in {language}")
    if decision == "unknown" and not re.search(r"[?？]", text):
        return Checked("", "does not ask back")
    return Checked(text)


def _turned_round(text: str, decision: str, composed: str) -> str:
    """Return how a text contradicts the decision; "" if it does not."""
    if decision == "yes" and _NO.match(text):
        return "says no where the decision is yes"
    if decision == "no" and (_YES.match(text) or not (negated(text) or _NO.match(text))):
        return "says yes where the decision is no"
    if decision == "unknown" and not re.search(r"[?？]", text):
        return "does not ask back"
    if not decision and negated(text) != negated(composed):
        return "differs in negation"
    return ""
