"""Chinese forget requests, sentence by sentence: lead-in, head, verb and object, or 把, object and verb."""

from __future__ import annotations

from dragoman.text import lazy_re as re

EVERYTHING = "everything"
_STEPS = 8

_LEAD_IN = re.compile(
    r"(?:你好|您好|嗨|喂|嘿|哈喽|好的?|好吧|那么?|嗯+|对了|谢谢(?:你|您)?|哎呀?|算了|其实|现在|是的?|对|不|没错|早上好|上午好|晚上好"
    r"|下午好|抱歉|不好意思|小[\u4e00-\u9fff]{1,2}|我改主意了)[，,、：:~～!！]"
)
_MOTIVE = re.compile(
    r"我(?![^，,]{0,20}(?:说|讲|问|让|叫|喊|写|想[让要起到象]|觉得|告诉|要求|希望|梦|听|看|怕))[^，,。！？]{1,20}[，,](?:所以|那就?)?"
    r"(?=请|麻烦|把|将|帮|忘掉|忘记|删|清除|抹)"
)
"""The user's own reason in front of a request: "我搬家了，请删掉我以前的地址"."""
_HEAD = re.compile(
    r"(?P<polite>请|麻烦|拜托|劳驾|能不能|能否|可否|可不可以|可以|能|我(?:想要?|要|希望|需要|要求|请求)(?:让|请|求)?(?=[你您]))(?:你|您)?"
    r"|[你您](?=能|可以|可不可以|可否|把|必须|得|快|马上|立刻|帮|给我|现在|给)|帮我|帮忙|给我|快点?|赶紧|赶快|立刻|马上|立即|现在|直接"
    r"|彻底|完全|永远|必须|得|全部|都|统统|也|就"
)
_VERB = (
    r"(?P<verb>(?:不要|别|不用|不必|不许)(?:再(?:记住|记得|记着|记)|再?(?:保存|储存|存储|记录))"
    r"|忘掉|忘记|忘了|忘却|遗忘|忘|删除|删掉|删了|删去|删|清除|清空|清掉|抹掉|抹去|抹除|擦除|擦掉|移除|消除)"
)
_FIRST = re.compile(rf"{_VERB}(?:一下)?[：:，,]?(?P<object>.+)$")
_MOVED = re.compile(
    rf"(?:把|将)(?P<object>.+?)(?P<all>(?>(?:都|全部|全|统统|彻底|完全|给我|给|从(?:你的)?记忆[中里])*)){_VERB}(?:一下|掉|干净)?$"
)
_TOPIC = re.compile(
    r"(?P<object>[^，,]{2,30}?)[，,]?(?P<all>(?:都|全部|全|统统)?)(?:(?:请|麻烦)你?(?:给我|帮我|替我)?|给我|帮我|替我)(?:都|全部|全|统统)?"
    r"(?P<verb>忘掉|忘记|删除|删掉|清除|清空|抹掉|抹去)$"
)
"""What is meant comes first: "你记住的我的一切，都给我删掉"."""
_NO_MORE = re.compile(
    r"(?P<object>我[^，,说讲问让叫写喊她他]{1,30}?)[，,]?(?P<all>(?:都|全部|全|统统)?)(?:就|可以)?"
    r"(?P<verb>(?:不要|别|不用|不必)再(?:记住|记得|记|保存|储存|存储|保留|留)[着下]?)$"
)
"""What is not to be kept any longer: "我的过敏信息不用再记了"."""
_OWN_ASKED = re.compile(
    r"(?<=[掉记除去了删])我[^，,。？?]{0,6}(?:叫什么(?:名字)?|住在?哪[里儿]?|是谁|做什么工作|多大|几岁)[的了吧啦。！!~～]*$"
)
"""A fact named by its question: "忘掉我叫什么"."""
_FRONTED = re.compile(rf"(?P<all>(?>(?:全部|全都|全|统统|都)+)){_VERB}(?:掉)?$")
_CLOSE = re.compile(r"(?:吧|啊|呀|哦|喔|啦|嘛|好吗|好不好|可以吗|行吗|行不行|谢谢你?|拜托了?|吗|了)$")
_TAIL = re.compile(
    r"[，,](?:谢谢(?:你|您)?|拜托了?|好吗|好不好|可以吗|行吗|麻烦了?|辛苦了|再见|我[^，,]{0,20}|因为.{0,30}|不要.{0,10})$"
)
_NONE = re.compile(
    r"如果|要是|假如|(?<![说过讲])的话|怎么|怎样|什么|为何|如何|会不会|是否|是不是|谁|哪|[说道写问喊][：:]|告诉[他她]|让[他她]"
)
_DEVICE = re.compile(
    r"手机(?!号)|电脑|文件|照片|硬盘|邮件|微信|相册|浏览器|账号|账户|数据库|表格|缓存|回收站|代码|文章"
)
_PIECES = re.compile(
    r"(?:我(?:之前|以前|刚才|曾经)?(?:[跟对和][你您])?所?(?:说|告诉|讲|提)[过了]?[你您]?[过了]?的?"
    r"|(?:关于|有关|跟|和|与)?我(?:自己|本人)?(?:有关|相关)?的?"
    r"|[你您]所?(?:知道|记得|记住|了解|保存|存储|掌握|记录|学到)[了过下]?的?"
    r"|(?P<all>所有|全部|一切|任何)的?|(?P<data>个人信息|个人资料|个人数据|信息|资料|数据|记忆)|事情|事|内容|东西|记录|话|的)"
)
_OWN = re.compile(r"(?:关于|有关)?(?:我|刚才我|之前我|以前我|刚刚我)")


def requested(sentence: str) -> str | None:
    """What a sentence asks to forget: `EVERYTHING`, the words for one fact, or None where it asks for nothing."""
    request = "".join(sentence.split())
    if _NONE.search(_OWN_ASKED.sub("我", request)):
        return None
    is_question = request.endswith(("？", "?", "吗"))
    request = request.rstrip("。！？!?；;.~～，,")
    for _ in range(_STEPS):
        shorter = _CLOSE.sub("", _TAIL.sub("", request))
        if shorter == request:
            break
        is_urged = request.endswith("吧")
        is_question = is_question or request.endswith("吗")
        request = shorter
        if is_urged:
            request += "吧"
            break
    is_urged, request = request.endswith("吧"), request.rstrip("吧")
    request, is_polite = _headed(request)
    if is_question and not is_polite:
        return None
    moved = _MOVED.match(request) or _TOPIC.fullmatch(request) or _NO_MORE.fullmatch(request)
    match = moved or _FIRST.match(request)
    if match is None:
        return EVERYTHING if _FRONTED.match(request) else None
    if match["verb"] == "忘了" and moved is None and not (is_polite or is_urged):
        return None  # as likely "I forgot"
    what = match["object"].strip("，,：:")
    if is_everything(what) or (moved is not None and moved["all"] and _consists_of_pieces(what)):
        return EVERYTHING
    return what if _OWN.match(what) and not _DEVICE.search(what) else None


def is_everything(what: str) -> bool:
    """Whether an object names all that is kept about the user."""
    bare = re.sub(r"(?:都|全部)$", "", "".join(what.split())) or "全部"
    if bare in ("我", "关于我"):
        return True
    return _consists_of_pieces(bare) and any(match["all"] or match["data"] for match in _PIECES.finditer(bare))


def _consists_of_pieces(what: str) -> bool:
    place = 0
    while place < len(what):
        piece = _PIECES.match(what, place)
        if piece is None or piece.end() == place:
            return False
        place = piece.end()
    return place > 0


def _headed(request: str) -> tuple[str, bool]:
    """The sentence without what comes before its verb, and whether that was polite."""
    is_polite = False
    for _ in range(_STEPS):
        lead = _LEAD_IN.match(request) or _MOTIVE.match(request)
        head = lead or _HEAD.match(request)
        if head is None or _FRONTED.match(request):
            break
        is_polite = is_polite or (lead is None and bool(head["polite"]))
        request = request[head.end() :]
    return request, is_polite
