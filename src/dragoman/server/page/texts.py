"""What the page says, in English and in Chinese."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

Language: TypeAlias = Literal["en", "zh"]
LANGUAGES: dict[Language, str] = {"en": "English", "zh": "中文"}
WORDS_COOKIE = "dragoman_words"

_WORDS: dict[str, tuple[str, str]] = {
    # Around everything
    "skip": ("Skip to the chat", "跳到对话"),
    "look": ("Light or dark", "浅色或深色"),
    "look.auto": ("as the system", "跟随系统"),
    "look.light": ("light", "浅色"),
    "look.dark": ("dark", "深色"),
    "agent": ("Agent", "助手"),
    "cancel": ("Cancel", "取消"),
    "save": ("Save", "保存"),
    "error": ("That did not work.", "没有成功。"),
    # The key
    "key.title": ("This server asks for a key", "此服务器需要密钥"),
    "key.about": (
        "It was printed once by “dragoman keys create”. It stays on this server, for this browser, until you leave.",
        "密钥由“dragoman keys create”生成并只显示一次。它只保存在本服务器上，仅供此浏览器使用，直到您离开。",
    ),
    "key.field": ("Key", "密钥"),
    "key.enter": ("Enter", "进入"),
    "key.wrong": ("This key is not valid.", "密钥无效。"),
    "key.leave": ("Leave", "离开"),
    # Tabs
    "tabs": ("Panels", "面板"),
    "tab.chat": ("Chat", "对话"),
    "tab.why": ("Why", "缘由"),
    "tab.memory": ("Memory", "记忆"),
    "tab.sources": ("Sources", "来源"),
    "tab.runs": ("Runs", "实验"),
    # Dialogues
    "dialogues": ("Dialogues", "历史对话"),
    "dialogues.new": ("New dialogue", "新对话"),
    "dialogues.none": ("What you talk about is listed here.", "您的对话会列在这里。"),
    "dialogues.delete": ("Delete", "删除"),
    "dialogues.sure": ("Delete this dialogue?", "要删除这段对话吗？"),
    "dialogues.sure_more": (
        "Its words, reasons and thumbs are erased. What it taught about you stays in Memory. This cannot be undone.",
        "其中的文字、缘由和评价都会删除；从中得知的关于您的内容仍在“记忆”里。无法撤销。",
    ),
    "dialogues.deleted": ("Deleted.", "已删除。"),
    "dialogues.more": ("Older ones", "更早的"),
    "dialogues.unnamed": ("(no words kept)", "（没有保留文字）"),
    # Chat
    "chat.log": ("Conversation", "对话内容"),
    "chat.try": ("Ask something, or try one of these:", "请提问，或试试这些："),
    "chat.ask": ("Ask something.", "请提问。"),
    "chat.what": (
        "It looks things up before it answers, shows you why, and remembers only what you can see and change.",
        "它会先查找再回答，并告诉您缘由；它记住的内容，您都可以查看和修改。",
    ),
    "chat.folder": ("To ask about your own documents, drop a folder in", "要查询自己的文档，请把文件夹拖进"),
    "chat.open_sources": ("Sources", "“来源”"),
    "chat.field": ("Your message", "您的消息"),
    "chat.hint": ("Write a message", "输入消息"),
    "chat.keys": ("Enter sends · Shift+Enter new line · Esc stops", "回车发送 · Shift+回车换行 · Esc 停止"),
    "chat.send": ("Send", "发送"),
    "chat.stop": ("Stop", "停止"),
    "chat.thinking": ("Thinking …", "思考中……"),
    "chat.looking": ("Looking in {sources} …", "正在查找 {sources} ……"),
    "chat.stopped": ("Stopped. Nothing of this turn was kept.", "已停止。这一轮没有保留任何内容。"),
    "chat.forgotten": ("(deleted)", "（已删除）"),
    "chat.why": ("Why this reply", "为什么这样回答"),
    "chat.why_short": ("Why?", "缘由"),
    "chat.trouble": ("a source did not answer", "有来源未回应"),
    "chat.direct": ("nothing looked up", "没有查找"),
    "chat.up": ("Good reply", "回答得好"),
    "chat.down": ("Poor reply", "回答得不好"),
    "chat.better": ("What should it have said? (optional)", "它应该怎么说？（可不填）"),
    "chat.thanks": ("Thank you. It is kept as an example to learn from.", "谢谢。已保存为学习样例。"),
    "chat.sent": ("Send", "提交"),
    # The picture
    "why.empty": ("Here you see why a reply was given, step by step.", "这里会一步步显示回答的缘由。"),
    "why.empty_more": (
        "Ask something, or choose a reply in the chat.",
        "请先提问，或在对话中选择一条回答。",
    ),
    "why.no_trace": ("What was decided for this reply is no longer kept.", "这条回答的依据已不再保留。"),
    "why.learned": ("Memory", "记忆"),
    "why.added": ("Remembered", "记住了"),
    "why.superseded": ("Replaced", "已替换"),
    "why.joined": ("Known already", "已经知道"),
    "why.forgotten": ("Deleted", "已删除"),
    "why.plan": ("Gate and plan", "门控与计划"),
    "why.evidence": ("Evidence", "证据"),
    "why.looked": ("Looked at, without finding an answer", "已查看，但没有找到答案"),
    "why.trouble": ("What went wrong on the way", "途中出现的问题"),
    "why.more": ("{count} more that were found", "另外找到的 {count} 条"),
    "why.nothing": ("Nothing was found.", "没有找到。"),
    "why.refined": ("Refinement", "改进"),
    "why.round": ("Round {number}", "第 {number} 轮"),
    "why.swapped": ("Evidence that was replaced:", "被替换的证据："),
    "why.changed": ("How the text changed:", "文字的变化："),
    "why.same_text": ("The text stayed the same.", "文字没有变化。"),
    "why.kept_all": ("Nothing better was left: the evidence stayed.", "没有更好的证据，保持不变。"),
    "why.unrefined": (
        "This agent has no critic and no refinement: nobody checked the reply against the evidence.",
        "此助手没有审查和改进步骤：没有人用证据核对过这条回答。",
    ),
    "why.unrefined_read": (
        "Refinement is off for this agent. Consistency was measured for this picture, and changed nothing.",
        "此助手关闭了改进。一致性仅为本图测得，没有影响回答。",
    ),
    "why.time": ("Time", "用时"),
    "why.all": ("in all", "总计"),
    "why.rest": ("other", "其他"),
    "graph.gate": ("gate", "门控"),
    "graph.look": ("look it up", "去查找"),
    "graph.direct": ("answer directly", "直接回答"),
    "graph.reply": ("reply", "回答"),
    "graph.found": ("found", "条"),
    "graph.best": ("best", "最高"),
    "graph.asking": ("asking …", "查询中……"),
    "graph.failed": ("did not answer", "未回应"),
    "graph.unasked": ("not asked", "未查询"),
    "confidence": ("confidence", "可信度"),
    "relevance": ("relevance", "相关度"),
    "consistency": ("consistency", "一致性"),
    "card.quoted": ("the reply rests on this", "回答以此为据"),
    "card.replaced": ("replaced", "被替换"),
    "card.novel": ("brought by refinement", "改进时加入"),
    "card.dropped": ("not used", "未使用"),
    "worth.no_answer": ("no answer found", "没有找到答案"),
    "worth.nearest": ("not certain", "不确定"),
    "worth.phrase": ("a set phrase", "固定用语"),
    "trust.none": ("No answer was found, and none was made up.", "没有找到答案，也没有编造。"),
    "trust.none_more": (
        "The best that was found fits by {best:.2f}. Confidence that the sources do not say it: {sure:.2f}.",
        "找到的内容中，最高相关度为 {best:.2f}。来源中没有答案的把握：{sure:.2f}。",
    ),
    "trust.not_looked": ("Nothing was looked up for this reply.", "这条回答没有查找任何来源。"),
    "trust.nearest": (
        "not certain: the nearest that was found, quoted",
        "不确定：引自找到的最接近的内容",
    ),
    "method.quoted": ("quoted from the evidence", "引自证据"),
    "method.generated": ("written by the model", "由模型生成"),
    "method.drafted": ("written by the model, and checked before it was said", "由模型撰写，说出前经过检查"),
    "method.said": ("A set phrase: it claims nothing that could be checked.", "固定用语：没有需要核对的内容。"),
    "reason.asks something": ("you asked something", "您提出了问题"),
    "reason.asks to remember": ("you asked to remember something", "您要求记住一件事"),
    "reason.asks to forget": ("you asked to forget something", "您要求忘记一件事"),
    "reason.asks for a pastime": ("you asked for a pastime", "您想消遣一下"),
    "reason.tells of the user": ("you told something about yourself", "您谈到了自己"),
    "reason.greeting": ("a greeting", "问候"),
    "reason.thanks": ("thanks", "道谢"),
    "reason.farewell": ("a farewell", "道别"),
    "reason.wellbeing": ("asks how it is", "问好"),
    "reason.acknowledgement": ("nothing was asked", "没有提问"),
    "reason.always": ("always looks", "总是查找"),
    "reason.never": ("never looks", "从不查找"),
    "reason.all sources": ("all sources", "所有来源"),
    "reason.all sources, jointly": ("all sources, together", "所有来源，一并查询"),
    "reason.about the user": ("about you", "关于您"),
    "reason.about the bot": ("about the agent itself", "关于助手自己"),
    "reason.about the world": ("about the world", "关于外界"),
    "role.memory": ("memory", "记忆"),
    "role.gate": ("gate", "门控"),
    "role.planner": ("planner", "计划"),
    "role.retriever": ("retriever", "检索"),
    "role.reader": ("reader", "阅读"),
    "role.refiner": ("refiner", "改进"),
    # Memory
    "memory.title": ("What I know about you", "我对您的了解"),
    "memory.empty": ("Nothing yet.", "还没有任何内容。"),
    "memory.empty_more": (
        "Tell me something about yourself in the chat, or add it here.",
        "可以在对话中告诉我，或在这里添加。",
    ),
    "memory.said": ("from your words", "来自您的话"),
    "memory.add": ("Add something", "添加"),
    "memory.hint": ("Add something, such as: I do not eat fish", "添加一条，例如：我不吃鱼"),
    "memory.correct": ("Correct", "更正"),
    "memory.forget": ("Delete", "删除"),
    "memory.corrected": ("Corrected.", "已更正。"),
    "memory.forgot": (
        'Deleted, and removed from your chats. Say "undo" in the chat within a minute to keep it.',
        "已删除，相关对话内容也已移除。如要保留，请在一分钟内在对话中说“撤销”。",
    ),
    "memory.remembered": ("Remembered.", "已记住。"),
    "memory.known": ("That was known already.", "这一点已经知道。"),
    "memory.about": (
        "Learned from what you said. It is used in replies until you correct or delete it.",
        "从您的话中得知。在您更正或删除之前，回答时会用到它们。",
    ),
    "memory.export": ("Export everything (JSON)", "导出全部（JSON）"),
    "memory.everything": ("Delete everything about me", "删除关于我的一切"),
    "memory.sure": ("Delete everything about you?", "要删除关于您的一切吗？"),
    "memory.sure_more": (
        "This deletes {facts} facts about you, {chats} chats with their ratings, and {files} files that you uploaded "
        "for yourself. It cannot be undone.",
        "这将删除关于您的 {facts} 条记忆、{chats} 个对话及其评价，以及您为自己上传的 {files} 个文件，无法撤销。",
    ),
    "memory.sure_yes": ("Delete everything", "全部删除"),
    "memory.all_gone": ("Everything about you is deleted.", "关于您的一切都已删除。"),
    # Sources
    "sources.title": ("What the agent can look in", "助手可以查找的地方"),
    "sources.passage": ("{count} passage", "{count} 段"),
    "sources.passages": ("{count} passages", "{count} 段"),
    "sources.private": ("only yours", "仅您可见"),
    "sources.shared": ("shared", "共享"),
    "sources.needs": ("asked after {names}", "在 {names} 之后查询"),
    "sources.add": ("Add documents", "添加文档"),
    "sources.into": ("Into", "放入"),
    "sources.drop": ("Drop files or a folder here", "把文件或文件夹拖到这里"),
    "sources.kinds": (
        "Markdown, text, HTML, PDF, CSV, JSON lines; 32 MB a file",
        "Markdown、文本、HTML、PDF、CSV、JSONL；每个文件不超过 32 MB",
    ),
    "sources.choose_files": ("Choose files", "选择文件"),
    "sources.choose_folder": ("Choose a folder", "选择文件夹"),
    "sources.reading": (
        "Reading: {files} of {all} done, {passages} new passages",
        "正在读取：已完成 {files}/{all}，新增 {passages} 段",
    ),
    "sources.done": (
        "Read: {files} of {all}, {passages} new passages",
        "已读取 {files}/{all} 个文件，新增 {passages} 段",
    ),
    "sources.rejected": (
        "Some files were left out: their kind cannot be read, or they are too large.",
        "部分文件被跳过：类型无法读取或文件过大。",
    ),
    "sources.failed": ("{name} could not be read: {reason}", "无法读取 {name}：{reason}"),
    "sources.remove": ("Remove {name}", "删除 {name}"),
    "sources.removed": ("Removed: {name}", "已删除：{name}"),
    "sources.none_writable": ("This key may not add documents.", "此密钥不能添加文档。"),
    "sources.search": ("Try a query", "试着查询"),
    "sources.query": ("What to look for", "查询内容"),
    "sources.go": ("Search", "查询"),
    "sources.in": ("In", "范围"),
    "sources.weak": ("Nothing fits well. These are the nearest:", "没有很相符的内容。以下是最接近的："),
    # Runs
    "runs.title": ("Experiments", "实验"),
    "runs.empty": ("No experiment was run yet.", "还没有实验结果。"),
    "runs.empty_more": (
        "“dragoman evaluate NAME --out runs/NAME” stores one where this server looks.",
        "用“dragoman evaluate NAME --out runs/NAME”运行并保存一个实验。",
    ),
    "runs.admin": ("Experiments are shown to admin keys only.", "只有管理员密钥可以查看实验。"),
    "runs.first": ("Run", "实验"),
    "runs.second": ("Beside it", "对比"),
    "runs.one": ("(nothing)", "（无）"),
    "runs.system": ("system", "系统"),
    "runs.turns": ("{turns} turns, {dialogues} dialogues", "{turns} 轮，{dialogues} 段对话"),
    "runs.about": ("What was measured, and how", "测了什么，怎么测的"),
    "runs.holes": ("{count} more systems, without a figure", "另有 {count} 个系统没有结果"),
    "runs.gone": ("This run cannot be read.", "无法读取此实验。"),
    "runs.paper": ("paper: {figure}", "论文：{figure}"),
}


def words(language: Language) -> Mapping[str, str]:
    """Every phrase of a language by its key."""
    place = list(LANGUAGES).index(language)
    return {key: phrases[place] for key, phrases in _WORDS.items()}


def language_of(accepted: str, chosen: str | None = None) -> Language:
    """The language to speak: the one chosen before, else what the browser asks for first of those we know."""
    for language in LANGUAGES:
        if language == chosen:
            return language
    wanted: list[tuple[float, int, str]] = []
    for place, entry in enumerate(accepted.split(",")):
        tag, _, weight = entry.strip().partition(";q=")
        try:
            wanted.append((-float(weight or 1.0), place, tag.strip().lower()))
        except ValueError:
            continue
    for _, _, tag in sorted(wanted):
        if tag.startswith("zh"):
            return "zh"
        if tag.startswith("en"):
            return "en"
    return "en"
