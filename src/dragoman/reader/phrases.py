"""Set phrases of an agent: greetings, thanks, acknowledgements, no answer found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dragoman.core.control import DEFAULT_CONTROL, TurnControl
from dragoman.core.values import Erased, Erasure, Learned
from dragoman.text.ask_back import APPLIES
from dragoman.text.form import SOCIAL, form
from dragoman.text.language import language as language_of
from dragoman.text.second_person import said_back, second_person

_QUOTED = 80
"""Characters that are shown of a message which mentions a deleted fact."""
_IN_A_SENTENCE = 3
"""How many facts are said in one sentence; more stand in a list."""

_SAID: Mapping[str, Mapping[str, str]] = {
    "en": {
        "greeting": "Hello! I am {name}. What would you like to know?",
        "thanks": "You're welcome!",
        "farewell": "Goodbye, and take care!",
        "wellbeing": "I'm well, thank you. What can I do for you?",
        "acknowledgement": "Good. Just ask if there is anything else.",
        "statement": "I see. Is there something you would like to know?",
        "pastime": "I'm better at looking things up than at that. Ask me something!",
        "nothing": "I don't know: I couldn't find that in the documents.",
        "unsure": "I don't know for certain. The closest I found in the documents: {quote}",
        "nothing-user": "I don't know that: you have not told me yet.",
        "not-searched": "I can't answer that without looking it up.",
        "no-memory": "Memory is off here, so I don't use what you told me before.",
        "private": "This chat is private: nothing is saved, and what I remember about you stays as it is.",
        "memory-unchanged": "I don't save or delete anything here: memory is set to {mode}.",
        "noted": "Got it: {facts}.",
        "changed": "Got it: {facts}. (Before: {old}.)",
        "known": "Yes, I already have that noted.",
        "dropped": " (To make room, I no longer use: {facts}.)",
        "deleted": 'Deleted: {facts} Say "undo" within a minute to keep it.',
        "mentions": ' It is still mentioned in {count}, such as "{quote}". Say "delete those too" to go on.',
        "blanked": "Deleted: {count}.",
        "deleted-none": "I have nothing noted about that, so there was nothing to delete.",
        "erase": 'This deletes {erasure}. It cannot be undone. Say "yes, delete everything" to go on.',
        "erase-declined": "Nothing was deleted.",
        "erased": "Deleted: {erasure}.",
        "restored": "Restored: {facts}",
        "restored-none": "There is nothing to undo. What was deleted or kept can be undone for one minute.",
        "told": "You told me: {facts}.",
        "told-list": "You told me:\n{facts}",
        "verdict-yes": "Yes",
        "verdict-no": "No",
        "likely-yes": "Probably yes",
        "likely-no": "Probably not",
        "verdict": "{verdict}. ",
        "verdict-by-fact": "{verdict}: you told me that {fact}. {rule}",
        "price-own": "For {whom} it is {amount}: ",
        "price-free": "For {whom} it is free: ",
        "value-own": "{value}: ",
        "and": " and ",
        "rule-and-fact": "{rule}{end}You told me that {fact}.",
        "depends": "That depends: {rule}{source} {ask}",
        "ask-any": APPLIES["en"],
    },
    "zh": {
        "greeting": "你好！我是{name}。想了解点什么？",
        "thanks": "不客气！",
        "farewell": "再见，保重！",
        "wellbeing": "我很好，谢谢。有什么可以帮你的？",
        "acknowledgement": "好的。还有问题随时问我。",
        "statement": "明白了。有什么想了解的吗？",
        "pastime": "我更擅长查资料。问我点别的吧！",
        "nothing": "我不知道：资料里没有找到这一点。",
        "unsure": "我不知道确切的答案。资料里最接近的一条是：{quote}",
        "nothing-user": "我不知道：你还没有告诉过我。",
        "not-searched": "不查资料，我无法回答这个问题。",
        "no-memory": "这里关闭了记忆，所以我不会使用你以前告诉我的内容。",
        "private": "这是私密对话：不会保存任何内容，我记住的内容也不会改变。",
        "memory-unchanged": "我在这里不会保存或删除任何内容：记忆设为{mode}。",
        "noted": "记下了：{facts}。",
        "changed": "记下了：{facts}。（之前记的是：{old}。）",
        "known": "好的，这一点我已经记着了。",
        "dropped": "（为腾出空间，不再使用：{facts}。）",
        "deleted": "已删除：{facts}如要保留，请在一分钟内说“撤销”。",
        "mentions": "还有{count}提到了它，例如“{quote}”。如要一并删除，请说“那些也删除”。",
        "blanked": "已删除{count}。",
        "deleted-none": "我没有记过这一点，所以没有什么可以删除的。",
        "erase": "这将删除{erasure}，且无法撤销。如要继续，请说“是的，全部删除”。",
        "erase-declined": "什么都没有删除。",
        "erased": "已删除：{erasure}。",
        "restored": "已恢复：{facts}",
        "restored-none": "没有可以撤销的内容。删除或记下的内容可以在一分钟内撤销。",
        "told": "你告诉过我：{facts}。",
        "told-list": "你告诉过我：\n{facts}",
        "verdict-yes": "可以",
        "verdict-no": "不行",
        "likely-yes": "应该可以",
        "likely-no": "应该不行",
        "verdict": "{verdict}。",
        "verdict-by-fact": "{verdict}。{rule}；你告诉过我{fact}。",
        "and": "，",
        "rule-and-fact": "{rule}；你告诉过我{fact}。",
        "depends": "这要看情况：{rule}{source}{ask}",
        "ask-any": APPLIES["zh"],
    },
}

# Notes of a draft for display: its confidence is not that of an answer.
NO_ANSWER: Mapping[str, str] = {"found": "no answer"}
NEAREST: Mapping[str, str] = {"found": "the nearest"}


def phrase(key: str, language: str, **fields: str) -> str:
    """A fixed phrase in a language; English where there is none."""
    return _SAID.get(language, _SAID["en"])[key].format(**fields)


def social(
    text: str, language: str, *, name: str, control: TurnControl = DEFAULT_CONTROL
) -> tuple[str, Mapping[str, str]]:
    """Return the reply to a turn without retrieval, and the notes of its draft."""
    act = form(text).act
    if act in SOCIAL or act in ("statement", "pastime"):
        return phrase(act, language, name=name), {}
    return no_answer(text, language, control, about_user=False), NO_ANSWER


def no_answer(
    text: str, language: str, control: TurnControl = DEFAULT_CONTROL, *, about_user: bool | None = None
) -> str:
    """Return the reply to a question without an answer, with the reason if the caller's control is it."""
    if control.retrieve == "never" or control.sources == ():
        return phrase("not-searched", language)
    is_about_user = form(text).about == "user" if about_user is None else about_user
    if is_about_user:
        return phrase("no-memory" if control.memory == "off" else "nothing-user", language)
    return phrase("nothing", language)


def unchanged_memory(text: str, control: TurnControl, language: str) -> str | None:
    """Return the reply to a request to remember or forget if memory does not change; None for other turns."""
    if form(text).act not in ("remember", "forget"):
        return None
    if not control.keep:
        return phrase("private", language)
    modes = {"zh": {"read": "“只读”", "off": "“关闭”"}}.get(language, {"read": "read only", "off": "off"})
    return phrase("memory-unchanged", language, mode=modes[control.memory])


def spoken(text: str, configured: str) -> str:
    """The language to answer in: Chinese to a Chinese turn, the agent's own otherwise."""
    return "zh" if language_of(text) == "zh" else configured


def erasure_text(erasure: Erasure, language: str = "en", *, about: str = "you") -> str:
    """Describe what an erasure deletes: "3 facts about you, 2 chats and 1 uploaded file"."""
    if language == "zh":
        return f"关于你的 {erasure.facts} 条记忆、{erasure.chats} 个对话和 {erasure.files} 个上传的文件"
    facts, chats, files = (
        f"{count} {noun if count == 1 else noun + 's'}"
        for count, noun in ((erasure.facts, "fact"), (erasure.chats, "chat"), (erasure.files, "uploaded file"))
    )
    return f"{facts} about {about}, {chats} and {files}"


def receipt_lines(receipt: Sequence[Erased]) -> list[str]:
    """Format a receipt for display: what was erased from which file, and the beginning of its SHA-256."""
    return [f"{line.place}: {line.count} {line.what}, sha256 {line.sha256[:16]}" for line in receipt]


def deletion_reply(learned: Learned, language: str) -> str | None:  # noqa: PLR0911 - one return a kind
    """Return the reply to a deletion that was asked for, carried out or undone; None for other turns."""
    if learned.pending is not None:
        return phrase("erase", language, erasure=erasure_text(learned.pending, language))
    if learned.declined:
        return phrase("erase-declined", language)
    if learned.erased is not None:
        deleted = phrase("erased", language, erasure=erasure_text(learned.erased, language))
        return "\n".join((deleted, *(f"- {line}" for line in receipt_lines(learned.erased.receipt))))
    if learned.forgotten or learned.mentions:
        facts = [row.text for row in learned.forgotten]
        deleted = phrase("deleted", language, facts=_to_the_user(facts, language)) if facts else ""
        return (deleted or phrase("deleted-none", language)) + mentions_text(learned.mentions, language)
    if learned.blanked:
        return phrase("blanked", language, count=_messages(learned.blanked, language))
    if learned.restored:
        return phrase("restored", language, facts=_to_the_user([row.text for row in learned.restored], language))
    return None


def mentions_text(mentions: Sequence[str], language: str = "en") -> str:
    """Say which turns still mention deleted facts, and how to delete them; empty if there are none."""
    if not mentions:
        return ""
    quote = " ".join(mentions[0].split())
    shown = quote if len(quote) <= _QUOTED else f"{quote[:_QUOTED]}…"
    return phrase("mentions", language, count=_messages(len(mentions), language), quote=shown)


def _messages(count: int, language: str) -> str:
    if language == "zh":
        return f"{count} 条消息"
    return f"{count} message{'' if count == 1 else 's'}"


def acknowledgement(learned: Learned, language: str) -> str | None:
    """Acknowledge what was just learned or deleted, if anything."""
    deletion = deletion_reply(learned, language)
    if deletion is not None:
        return deletion
    if learned.added:
        added, gone = ({row.id for row in rows} for rows in (learned.added, learned.superseded))
        facts = said_back([row.text for row in learned.added if row.id not in gone], language)
        before = [row.text for row in learned.superseded if row.id not in added]  # facts that the turn itself retracted
        if before:
            old = said_back(before, language)
            return phrase("changed", language, facts=facts, old=old) + _dropped(learned, language)
        return phrase("noted", language, facts=facts) + _dropped(learned, language)
    return phrase("known", language) if learned.joined else None


def _dropped(learned: Learned, language: str) -> str:
    """Say which facts were dropped to make room for new ones; empty if none were."""
    if not learned.dropped:
        return ""
    facts = said_back([passage.text for passage in learned.dropped[:_IN_A_SENTENCE]], language)
    return phrase("dropped", language, facts=facts)


def told_back(texts: Sequence[str], language: str) -> str:
    """Return the user's facts in the second person: one sentence, or a list of more than a few."""
    if len(texts) <= _IN_A_SENTENCE:
        return phrase("told", language, facts=said_back(texts, language))
    lines = "\n".join(f"- {second_person(text)}" for text in texts)
    return phrase("told-list", language, facts=lines)


def _to_the_user(facts: Sequence[str], language: str) -> str:
    """Put facts into the second person: "I live in Bern." becomes "you live in Bern."."""
    return said_back(facts, language) + ("。" if language == "zh" else ".")
