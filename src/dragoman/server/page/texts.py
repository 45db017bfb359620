"""Labels and messages of the page, in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from dragoman.server.explanation import EXPLANATION_WORDS

Language: TypeAlias = Literal["en", "zh"]
LANGUAGES: dict[Language, str] = {"en": "English", "zh": "中文"}
WORDS_COOKIE = "dragoman_words"

_WORDS: dict[str, tuple[str, str]] = {
    **EXPLANATION_WORDS,
    # General
    "skip": ("Skip to the chat", "跳到对话"),
    "look": ("Theme", "主题"),
    "look.auto": ("system", "跟随系统"),
    "look.light": ("light", "浅色"),
    "look.dark": ("dark", "深色"),
    "agent": ("Agent", "助手"),
    "cancel": ("Cancel", "取消"),
    "save": ("Save", "保存"),
    "close": ("Close", "关闭"),
    "undo": ("Undo", "撤销"),
    "error": ("Something went wrong.", "出错了。"),
    # Sign in
    "key.title": ("Sign in with your key", "请用密钥登录"),
    "key.about": (
        "“dragoman keys create” prints the key once. The server remembers it for this browser until you sign out.",
        "密钥由“dragoman keys create”生成，只显示一次。服务器会为此浏览器保留它，直到您退出登录。",
    ),
    "key.field": ("Key", "密钥"),
    "key.enter": ("Sign in", "登录"),
    "key.wrong": ("This key is not valid.", "密钥无效。"),
    "key.leave": ("Sign out", "退出登录"),
    # Tabs
    "tabs": ("Panels", "面板"),
    "tab.chat": ("Chat", "对话"),
    "tab.why": ("Why", "缘由"),
    "tab.memory": ("Memory", "记忆"),
    "tab.sources": ("Documents", "文档"),
    "tab.runs": ("Runs", "实验"),
    # Chats
    "dialogues": ("Chats", "历史对话"),
    "dialogues.new": ("New chat", "新对话"),
    "dialogues.none": ("Your chats appear here.", "您的对话会显示在这里。"),
    "dialogues.search": ("Search chats", "搜索对话"),
    "dialogues.unmatched": ("No chat has these words.", "没有包含这些文字的对话。"),
    "dialogues.pinned": ("Pinned", "已置顶"),
    "dialogues.today": ("Today", "今天"),
    "dialogues.yesterday": ("Yesterday", "昨天"),
    "dialogues.week": ("Last 7 days", "最近 7 天"),
    "dialogues.older": ("Older", "更早"),
    "dialogues.programs": ("From other programs", "来自其他程序"),
    "dialogues.menu": ("Options for: {title}", "对话选项：{title}"),
    "dialogues.rename": ("Rename", "重命名"),
    "dialogues.pin": ("Pin", "置顶"),
    "dialogues.unpin": ("Unpin", "取消置顶"),
    "dialogues.markdown": ("Export as Markdown", "导出为 Markdown"),
    "dialogues.json": ("Export as JSON", "导出为 JSON 文件"),
    "dialogues.delete": ("Delete", "删除"),
    "dialogues.deleted": (
        "Chat deleted. What I learned about you stays in Memory.",
        "对话已删除。从中记住的关于您的内容仍在“记忆”里。",
    ),
    "dialogues.more": ("Show older chats", "显示更早的对话"),
    # Chat
    "chat.log": ("Conversation", "对话内容"),
    "chat.try": ("Ask a question, or try one of these:", "请提问，或试试这些："),
    "chat.ask": ("Ask a question.", "请提问。"),
    "chat.what": (
        "I look things up before I answer, show you why, and remember only what you can see and change.",
        "我会先查找再回答，并告诉您缘由；我记住的内容，您都可以查看和修改。",
    ),
    "chat.folder": ("To ask about your own documents, add them under", "要查询自己的文档，请添加到"),
    "chat.open_sources": ("Documents", "“文档”"),
    "chat.field": ("Your message", "您的消息"),
    "chat.hint": ("Write a message", "输入消息"),
    "chat.keys": (
        "Enter sends · Shift+Enter new line · Esc stops · / commands · ? shortcuts",
        "回车发送 · Shift+回车换行 · Esc 停止 · / 命令 · ? 快捷键",
    ),
    "chat.queued": ("Waiting", "等待发送"),
    "chat.unqueue": ("edit", "编辑"),
    "chat.commands": ("Commands", "命令"),
    "chat.missing": ("This chat does not exist.", "没有这个对话。"),
    "chat.missing_more": (
        "It was deleted, or the address belongs to someone else.",
        "它已被删除，或者这个地址属于其他人。",
    ),
    "chat.copy": ("Copy", "复制"),
    "chat.copy_code": ("Copy", "复制"),
    "chat.cite": ("Source {number}", "来源 {number}"),
    "chat.retry": ("Try again", "重新回答"),
    "chat.edit": ("Edit", "编辑"),
    "chat.edit_more": ("This asks again; the earlier version is kept.", "将重新提问；先前的版本会保留。"),
    "chat.before": ("Earlier version", "上一个版本"),
    "chat.after": ("Next version", "下一个版本"),
    "chat.from": ("From {places}", "来自 {places}"),
    "chat.you": ("what you told me", "您告诉过我的"),
    "chip.saved": ("Saved: {fact}", "已记住：{fact}"),
    "chip.undo": ("undo", "撤销"),
    "chip.undone": ("Not saved", "未保存"),
    "chip.used": ("Used: {fact}", "用到：{fact}"),
    "command.new": ("start a new chat", "开始新对话"),
    "command.why": ("see why I gave the last reply", "查看回答的缘由"),
    "command.memory": ("see what I know about you", "查看我对您的了解"),
    "command.documents": ("add or see documents", "添加或查看文档"),
    "command.export": ("download this chat as Markdown", "下载此对话（Markdown 文件）"),
    "command.help": ("keyboard shortcuts", "键盘快捷键"),
    "keys.title": ("Keyboard shortcuts", "键盘快捷键"),
    "keys.send": ("Send the message", "发送消息"),
    "keys.line": ("New line", "换行"),
    "keys.stop": ("Stop the reply", "停止回答"),
    "keys.slash": ("Write a message; as its first character: commands", "输入消息；作为首字符时：命令"),
    "keys.search": ("Search chats", "搜索对话"),
    "keys.new": ("New chat", "新对话"),
    "keys.sheet": ("This list", "本列表"),
    "chat.send": ("Send", "发送"),
    "chat.stop": ("Stop", "停止"),
    "chat.thinking": ("Thinking …", "思考中……"),
    "chat.looking": ("Searching {sources} …", "正在查找 {sources} ……"),
    "chat.stopped": ("Stopped. This reply was not saved.", "已停止。这条回答没有保存。"),
    "chat.forgotten": ("(deleted)", "（已删除）"),
    "chat.why": ("Why this reply", "为什么这样回答"),
    "chat.why_short": ("Why?", "缘由"),
    "chat.trouble": ("a source failed", "有来源出错"),
    "chat.direct": ("not looked up", "没有查找"),
    "chat.up": ("Good reply", "回答得好"),
    "chat.down": ("Bad reply", "回答得不好"),
    "chat.better": ("What would be a better reply? (optional)", "怎样回答更好？（可不填）"),
    "chat.thanks": ("Thank you. Saved as a training example.", "谢谢。已保存为训练样例。"),
    "chat.sent": ("Send", "提交"),
    # Why
    "why.empty": ("See why I gave a reply, step by step.", "在这里一步步查看回答的缘由。"),
    "why.empty_more": (
        "Ask a question, or select a reply in the chat.",
        "请先提问，或在对话中选择一条回答。",
    ),
    "why.no_trace": ("The explanation of this reply is no longer available.", "这条回答的缘由已不再保留。"),
    "why.decided": ("Why", "理由"),
    "why.learned": ("Memory", "记忆"),
    "why.added": ("Remembered", "记住了"),
    "why.superseded": ("Replaced", "已替换"),
    "why.joined": ("Already known", "已经知道"),
    "why.forgotten": ("Deleted", "已删除"),
    "why.details": ("Details", "详细信息"),
    "why.plan": ("How I answered", "回答的过程"),
    "why.scores": ("How well each passage fits", "各段内容的相符程度"),
    "why.evidence": ("What I found", "我找到的内容"),
    "why.looked": ("Searched, but no answer found", "已查找，但没有找到答案"),
    "why.trouble": ("Problems", "出现的问题"),
    "why.more": ("Show {count} more", "再显示 {count} 条"),
    "why.nothing": ("Nothing found.", "没有找到。"),
    "why.refined": ("Second look", "复查"),
    "why.round": ("Round {number}", "第 {number} 轮"),
    "why.swapped": ("Replaced evidence:", "被替换的证据："),
    "why.changed": ("Changes to the text:", "文字的变化："),
    "why.same_text": ("The text stayed the same.", "文字没有变化。"),
    "why.kept_all": ("No better evidence was available, so nothing changed.", "没有更好的证据，保持不变。"),
    "why.unrefined": (
        "This agent has no critic, so the reply was not checked against the evidence.",
        "此助手没有审查步骤，因此这条回答没有与证据核对。",
    ),
    "why.unrefined_read": (
        "This agent does not take a second look. Consistency is shown for information and did not change the reply.",
        "此助手不做复查。一致性仅供参考，没有影响回答。",
    ),
    "why.time": ("Time", "用时"),
    "why.all": ("total", "总计"),
    "why.rest": ("other", "其他"),
    "graph.gate": ("decision", "决定"),
    "graph.look": ("look it up", "查找"),
    "graph.direct": ("answer directly", "直接回答"),
    "graph.reply": ("reply", "回答"),
    "graph.found": ("found", "条"),
    "graph.best": ("best", "最高"),
    "graph.asking": ("searching …", "查询中……"),
    "graph.failed": ("failed", "出错"),
    "graph.unasked": ("not searched", "未查询"),
    "confidence": ("confidence", "可信度"),
    "relevance": ("relevance", "相关度"),
    "consistency": ("consistency", "一致性"),
    "card.quoted": ("used in the reply", "回答以此为据"),
    "card.replaced": ("replaced", "被替换"),
    "card.novel": ("added by the second look", "复查时加入"),
    "card.dropped": ("not used", "未使用"),
    "worth.no_answer": ("no answer found", "没有找到答案"),
    "worth.nearest": ("not certain", "不确定"),
    "worth.phrase": ("standard phrase", "固定用语"),
    "trust.none": ("I couldn't find that in your documents.", "我在您的文档中没有找到。"),
    "trust.none_more": (
        "Best relevance: {best:.2f}. Confidence that the sources hold no answer: {sure:.2f}.",
        "最高相关度：{best:.2f}。来源中没有答案的可信度：{sure:.2f}。",
    ),
    "trust.not_looked": ("Nothing was looked up for this reply.", "这条回答没有查找任何来源。"),
    "trust.nearest": (
        "Not certain: this quotes the closest match.",
        "不确定：引自最接近的内容。",
    ),
    "method.composed": ("Built from your facts and the documents.", "由您的信息和文档得出。"),
    "method.quoted": ("Quoted from what I found.", "引自找到的内容。"),
    "method.generated": ("Written by the model.", "由模型生成。"),
    "method.drafted": ("Written by the model and checked against the evidence.", "由模型撰写，并与证据核对过。"),
    "method.said": ("A standard phrase, with nothing to check.", "固定用语，没有需要核对的内容。"),
    "reason.asks something": ("you asked a question", "您提出了问题"),
    "reason.asks to remember": ("you asked to remember something", "您要求记住一件事"),
    "reason.asks to forget": ("you asked to delete something", "您要求删除一件事"),
    "reason.asks for a pastime": ("you asked for entertainment", "您想消遣一下"),
    "reason.tells of the user": ("you said something about yourself", "您谈到了自己"),
    "reason.greeting": ("a greeting", "问候"),
    "reason.thanks": ("thanks", "道谢"),
    "reason.farewell": ("a farewell", "道别"),
    "reason.wellbeing": ("small talk", "寒暄"),
    "reason.acknowledgement": ("no question", "没有提问"),
    "reason.always": ("always searches", "总是查找"),
    "reason.never": ("never searches", "从不查找"),
    "reason.all sources": ("all sources", "所有来源"),
    "reason.all sources, jointly": ("all sources, together", "所有来源，一并查询"),
    "reason.about the user": ("about you", "关于您"),
    "reason.about the bot": ("about the agent", "关于助手自己"),
    "reason.about the world": ("about the world", "关于外界"),
    "role.memory": ("memory", "记忆"),
    "role.gate": ("whether to search", "是否查找"),
    "role.planner": ("where to search", "在哪里查找"),
    "role.retriever": ("searching", "查找"),
    "role.reader": ("answering", "作答"),
    "role.refiner": ("second look", "复查"),
    # Memory
    "memory.title": ("What I know about you", "我对您的了解"),
    "memory.empty": ("Nothing yet.", "还没有任何内容。"),
    "memory.empty_more": (
        "Tell me something about yourself in the chat, or add it here.",
        "可以在对话中告诉我，或在这里添加。",
    ),
    "memory.said": ("from your chat", "来自您的对话"),
    "memory.add": ("Add a fact", "添加"),
    "memory.hint": ("Add a fact, such as: I don't eat fish", "添加一条，例如：我不吃鱼"),
    "memory.correct": ("Edit", "编辑"),
    "memory.forget": ("Delete", "删除"),
    "memory.corrected": ("Saved.", "已保存。"),
    "memory.forgot": ("Deleted, and removed from your chats.", "已删除，相关对话内容也已移除。"),
    "memory.back": ("It is back in Memory.", "已恢复到“记忆”。"),
    "memory.remembered": ("Remembered.", "已记住。"),
    "memory.known": ("I already know that.", "这一点我已经知道。"),
    "memory.about": (
        "Learned from your chats. I use it in replies until you edit or delete it.",
        "从您的对话中得知。在您修改或删除之前，回答时会用到它们。",
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
    "sources.title": ("What I can search", "我可以查找的内容"),
    "sources.passage": ("{count} passage", "{count} 段"),
    "sources.passages": ("{count} passages", "{count} 段"),
    "sources.private": ("private", "仅您可见"),
    "sources.shared": ("shared", "共享"),
    "sources.needs": ("searched after {names}", "在 {names} 之后查询"),
    "sources.add": ("Add documents", "添加文档"),
    "sources.into": ("Add to", "添加到"),
    "sources.drop": ("Drop files or a folder here", "把文件或文件夹拖到这里"),
    "sources.kinds": (
        "Markdown, text, HTML, PDF, CSV, JSON lines; up to 32 MB per file",
        "Markdown、文本、HTML、PDF、CSV、JSONL；每个文件不超过 32 MB",
    ),
    "sources.drop_all": ("Drop to add to your documents", "松开即可添加到您的文档"),
    "sources.choose_files": ("Choose files", "选择文件"),
    "sources.choose_folder": ("Choose a folder", "选择文件夹"),
    "sources.reading": (
        "Reading files: {files} of {all} done, {passages} new passages",
        "正在读取：已完成 {files}/{all}，新增 {passages} 段",
    ),
    "sources.done": (
        "Done: {files} of {all} files read, {passages} new passages",
        "已读取 {files}/{all} 个文件，新增 {passages} 段",
    ),
    "sources.rejected": (
        "Some files were skipped: their type is not supported, or they are too large.",
        "部分文件被跳过：类型不受支持或文件过大。",
    ),
    "sources.failed": ("Could not read {name}: {reason}", "无法读取 {name}：{reason}"),
    "sources.remove": ("Delete {name}", "删除 {name}"),
    "sources.removed": ("Deleted: {name}", "已删除：{name}"),
    "sources.none_writable": ("Your key does not allow adding documents.", "您的密钥不能添加文档。"),
    "sources.search": ("Test a search", "试着查询"),
    "sources.query": ("Search for", "查询内容"),
    "sources.go": ("Search", "查询"),
    "sources.in": ("In", "范围"),
    "sources.weak": ("No good match. These are the closest:", "没有很相符的内容。以下是最接近的："),
    # Runs
    "runs.title": ("Experiments", "实验"),
    "runs.empty": ("No experiments yet.", "还没有实验结果。"),
    "runs.empty_more": (
        "Run one with “dragoman evaluate NAME --out runs/NAME”.",
        "用“dragoman evaluate NAME --out runs/NAME”运行并保存一个实验。",
    ),
    "runs.admin": ("Only admin keys can see experiments.", "只有管理员密钥可以查看实验。"),
    "runs.first": ("Run", "实验"),
    "runs.second": ("Compare with", "对比"),
    "runs.one": ("(none)", "（无）"),
    "runs.system": ("system", "系统"),
    "runs.turns": ("{turns} turns in {dialogues} dialogues", "{turns} 轮，{dialogues} 段对话"),
    "runs.about": ("Details", "详情"),
    "runs.holes": ("{count} more systems without results", "另有 {count} 个系统没有结果"),
    "runs.gone": ("This run cannot be read.", "无法读取此实验。"),
    "runs.paper": ("paper: {figure}", "论文：{figure}"),
}


def words(language: Language) -> Mapping[str, str]:
    """All labels and messages in a language, by key."""
    place = list(LANGUAGES).index(language)
    return {key: phrases[place] for key, phrases in _WORDS.items()}


def language_of(accepted: str, chosen: str | None = None) -> Language:
    """The language of the page: the one chosen before, else the first supported one that the browser accepts."""
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
