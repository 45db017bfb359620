# ruff: noqa: E501  # a pattern is easier to check in one piece
"""Introductions of text that is not the speaker's own word: reported, pasted, to be worked on, or made up.

"She said:", "Ana posted:", "Summarise this:", "Is this a scam?" with a text on the lines below, "Let's pretend." In
doubt a text is taken for another's: what was not remembered can be told again, what is believed by mistake misleads.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice
from typing import TypeAlias

from dragoman.text import lazy_re as re

Span: TypeAlias = tuple[int, int]

_PARAGRAPH = re.compile(r"\n[ \t]*\n")
_LONGEST_GAP = 200
"""How far behind an introduction the end of its line is looked for."""
_LONGEST_LEAD = 120
"""How many characters before a colon are looked at."""
_MOST_COLONS = 200
"""How many colons of a turn are looked at; nobody writes more."""
_MARKS = tuple("“„«»「『《‘\"'`‹‚〈〝﹁﹃＂＇")
_TELLS = (
    r"(?:said|says|told|tells|wrote|writes|asked|asks|answered|replied|replies|shouted|whispered|thought|claims|claimed"
    r"|reads?|goes|went|states|stated)"
)
_SENDS = (
    r"(?:sent|sends|texted|texts|e-?mailed|messaged|messages|posted|posts|tweeted|commented|comments|noted|notes"
    r"|mentioned|published|shared|forwarded|pinged|dm(?:['’]?d|ed)|put|printed|announced|announces|confessed|admitted"
    r"|sang|sings|left|added|explained|insists|insisted|responded|typed|reported)"
)
_SOMEBODY = (
    r"(?:he|she|they|it|who|somebody|someone|everyone|everybody|(?:my|the|our|his|her|their|an?|this|that) [\w-]{1,20}"
    r"(?: [\w-]{1,20})?|(?-i:[A-ZÀ-Þ])[\w-]{1,20})"
)
_INTRODUCES = re.compile(
    rf"\b{_SOMEBODY} (?:\w{{1,20}} ){{0,2}}{_TELLS}\b[^:：\n.!?]{{0,40}}[:：]"
    r"|\b(?:(?:translate|summari[sz]e|proofread|rewrite|paraphrase|rephrase|spell-?check)\b"
    r"|(?:correct|shorten|edit|improve|polish|explain|interpret|analy[sz]e|check|review) (?:this|these|that|the)\b)"
    r"[^:：\n.!?]{0,60}[:：]"
    r"|\b(?:the|this|that|his|her|their|an?|following|forwarded|copied|pasted|original) (?:[\w-]{1,20} ){0,3}"
    r"(?:texts?|e-?mails?|messages?|letter|sign|article|quot(?:e|ation)|sentences?|paragraph|post|poem|story|transcript"
    r"|document|prompt|lyrics|review)\b[^:：\n.!?]{0,40}[:：]"
    r"|\b(?:forwarded|copied|pasted) (?:message|mail|text)[^:：\n.!?]{0,40}[:：]"
    r"|(?<![我你您想要])(?:(?![我你您想要])[\u4e00-\u9fff]){1,3}(?:说道?|写道?|问|喊|回答|告诉[他她我你您]们?)[：:]"
    r"|(?:翻译|总结|概括|校对|润色|改写|解释|分析|这句话|这段话|这封|下面|以下|邮件|短信|原文)[^：:\n。！？]{0,20}[：:]",
    re.IGNORECASE,
)
_REPORTS = re.compile(rf"\b{_SOMEBODY} (?:\w{{1,20}} ){{0,2}}{_TELLS}\b|(?<![我你您])[说讲写道][，：]?$", re.IGNORECASE)
_SAID_AFTER = re.compile(rf"[\"”」』](?: {_SOMEBODY}(?: \w{{1,20}})? {_TELLS}\b|[他她]说)", re.IGNORECASE)
_COLON = re.compile(r":(?=\s|[\"'“‘«„])|：")
_SENTENCE_END = re.compile(r"[.!?。！？]\s|\n")
_STAMP = re.compile(
    r"[\s\[(]*+(?:\d{1,4}[./-]\d{1,2}[./-]\d{1,4},?\s?)?(?:\d{1,2}[:.]\d{2}(?::\d{2})?(?: ?[ap]\.?m\.?)?)?[\])\s,–-]*+"
)
"""The time before or behind a speaker in a copied chat: "[10:15] Ana", "Ana (10:15)"."""
_TEXT = (
    r"(?:texts?|e-?mails?|mails?|messages?|letters?|articles?|quot(?:e|ation)s?|sentences?|paragraphs?|posts?|poems?"
    r"|transcripts?|documents?|prompts?|lyrics|songs?|reviews?|bios?|profiles?|adverts?|ads?|flyers?|leaflets?"
    r"|posters?|comments?|tweets?|captions?|headlines?|novels?|scripts?|verses?|chapters?|diar(?:y|ies)|blogs?"
    r"|case stud(?:y|ies)|examples?|dialogues?|testimonials?|memos?|complaints?|threads?|subject line|voice-?mails?|post-its?|notes? (?:from|on|by|of))"
)
_OF_TEXT = re.compile(
    rf"\b{_TEXT}(?:\s|$)|\b(?:reddit|twitter|facebook|instagram|whatsapp|wikipedia|books?)\b", re.IGNORECASE
)
_OF_SOMEBODY = re.compile(
    r"(?<!\bmy )(?<!\bour )\b(?!(?:here|there|that|it|what|let|who|how|where|he|she)['’])\w{2,20}['’]s [\w-]{2,20}$"
    r"|\w{2,20}['’]s (?:status|answer|words|statement|reply|note|question)$|\boverheard\b",
    re.IGNORECASE,
)
"""What is another's: "Ana's status", "my sister's words"."""
_OWN_TEXT = re.compile(
    rf"\b(?:my|our) (?:(?!\w+['’]s\b)[\w-]{{1,20}} ){{0,2}}{_TEXT}\b|\bI(?:['’](?:m|ve|ll|d))?\b", re.IGNORECASE
)
"""A text of the speaker's own: "my bio"."""
_SENT = re.compile(rf"\b{_SOMEBODY} (?:\w{{1,20}} ){{0,2}}{_SENDS}\b", re.IGNORECASE)
_WROTE = re.compile(
    r"(?<!\bI )(?<!\bwe )\b(?:wrote|schrieb|said|says)$|\b(?:copied|pasted|found) (?:this|it|that)\b", re.IGNORECASE
)
_LANGUAGES = (
    r"(?:english|french|german|italian|spanish|portuguese|dutch|swedish|polish|russian|turkish|arabic|hindi|japanese"
    r"|korean|chinese|mandarin|cantonese|latin|greek|danish|norwegian|finnish|czech|ukrainian)"
)
_WORK = (
    r"(?:write|draft|compose|continue|finish|complete|type|copy|repeat|recite|fix|shorten|lengthen|improve|polish"
    r"|correct|translate|summari[sz]e|proofread|rewrite|paraphrase|rephrase|transcribe|classify|label|parse|extract"
    r"|annotate|rate|score|grade|count|spot|spell|fill in|read (?:this|that|it|the|out)"
    r"|(?:turn|make|put|check|explain|analy[sz]e) (?:this|that|it|the|these))"
)
"""Verbs of work on a text."""
_PLEASE = r"(?:(?:please|now|and|then|can|could|would|will|you|help me|just) ){0,4}"
_ORDERS = re.compile(
    rf"{_PLEASE}(?:{_WORK}\b|(?:reply|respond) to (?!your?\b)"
    r"|(?:tell|ask|text|e-?mail|message|inform) (?!me\b|us\b)\w+)"
    rf"|(?:in|into|to|from) {_LANGUAGES}\b|(?:test|sample|dummy)(?: (?:input|data|case))?$|lorem\b|and I quote$|(?:give|list|find|name)\b.{1, 60} (?:in|of|for|from)$"
    r"|(?:is|does|do|are|was) (?:this|that|it|these) (?!.{0,40} for (?:me|us)\b)"
    r".{0,40}\b(?:correct|right|grammatical|grammatically|sound|make sense|natural|polite|spelled|spelt|true|english)\b"
    r"|.{0,40}\b(?:this|that|it) (?:translated|corrected|proofread|shortened|rewritten|explained)\b"
    r"|what (?:does|do) (?:this|that|it|these)\b|(?:what|which) (?:language|tense)\b",
    re.IGNORECASE,
)
"""What somebody asks to do with the text behind a colon, or on the lines below."""
_MADE_UP = re.compile(
    r"(?:for (?:example|instance)|e\. ?g\.?|examples?|(?:let['’]?s|let us) (?:role-?play|pretend|imagine|play)|role-?play"
    r"|pretend|imagine|suppose|hypothetically|act as|(?:question|exercise|task|ticket|case|scenario) ?#?\d+)[^\n]{0,40}",
    re.IGNORECASE,
)
_PRETENDS = re.compile(
    r"\b(?:let['’]?s|let us) (?:role-?play|pretend|imagine)\b|\brole-?play[.!:] |\bpretend (?:to be|you|I|that|we)\b"
    r"|\bimagine(?: that)?[,.!:] |\bimagine (?:you['’]?re|you are|being)\b|\bact as (?:a|an|if|my|the)\b"
    r"|\b(?:simulate|impersonate) (?:a|an|the|my)\b|\byou are (?-i:[A-ZÀ-Þ])\w{1,20}[.!,] |\bthe following\b[^.!?\n]{0,40}[.!?] "
    r"|^(?:please )?(?:translate|proofread|summari[sz]e|paraphrase|rephrase)[.!] |(?:怎么说|怎么写)[？?\s]|假装|角色扮演",
    re.IGNORECASE,
)
_IS_LIKE = re.compile(
    rf"\b{_SOMEBODY}(?:['’]s|['’]re| was| were| is| are) (?:all |just )?like,? (?=I\b|I['’]|my\b|we\b|our\b)",
    re.IGNORECASE,
)
"""Speech that is told: "she was like, I live in Rome"."""
_NAME = re.compile(
    r"@?(?:(?-i:[A-ZÀ-Þ])[\w.'’-]{0,20}(?: (?-i:[A-ZÀ-Þ\d])[\w.'’-]{0,20}){0,2}|(?:the )?[a-z]\w{2,20})", re.IGNORECASE
)
_SPEAKERS = frozenset(
    "user assistant system human ai bot agent customer client patient guest caller student teacher applicant candidate"
    " visitor passenger tenant employee doctor nurse interviewer interviewee narrator host speaker sender him her".split()
)
_LABELS = frozenset(
    "question questions note notes fyi ps nb btw update correction edit background context situation info information"
    " problem issue reason request reminder remember important also hi hello hey dear sorry thanks thank ok okay yes no well"
    " honestly frankly first second third fourth finally lastly next warning caution disclaimer confession spoiler so and"
    " but plus now anyway listen look wait actually me myself us intro introduction summary details detail fact facts age"
    " name job work profession location address home city town country family kids children child son daughter wife"
    " husband partner mother father parents dog dogs cat pet pets diet dietary food allergy allergies health condition"
    " medication mobility disability hobby hobbies interests budget plan plans trip group party date dates status"
    " membership language languages nationality birthday goal goals wish wishes preference preferences needs requirements answer".split()
)
"""What people write before a colon when they speak of themselves."""
_FIRST_PERSON = re.compile(r"\b(?:I|I['’](?:m|ve|d|ll)|im|my|mine|we|we['’](?:re|ve)|our)\b|我", re.IGNORECASE)
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_CHINESE_LEAD = re.compile(
    r"(?<!我)(?:发来|发消息|发短信|发微信|发的?信息|发给|发了|发的|回复|评论|留言|转发|私信|写给|朋友圈|歌词|台词|小说|诗句|造句|的话$|说明文字"
    r"|例如|比如|举例|例子|怎么说|怎么写|留了|纸条|帮我写|写一[句封段篇条首]|这样写|这么写|这条消息|这个消息|读一下|念一下|改一下"
    r"|续写|假装|假设|扮演)|^(?:请)?回(?:复|一下)"
)
_CHINESE_NAME = re.compile(r"(?![我你您])[\u4e00-\u9fff]{1,4}")
_CHINESE_LABELS = frozenset(
    "注 问 答 问题 补充 更正 备注 请问 你好 您好 背景 情况 提示 另外 对了 注意 关于我 此外 说明 更新 信息 姓名 年龄 职业 住址"
    " 家庭 过敏 饮食 健康 爱好 预算 计划 需求"
    " 说明一下 解释一下 介绍一下 更正一下 补充一下 记住 请记住 顺便 顺便说 其实 原因 要求 自我介绍 简介 介绍 大家好 不好意思 谢谢 宠物 孩子 其他".split()
)
_BELOW = re.compile(
    rf"\b(?:here(?:['’]s| is| are|['’]re)|this is|these are|below|following|attached|pasted)\b.{{0,60}}\b{_TEXT}\b"
    rf"|\b{_TEXT}\b.{{0,40}}\b(?:below|follows|attached)\b|\bsee below\b|\bsense of (?:this|that|it)\b"
    rf"|\b(?:this|these|that) (?:\w+ ){{0,2}}{_TEXT}\b|\b(?:this|that|it|these) (?:a |an )?(?:scam|spam|phishing|fake)\b"
    r"|\b(?:reply|respond) to (?:this|that|it|her|him|them)\b|\btl;?dr\b|\bthe following\b|\bcharacter sheet\b"
    r"|\bis (?:this|that|it) (?:\w+ )?(?:grammatical(?:ly)?|correct english|spelled|spelt)\b"
    r"|\bwhat (?:my|the|our|his|her|their|an?|some\w*) .{1,40}\b(?:posted|sent|wrote|said|texted|e-?mailed|shared)\b"
    r"|(?:[他她]|朋友|同事|老板|网友|房东|客服|妈妈|爸爸).{0,12}(?:发的?|写的?|发来|朋友圈|留言|消息)"
    r"|(?:下面|以下|如下|这[条段封篇则])|翻译|润色|改写|总结|概括|校对",
    re.IGNORECASE,
)
"""A line that says that the lines below it are a text."""
_ABOVE = re.compile(
    rf"(?:\b(?:that|this|it)(?:['’]s| is| was)|\bis|\bwas) what {_SOMEBODY} (?:\w{{1,20}} ){{0,3}}?(?:{_TELLS}|{_SENDS})\b"
    r"|这是.{0,8}(?:发|写|说)[给的]?",
    re.IGNORECASE,
)
"""Says that what stands before it is another's: "That's what she wrote."."""
_SIGNED = re.compile(r"(?:[—–]{1,2}|--) ?[A-ZÀ-Þ][^\n]{0,40}")
"""The line below a quotation: "— Ana, 34"."""
_BY_SPEAKER = re.compile(r"(?:I|we|can I|may I|could I|can we|may we|我)(?:['’]\w+)?\b", re.IGNORECASE)
_SEPARATOR = re.compile(
    r"={2,} ?[^=\n]{1,60} ?={2,}|[-_=*]{2,}\s?(?:original|forwarded|begin forwarded|ursprüngliche|weitergeleitete"
    r"|message transféré|转发|原始)[^\n]{0,60}",
    re.IGNORECASE,
)
_STAMPED = re.compile(
    r"(?:@?[A-ZÀ-Þ\u4e00-\u9fff][\w.'’-]{0,20}(?: [A-ZÀ-Þ][\w.'’-]{0,20}){0,2},?"
    r" ?(?:[—–|(\[]|- ?)[^\n]{0,20})?\d{1,2}:\d{2}(?: ?[aApP]\.?[mM]\.?)?[)\]]?"
    r"|(?i:posted|written|sent|shared) by [^\n]{1,60}"
)
"""The line above a message in a copied chat: "Ana — Today at 10:03"."""
_HEADING = re.compile(r"#{1,6} [^\n]{1,120}|\*{2} ?[^*\n]{1,60}\*{2}")
_ABOUT_ME = re.compile(r"\b(?:my|me|myself|I|our|us)\b|我", re.IGNORECASE)
_GREETING = re.compile(r"(?:dear|hi|hello|hey) [\w .'’-]{1,40}[,:!]?|(?:亲爱的|尊敬的)[^\n]{1,20}", re.IGNORECASE)
_TAGGED = re.compile(r"<[^<>\n]{1,40}>\s?\S|RT @\w|[^\W\d_][\w-]{1,20}(?:>| ») \S")
"""A line of markup or of a copied chat: "<ana> ...", "ana> ..."."""
_RULE = re.compile(r"-{3,}|={3,}|\*{3,}|_{3,}")
_SIGNATURE = 4
"""How many words a signature has at most."""
_SIGN_OFF = re.compile(
    r"(?:yours|sincerely|(?:kind|best|warm) (?:regards|wishes)|regards|best|love|cheers|此致|敬礼)\b[^\n]{0,30}",
    re.IGNORECASE,
)


def is_reported(before: str) -> bool:
    """Whether the words before a statement say that it is somebody else's: "My boss said that"."""
    return _REPORTS.search(before) is not None


def introduced_spans(text: str) -> list[Span]:
    """The spans of introductions with the text that they introduce.

    It is the paragraph behind the introduction; where the line ends there, all that follows. And what stands before a
    quotation mark that closes what none opened: 'I live in Rome." she said'.
    """
    breaks = [match.start() for match in _PARAGRAPH.finditer(text)]

    def paragraph_end(place: int) -> int:
        later = bisect_left(breaks, place)
        return breaks[later] if later < len(breaks) else len(text)

    spans: list[Span] = []
    for begin, end in _introductions(text):
        if text[end : end + 2].lstrip().startswith(_MARKS):
            continue  # the marks say where it ends
        line, _, _ = text[end : end + _LONGEST_GAP].partition("\n")
        spans.append((begin, paragraph_end(end) if line.strip() else len(text)))
    for match in _SAID_AFTER.finditer(text):
        earlier = bisect_left(breaks, match.start())
        spans.append((breaks[earlier - 1] if earlier else 0, match.start() + 1))
    spans += [(match.start(), paragraph_end(match.end())) for match in _PRETENDS.finditer(text)]
    spans += [(match.start(), paragraph_end(match.end())) for match in _IS_LIKE.finditer(text)]
    for match in _ABOVE.finditer(text):
        earlier = bisect_left(breaks, match.start())
        if earlier and not text[breaks[earlier - 1] : match.start()].strip():  # it stands alone, below the text
            earlier -= 1
        spans.append((breaks[earlier - 1] if earlier else 0, match.end()))
    return [*spans, *_texts_below(text, breaks)] if "\n" in text or _TAGGED.match(text) else spans


def _introductions(text: str) -> Iterator[Span]:
    """Introductions that end in a colon."""
    yield from (match.span() for match in _INTRODUCES.finditer(text))
    for match in islice(_COLON.finditer(text), _MOST_COLONS):
        before = text[max(0, match.start() - _LONGEST_LEAD) : match.start()]
        ends = [end.end() for end in _SENTENCE_END.finditer(before) if before[: end.start() + 1][-4:].lower() != "e.g."]
        lead = before[ends[-1] if ends else 0 :]
        behind, _, _ = text[match.end() : match.end() + _LONGEST_GAP].partition("\n\n")
        is_value = len(behind.partition("\n")[0].split()) == 1 and not _CHINESE.search(
            behind
        )  # of a form: "E-mail: x@y.z"
        if lead.strip() and not is_value and _is_of_another(lead.strip(), behind):
            yield match.start() - len(lead), match.end()


def _is_of_another(lead: str, behind: str) -> bool:
    """Whether the words before a colon say that the text behind it is not the speaker's own."""
    if _CHINESE.search(lead):
        is_name = _CHINESE_NAME.fullmatch(lead) and lead not in _CHINESE_LABELS and _FIRST_PERSON.search(behind)
        return bool(is_name) or bool(_CHINESE_LEAD.search(lead))
    if _WROTE.search(lead) or _SENT.search(lead) or _ORDERS.match(lead) or _MADE_UP.match(lead):
        return True
    if _OF_SOMEBODY.search(lead) or (_OF_TEXT.search(lead) and not _OWN_TEXT.search(lead)):
        return True
    start = _STAMP.match(lead)
    bare = lead[start.end() if start else 0 :].rstrip(" )]")
    bare = bare.partition(" (")[0].partition(" [")[0]
    name = _NAME.fullmatch(bare)
    if name is None or not _FIRST_PERSON.search(behind):
        return False
    words = {word.strip(".@").casefold() for word in bare.split()}
    if bare[:1].islower() or words & _SPEAKERS or "the" in words:
        return bool(words & _SPEAKERS)
    return not words & _LABELS


def _texts_below(text: str, breaks: list[int]) -> Iterator[Span]:
    """Lines of a copied chat or of markup, letters, and all lines below one that announces a text."""
    place, start, rule, greeting, is_first = 0, 0, -1, -1, True
    for line in text.splitlines(keepends=True):
        bare, end = line.strip(), place + len(line)
        announces = bool(_SEPARATOR.fullmatch(bare) or _STAMPED.fullmatch(bare))
        announces = announces or (bool(_HEADING.fullmatch(bare)) and not _is_own_heading(bare))
        announces = announces or (is_first and len(bare) <= _LONGEST_GAP and _announces(bare))
        if announces and text[end:].strip():
            yield place, len(text)
            return
        if _TAGGED.match(bare):
            yield place, end
        elif _RULE.fullmatch(bare):  # what stands between two of them is a text apart
            if rule >= 0:
                yield rule, end
            rule = place if rule < 0 else -1
        elif _SIGNED.fullmatch(bare):
            yield start, end
        elif start > 0 and not is_first and len(bare) <= _LONGEST_GAP and not text[end:].strip() and _announces(bare):
            yield 0, place  # the last paragraph speaks of the text above it
        elif _SIGN_OFF.fullmatch(bare) and greeting >= 0:
            later = bisect_left(breaks, end - 1)
            beyond = text[breaks[later] :][:_LONGEST_GAP].split() if later < len(breaks) else []
            # A turn that is a letter from its first to its last line is the user's own.
            if greeting or len(beyond) > _SIGNATURE:
                yield greeting, breaks[later] if later < len(breaks) else len(text)
            greeting = -1
        elif _GREETING.fullmatch(bare) and not _FIRST_PERSON.search(bare):
            greeting = place
        is_first, place, start = is_first and not bare, end, start if bare else end


def _announces(line: str) -> bool:
    """Whether a line says that the lines below it are a text. One that begins with "I" may speak of a text before it."""
    return not _BY_SPEAKER.match(line) and bool(_BELOW.search(line) or _ORDERS.match(line))


def _is_own_heading(line: str) -> bool:
    """Whether a heading is about the speaker: "# About me", "# Question"."""
    words = {word.casefold() for word in line.strip("#*.:! ").split()}
    return bool(_ABOUT_ME.search(line)) or (len(words) == 1 and words <= _LABELS)
