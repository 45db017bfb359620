"""What kind of turn is this, and whom is it about? Rules over the surface, English and Chinese.

Gate, planner, reader and memory read the same form, so that they agree on what a turn is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

Act: TypeAlias = Literal[
    "greeting",
    "thanks",
    "farewell",
    "wellbeing",
    "acknowledgement",
    "pastime",
    "remember",
    "forget",
    "statement",
    "question",
]
SOCIAL: frozenset[Act] = frozenset({"greeting", "thanks", "farewell", "wellbeing", "acknowledgement"})
"""Acts that ask for nothing."""


@dataclass(frozen=True, slots=True)
class Form:
    """The act of a turn, the part of it that carries the matter, and whom a question is about.

    `about` is None for a turn that asks nothing; `personal` says that a question about the world
    mentions the user too ("can I bring my dog?").
    """

    act: Act
    core: str
    about: Literal["user", "bot", "world"] | None = None
    personal: bool = False


def _compile(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE)


_FILL = r"(?:(?:there|again|all|everyone|folks|dear|friend|so much|very much|a lot|a million|indeed|really|oh|well|ok(?:ay)?|and|then|for (?:your|the|all|everything)[\w' ]*|for (?:help|tell|explain)\w*[\w' ]*|that(?:'s| is| was)?[\w' ]{0,20}(?:help\w*|kind|great|useful|nice)(?: of you)?|to you(?: too)?|you too|my friend|sir|madam|mate|now)[\s,.!~]*)*"
_SOCIAL_PATTERNS: tuple[tuple[Act, re.Pattern[str]], ...] = (
    (
        "thanks",
        _compile(
            rf"(?:(?:great|perfect|super|nice|lovely|wonderful|brilliant|ok(?:ay)?|alright|no|oh|ah|awesome|cool)[\s,.!]*)*(?:many thanks|thanks|thank you|thankyou|thx|ty|cheers|much appreciated|i appreciate (?:it|that|your help))[\s,.!]*{_FILL}",
            r"(?:好的?|太好了|嗯|哦|那)?[，,\s!！]*(?:谢谢|多谢|感谢|谢啦|谢了|辛苦了)(?:你|您|啦|了|哈|大家|你的帮助|您的帮助)*(?:真的?)?",
        ),
    ),
    (
        "farewell",
        _compile(
            rf"(?:ok(?:ay)?|well|alright|right|great|thanks?|thank you)?[\s,.!]*(?:good ?bye|bye(?:[- ]bye)?|see (?:you|ya)(?: (?:later|soon|tomorrow|around|then))?|farewell|good ?night|have a (?:nice|good|great|lovely) (?:day|evening|one|trip|night|weekend)|take care|i(?:'m| am| have to|'ve got to| must|'d better) (?:off|leaving|go(?:ing)?)(?: now)?|that(?:'s| is| will be| was) all(?: for (?:now|today))?|talk to you (?:later|soon|tomorrow)|until (?:next time|tomorrow))[\s,.!]*{_FILL}",
            r"(?:好的?|那|嗯)?[，,\s]*(?:再见|拜拜|回头见|下次见|明天见|晚安|我(?:先)?走了|我该走了|祝你愉快)(?:啦|了|吧|哦)*",
        ),
    ),
    (
        "wellbeing",
        _compile(
            r"(?:(?:hi|hello|hey)[\w ]{0,12}[\s,.!]*)?(?:and )?(?:how are you(?: (?:doing|today|feeling|this (?:morning|evening)|these days))*|how(?:'s| is) (?:it going|everything|life|your day(?: going)?|things)(?: today)?|how do you do|what(?:'s| is) up|are you (?:well|ok(?:ay)?|all right|alright)(?: today)?|how have you been|how(?:'re| are) things|nice to meet you|pleased to meet you)[\s,.!?]*(?:today|then|my friend)?",
            r"(?:你好[，,！!\s]*)?(?:你(?:今天|最近)?(?:还)?好吗|最近(?:怎么样|好吗|如何)|(?:今天)?过得(?:怎么样|好吗)|很高兴认识你|吃了吗)",
        ),
    ),
    (
        "greeting",
        _compile(
            rf"(?:hi|hello|hey|hiya|howdy|greetings|yo|good (?:morning|afternoon|evening|day)|morning|evening|welcome|ahoy)(?:[\s,]+(?:there|dear|friend|all|everyone|again|to you))*[\s,.!~]*{_FILL}",
            r"(?:你好|您好|嗨|哈喽|早上好|早安|下午好|晚上好|大家好|早|喂|哈啰)(?:啊|呀|哦|你好)*",
        ),
    ),
    (
        "acknowledgement",
        _compile(
            r"(?:(?:ok(?:ay)?|okey|alright|all right|right|sure|fine|good|great|perfect|cool|nice|lovely|wonderful|awesome|excellent|super|brilliant|got it|i see|understood|sounds (?:good|great|lovely|perfect|nice)|makes sense|that(?:'s| is) (?:great|good|nice|fine|perfect|helpful|kind|lovely|all|interesting|funny|amazing|wonderful|very kind)(?: of you)?|interesting|wow|haha+|ha|lol|yes|yeah|yep|no|nope|no problem|never ?mind|you(?:'re| are) (?:welcome|kind|right|funny|very kind|great|helpful|the best)|well done|good (?:job|bot|idea|point)|not (?:really|now)|sorry|please|oh|ah|hm+|i like (?:that|it)|it(?:'s| is) (?:fine|ok(?:ay)?|nothing)|agreed|exactly|indeed|very (?:good|nice|kind)|what a (?:nice|lovely|beautiful|great) [\w ]{2,20}|(?:it(?:'s| is)|what) (?:a )?(?:nice|lovely|beautiful|sunny|rainy|cold|hot|warm)[\w ]{0,20}(?:day|weather|morning|evening|today))[\s,.!~]*)+",
            r"(?:(?:好的?|好吧|好啊|行|可以|嗯+|哦+|明白了?|知道了|懂了|收到|没事|没关系|不客气|哈哈+|不错|太好了|太棒了|真棒|对|是的|不是|不用了?|好极了|有意思|原来如此|没问题|今天天气真好)[，,。！!~\s]*)+",
        ),
    ),
)
_EDGES = " \t\n.,!?;:~…。，！？；：～-–—)(\"'“”‘’*"

_PASTIME = _compile(
    r"\b(?:tell|sing|write|recite|make up|give)\s+(?:me |us )?(?:a|another|some|one more|your best)\s+(?:[\w-]+ )?(?:jokes?|stor(?:y|ies)|poems?|songs?|riddles?|haiku|limerick)\b",
    r"\b(?:make me laugh|entertain me|let'?s (?:play|chat|talk))\b",
    r"讲(?:个|一个)?(?:笑话|故事)|写(?:首|一首)诗|唱(?:首|一首)?歌|陪我聊聊",
)
_REMEMBER = _compile(
    r"^(?:please |also |and |can you |could you |kindly )*(?:remember|note|keep in mind|don'?t forget|make a note|write down)(?: please)?[,:]?\s+(?:that |of that |down that |this: |for me that |, )?(?P<en>.+)$",
    r"^(?:请|帮我|麻烦你?|你要|也)*(?:记住|记得|记一下|记下来?)[：:，,\s]*(?P<zh>.+)$",
)
_FORGET = _compile(
    r"^(?:please |now |and |can you |could you |would you |kindly |i want you to |i'd like you to )*(?:forget|erase|delete|wipe|remove)(?: please)?\s+(?:about |that |the fact that |what i (?:said|told you) about |all about |from (?:your )?memory )*(?P<en>.+)$",
    r"^(?:请|帮我|麻烦你?|把)*(?:忘(?:掉|记|了)?|删除|删掉|抹掉|清除)[：:，,\s]*(?P<zh>.*)$",
    r"^(?:请|帮我|麻烦你?)?把(?P<ba>.+?)(?:忘(?:掉|记|了)|删(?:掉|除)|抹掉|清除)(?:吧|了|掉)?$",
)
_EVERYTHING = _compile(
    r"^(?:everything|all(?: of (?:it|that|this))?|all you know|me|me completely|all my (?:data|facts|memories|information)|my (?:data|memory|memories))(?:\s+(?:about|on|of) me)?(?:\s+(?:you (?:know|have)|i(?:'ve| have)? (?:said|told you|ever said)).*)?(?:\s+please)?$",
    r"^(?:关于我的)?(?:一切|所有(?:事|事情|信息|记忆)?|全部)(?:信息|记忆|内容)?$|^我(?:的(?:一切|所有信息|全部信息|数据))?$",
)
_WRAPPERS = _compile(
    r"^(?:(?:hi|hello|hey|good (?:morning|afternoon|evening|day)|thanks|thank you|ok(?:ay)?|great|well|so|and|also|but|oh|ah|right|alright|please|excuse me|sorry|actually|by the way|btw|one more (?:thing|question)|another question|quick question|(?:i have|i'?ve got) (?:a|another|one more) question)(?:\s+(?:there|again|so much|very much|a lot))*[\s,.!:;-]+)+",
)
_ASKING = _compile(
    r"^(?:can|could|would|will) you (?:please |kindly |maybe )?(?:tell|let|remind|show|explain to|help|inform|give) (?:me|us)(?: know)?(?: again| please)?(?: about| of| with)?\s+",
    r"^(?:please )?(?:tell|remind|show|inform|give) (?:me|us)(?: again| please)?(?: about| of)?\s+",
    r"^(?:do|did|would) you (?:happen to |perhaps |by any chance |maybe )?(?:know|remember|recall)(?: about| if| whether)?\s+",
    r"^(?:i(?:'d| would)(?: also)? (?:like|love|want) to (?:know|hear|ask|find out)|i (?:want|need) to (?:know|find out)|i(?:'m| am|'ve been| was) (?:just )?(?:wondering|curious)(?: about)?|may i ask|could i ask|any idea|let me know|i wonder|can i ask(?: you)?)(?: about| if| whether)?[\s,:]+",
    r"^(?:请问|我想(?:知道|问(?:一下|问)?|了解一下)|你(?:还)?(?:知道|记得)(?:吗[，,]?)?|能(?:不能)?告诉我|可以告诉我|告诉我|麻烦问一下|想问(?:一下|问)?)[，,：:\s]*",
)
_QUESTION_START = _compile(
    r"^(?:and |but |so |then |or |also |in that case |for |to |at |from |on |until |till |with |by |about |of |in |up to |since )?(?:what|when|where|who|whom|whose|which|why|how|is|are|was|were|am|do|does|did|can|could|may|might|will|would|shall|should|has|have|had|isn'?t|aren'?t|don'?t|doesn'?t|didn'?t|can'?t|won'?t|any|anything|anyone|what'?s|where'?s|who'?s|when'?s|how'?s)\b",
    r"^(?:tell|show|give|list|explain|describe|recommend|suggest|find|look up|search|compare|summari[sz]e|remind|help|name|advise|book|order|reserve)\b",
    r"^(?:and |but |so )?(?:what|how) about\b",
)
_QUESTION_ANY = _compile(
    r"\?",
    r"\b(?:i(?:'d| would) like to know|wondering|tell me|let me know|any idea|do you know|i need (?:to know|information|info|help|the|a|an)|i want to know|looking for|i(?:'m| am) searching)\b",
    r"吗|呢|？|什么|哪|谁|几|多少|怎么|为什么|多久|多大|多远|如何|是否|有没有|能不能|可不可以|可以.{1,12}吗|是不是|要不要|介绍|推荐|告诉我|请问",
)
_USER = _compile(
    r"\b(?:what|who|where|when|how|which|whose|how old|how many|how much)\b[\w\s']{0,24}?\b(?:is|are|was|were|'s|s|'re)\s+(?:the\s+\w+\s+of\s+)?my\b",
    r"\bwhat(?:'s| is| are| was| were)?\s+my\b",
    r"\b(?:who|what|where|how old|how tall|when)\s+am i\b(?!\s+(?:allowed|supposed|able|expected|permitted))",
    r"\bam i\s+(?!allowed|supposed|able|expected|permitted|late|too late|right|correct|going to be able)",
    r"\b(?:what|where|who|which|when|how|why|how often|how long)\b[\w\s']{0,24}?\bdo i\s+(?:live|work|like|love|hate|prefer|eat|drink|do|have|own|speak|play|study|enjoy|usually|come|want|dislike|drive|collect|read|teach)\b",
    r"^(?:do|did|have|had) i\s+(?!need|have to|get|pay|want|require|miss|must)(?:live|work|like|love|hate|prefer|eat|drink|have|own|speak|play|tell|told|mention(?:ed)?|say|said|enjoy|drive|ever)\b",
    r"\bwhat did i\b|\bwhat have i\b|\b(?:where|when|who|how) did i\b|\bdid i (?:say|tell|mention|ask)\b|\bi (?:told|mentioned to) you\b",
    r"\b(?:know|remember|recall|noted|stored|saved|learn(?:ed|t)?|got|have)\b[\w\s]{0,12}\babout me\b|\bwho i am\b|\bwhere i (?:live|work|come from|am from)\b",
    r"\bremember (?:me|my|what i|where i|who i|that i|if i|whether i|when i|how i)\b",
    r"\bwhat i (?:like|do|eat|drink|told|said|prefer|am|work|love|hate|collect|play|mentioned)\b",
    r"^(?:my|my own) [\w\s'-]{2,40}\?$",
    r"^(?:is|are|was|were)\s+my\s+[\w\s'-]{2,30}\b(?:called|named|still|from|vegetarian|vegan|in)\b",
    r"我(?:的|家|妹妹|姐姐|哥哥|弟弟|妈妈|爸爸|孩子|儿子|女儿|狗|猫)[^，。]{0,12}(?:是|叫|在|多大|几|哪|谁|什么)|我(?:叫|住|是|喜欢|爱|讨厌|不吃|不能吃|对|在哪|最|养|有|做|说过|告诉|从哪|怕|想喝|平时)[^，。]{0,12}(?:什么|哪|谁|吗|几|多少|过敏)|我是(?:谁|做什么)|(?:知道|记得|了解)[^，。]{0,6}我|关于我",
)
_WORLD_FIRST_PERSON = _compile(
    r"\b(?:can|could|may|should|shall|must|might|would|will) (?:i|we)\b",
    r"\b(?:how|where|when|what) (?:can|could|do|should|must|may|would) (?:i|we) (?:get|go|reach|book|buy|pay|find|need|order|rent|take|bring|park|contact|call|reserve|see|visit|start|stay|return|cancel|use|catch|apply|join|hire|sign|ask|leave|swim|walk|have to|expect)\b",
    r"\bdo (?:i|we) (?:need|have to|get|pay|require|must)\b",
    r"\bam i (?:allowed|supposed|able|permitted)\b",
    r"我(?:可以|能|应该|要|需要|想|该)[^，。]{0,12}(?:吗|哪|怎么|什么|几|多少|不)",
)
_BOT = _compile(
    r"\b(?:you|your|yours|yourself)\b",
    r"你|您",
)
_BOT_FALSE = _compile(
    r"\b(?:if you|when you|before you|once you|as you|you (?:can|have to|need to|must|should|get|may|pay)|can you (?:swim|walk|rent|buy|get|see|take|bring|park|eat|pay|book|reach|drive|cycle|hire|camp|fish|visit)|do you (?:have to|need to|pay|get)|should you|must you|thank you)\b",
    r"你(?:们)?(?:这里|这儿|店|家)|您(?:这里|这儿)",
)
_SELF = _compile(r"\b(?:i|i'm|i've|i'd|i'll|im|my|mine|me|we|our|us|we're)\b", r"我|咱")
_SPLIT = re.compile(r"(?<=[.!?。！？；;])\s+|(?<=[。！？；])|\n+")


@lru_cache(maxsize=4096)
def form(text: str) -> Form:
    """The form of a turn; a turn with several sentences is what its most demanding sentence is."""
    whole = text.strip()
    social = _social(whole)
    if social is not None:
        return Form(social, whole)
    parts = [part for part in _SPLIT.split(whole) if part and part.strip(_EDGES)]
    asked = _memory_request(whole if len(parts) < 2 else parts[-1])
    if asked is not None:
        return asked
    rest = [part for part in parts if _social(part) is None] or [whole]
    questions = [part for part in rest if _asks(part)]
    if questions:
        core = questions[-1].strip()
        if _PASTIME.search(core) and not _personal(core.replace("me", "")):
            return Form("pastime", core)
        return _question(core, whole)
    joined = " ".join(part.strip() for part in rest)
    if _PASTIME.search(joined):
        return Form("pastime", joined)
    return Form("statement", joined, None, bool(_SELF.search(joined)))


def everything(what: str) -> bool:
    """Whether a request to forget means all of it."""
    return bool(_EVERYTHING.match(what.strip(_EDGES)))


def unwrapped(text: str) -> str:
    """A question without its greeting and its politeness: "Hi, could you tell me when it opens?" -> "when it opens?"."""
    core = text.strip()
    for _ in range(3):
        shorter = _ASKING.sub("", _WRAPPERS.sub("", core, count=1).strip(), count=1).strip()
        if shorter == core or len(shorter.strip(_EDGES)) < 2:
            break
        core = shorter
    return core


def _social(text: str) -> Act | None:
    bare = text.strip(_EDGES)
    if not any(char.isalnum() for char in bare):  # punctuation and emoji alone
        return "acknowledgement" if text.strip() and "?" not in text else None
    for act, pattern in _SOCIAL_PATTERNS:
        if pattern.fullmatch(bare):
            return act
    clauses = [clause for clause in re.split(r"[,，.!！。;~]+\s*", bare) if clause.strip(_EDGES)]
    if len(clauses) > 1:
        acts = [_social(clause) for clause in clauses]
        if all(act is not None for act in acts):
            ranked: tuple[Act, ...] = ("wellbeing", "thanks", "farewell", "greeting", "acknowledgement")
            return next(act for act in ranked if act in acts)
    return None


def _memory_request(text: str) -> Form | None:
    bare = _WRAPPERS.sub("", text.strip(), count=1).strip()
    if _asks(bare) and "?" in bare and not bare.lower().startswith(("can you", "could you", "would you", "please")):
        return None
    bare = bare.rstrip(" .!?。！？")
    for act, pattern in (("forget", _FORGET), ("remember", _REMEMBER)):
        match = pattern.match(bare)
        if match:
            what = next((group for group in match.groups() if group), "").strip(_EDGES)
            if act == "remember" and (re.match(r"(?:what|when|where|who|how|which|me\b|my \w+\?)", what, re.IGNORECASE) or what.endswith(("吗", "什么", "谁", "哪", "多少"))):
                return None
            return Form("forget" if act == "forget" else "remember", what)
    return None


def _asks(text: str) -> bool:
    bare = _WRAPPERS.sub("", text.strip(), count=1).strip()
    return bool(_QUESTION_ANY.search(text) or _QUESTION_START.match(bare))


def _personal(text: str) -> bool:
    return bool(_SELF.search(text))


def _question(core: str, whole: str) -> Form:
    bare = unwrapped(core)
    about: Literal["user", "bot", "world"] = "world"
    if _USER.search(core) and not _WORLD_FIRST_PERSON.search(bare):
        about = "user"
    elif _BOT.search(bare) and not _BOT_FALSE.search(bare):
        about = "bot"
    return Form("question", core, about, _personal(_ASKING.sub("", whole)))
