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
    "dialogues.more": ("Older ones", "更早的"),
    "dialogues.unnamed": ("(no words kept)", "（没有保留文字）"),
    # Chat
    "chat.log": ("Conversation", "对话内容"),
    "chat.try": ("Ask something, or try one of these:", "请提问，或试试这些："),
    "chat.ask": ("Ask something.", "请提问。"),
    "chat.folder": (
        "You can also give it your own documents: open “Sources” and drop a folder.",
        "您也可以提供自己的文档：打开“来源”，把文件夹拖进去。",
    ),
    "chat.open_sources": ("Open Sources", "打开“来源”"),
    "chat.field": ("Your message", "您的消息"),
    "chat.hint": ("Write a message", "输入消息"),
    "chat.keys": ("Enter sends · Shift+Enter new line · Esc stops", "回车发送 · Shift+回车换行 · Esc 停止"),
    "chat.send": ("Send", "发送"),
    "chat.stop": ("Stop", "停止"),
    "chat.thinking": ("Thinking …", "思考中……"),
    "chat.looking": ("Looking in {sources} …", "正在查找 {sources} ……"),
    "chat.stopped": ("Stopped. Nothing of this turn was kept.", "已停止。这一轮没有保留任何内容。"),
    "chat.forgotten": ("(forgotten)", "（已遗忘）"),
    "chat.why": ("Why this reply", "为什么这样回答"),
    "chat.direct": ("nothing looked up", "没有查找"),
    "chat.up": ("Good reply", "回答得好"),
    "chat.down": ("Poor reply", "回答得不好"),
    "chat.better": ("What should it have said? (optional)", "它应该怎么说？（可不填）"),
    "chat.thanks": ("Thank you. It is kept as an example to learn from.", "谢谢。已保存为学习样例。"),
    "chat.sent": ("Send", "提交"),
    # The picture
    "why.empty": ("Here you see why a reply was given, step by step.", "这里会一步步显示回答的缘由。"),
    "why.empty_more": (
        "Ask something, or choose a reply on the left.",
        "请先提问，或在对话中选择一条回答。",
    ),
    "why.no_trace": ("What was decided for this reply is no longer kept.", "这条回答的依据已不再保留。"),
    "why.learned": ("Memory", "记忆"),
    "why.added": ("Remembered", "记住了"),
    "why.superseded": ("Replaced", "已替换"),
    "why.joined": ("Known already", "已经知道"),
    "why.forgotten": ("Forgotten", "已遗忘"),
    "why.plan": ("Gate and plan", "门控与计划"),
    "why.evidence": ("Evidence", "证据"),
    "why.more": ("{count} more that were found", "另外找到的 {count} 条"),
    "why.nothing": ("Nothing was found.", "没有找到。"),
    "why.refined": ("Refinement", "改进"),
    "why.round": ("Round {number}", "第 {number} 轮"),
    "why.same_text": ("The text stayed the same.", "文字没有变化。"),
    "why.kept_all": ("Nothing better was left: the evidence stayed.", "没有更好的证据，保持不变。"),
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
    "graph.unasked": ("not asked", "未查询"),
    "confidence": ("confidence", "可信度"),
    "relevance": ("relevance", "相关度"),
    "consistency": ("consistency", "一致性"),
    "card.quoted": ("the reply rests on this", "回答以此为据"),
    "card.replaced": ("replaced", "被替换"),
    "card.novel": ("brought by refinement", "改进时加入"),
    "card.dropped": ("not used", "未使用"),
    "method.quoted": ("quoted from the evidence", "引自证据"),
    "method.generated": ("written by the model", "由模型生成"),
    "method.said": ("a set phrase", "固定用语"),
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
    "memory.forget": ("Forget", "遗忘"),
    "memory.corrected": ("Corrected.", "已更正。"),
    "memory.forgot": ("Forgotten, with the turns that told of it.", "已遗忘，相关对话也已删除。"),
    "memory.remembered": ("Remembered.", "已记住。"),
    "memory.known": ("That was known already.", "这一点已经知道。"),
    "memory.export": ("Take everything along (JSON)", "导出全部（JSON）"),
    "memory.everything": ("Forget everything about me", "忘记关于我的一切"),
    "memory.sure": ("Forget everything about you?", "要忘记关于您的一切吗？"),
    "memory.sure_more": (
        "All facts, dialogues, thumbs and the files you uploaded for yourself are erased from this server. "
        "This cannot be undone.",
        "所有记忆、对话、评价以及您为自己上传的文件都会从服务器上删除，无法撤销。",
    ),
    "memory.sure_yes": ("Forget everything", "全部遗忘"),
    "memory.all_gone": ("Everything about you is forgotten.", "关于您的一切都已遗忘。"),
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
    "sources.reading": ("Reading {name}", "正在读取 {name}"),
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
