"""What an agent says without a model: greetings, thanks, what it noted, that it found nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dragoman.core.values import Learned
from dragoman.text.form import SOCIAL, form
from dragoman.text.language import language as language_of

_SAID: Mapping[str, Mapping[str, str]] = {
    "en": {
        "greeting": "Hello! I am {name}. What would you like to know?",
        "thanks": "You're welcome!",
        "farewell": "Goodbye, and take care!",
        "wellbeing": "I'm well, thank you. What can I do for you?",
        "acknowledgement": "Good. Just ask if there is anything else.",
        "statement": "I see. Is there something you would like to know?",
        "pastime": "I'm better at looking things up than at that. Ask me something!",
        "nothing": "I don't know: I found nothing about that in what I have to go by.",
        "unsure": "I don't know for certain. The nearest that I found: {quote}",
        "nothing-user": "I don't know: you have not told me that yet.",
        "noted": "Noted: {facts}",
        "changed": "Noted: {facts} (Before, I had: {old})",
        "known": "Yes, I already have that noted.",
        "forgotten": "Done. I have forgotten that.",
        "forgotten-none": "I have nothing noted about that, so there was nothing to forget.",
        "told": "You told me: {facts}",
    },
    "zh": {
        "greeting": "你好！我是{name}。想了解点什么？",
        "thanks": "不客气！",
        "farewell": "再见，保重！",
        "wellbeing": "我很好，谢谢。有什么可以帮你的？",
        "acknowledgement": "好的。还有问题随时问我。",
        "statement": "明白了。有什么想了解的吗？",
        "pastime": "我更擅长查资料。问我点别的吧！",
        "nothing": "我不知道：我手头的资料里没有提到这一点。",
        "unsure": "我不知道确切的答案。最接近的一条是：{quote}",
        "nothing-user": "我不知道：你还没有告诉过我。",
        "noted": "记下了：{facts}",
        "changed": "记下了：{facts}（之前记的是：{old}）",
        "known": "好的，这一点我已经记着了。",
        "forgotten": "好的，我已经忘掉了。",
        "forgotten-none": "我没有记过这一点，所以没有什么可以忘掉的。",
        "told": "你告诉过我：{facts}",
    },
}

# What a draft notes for whoever shows it: its confidence is then not that of an answer.
NO_ANSWER: Mapping[str, str] = {"found": "no answer"}
NEAREST: Mapping[str, str] = {"found": "the nearest"}


def phrase(key: str, language: str, **fields: str) -> str:
    """A fixed phrase in a language; English where there is none."""
    return _SAID.get(language, _SAID["en"])[key].format(**fields)


def social(text: str, language: str, *, name: str) -> tuple[str, Mapping[str, str]]:
    """What is said to a turn that nothing is looked up for, and what its draft notes."""
    act = form(text).act
    key = act if act in SOCIAL or act in ("statement", "pastime") else "nothing"
    return phrase(key, language, name=name), NO_ANSWER if key == "nothing" else {}


def spoken(text: str, configured: str) -> str:
    """The language to answer in: Chinese to a Chinese turn, the agent's own otherwise."""
    return "zh" if language_of(text) == "zh" else configured


def acknowledgement(learned: Learned, language: str) -> str | None:
    """What to say about what was just learned or forgotten, if anything."""
    if learned.forgotten:
        return phrase("forgotten", language)
    if learned.added:
        facts = _joined([passage.text for passage in learned.added], language)
        if learned.superseded:
            old = _joined([passage.text for passage in learned.superseded], language)
            return phrase("changed", language, facts=facts, old=old)
        return phrase("noted", language, facts=facts)
    return phrase("known", language) if learned.joined else None


def _joined(texts: Sequence[str], language: str) -> str:
    return ("" if language == "zh" else " ").join(texts)
