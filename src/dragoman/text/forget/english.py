"""English forget requests, sentence by sentence: lead-in, head, verb, object, close."""

from __future__ import annotations

from dragoman.text import lazy_re as re
from dragoman.text.spelling import spelt

EVERYTHING = "everything"
_STEPS = 8
"""Lead-ins, closes and qualifiers that are taken off at most."""

# Words that a request turns on, for typos; forms that mean something else are not taken for them.
_KEYWORDS = ("forget", "delete", "erase", "remove", "everything", "please", "could", "would", "about", "information")
_OTHER_WORDS = frozenset(
    "forgot forgets forged forge deleted deletes deleter erased erases eraser removed removes remover pleased pleases "
    "abort above cloud wood world mould could would about around reuse tease lease crease phase elite".split()
)
_WORD = re.compile(r"[A-Za-z]{5,12}")

_LEAD_IN = re.compile(
    r"(?:(?:hi|hello|hey|hiya|yo|good (?:morning|afternoon|evening|day)|dear)"
    r"(?: (?:there|again|robot|bot|assistant|friend|all|(?-i:[A-Z])\w+))?"
    r"|ok(?:ay)?|alright|all right|right|well|so|now|and|also|then|but|oh|ah|hm+|um+|actually|please|kindly"
    r"|just|sorry"
    r"|excuse me|(?:thanks|thank you)(?: a lot| for [\w' ]{2,30}(?=,))?|yes|yeah|yep|no|nope|sure"
    r"|fine|look|listen|btw|by the way|on second thoughts?|never ?mind|anyway|finally|one (?:more|last) thing"
    r"|go ahead(?: and)?|do|i beg you|i mean it|seriously|if you (?:can|could|please|would|don'?t mind)|next|first"
    r"|immediately|at once|right now|quickly|cool|great|perfect|good)(?:\s*[,!:;–—-]+\s*|\s+)",
    re.IGNORECASE,
)
_MOTIVE = re.compile(
    r"(?:i|i['’](?:m|ve|d)|we|we['’]ve|my \w++)\b(?![^,]{0,60}\b(?:said|says|told|asked|asks|wrote|wants?|thinks?)\b)"
    r"[^,.;:]{1,60}, (?:(?:and )?so (?=(?:please|kindly|just|now|can|could|would|forget|delete|erase|remove"
    r"|you (?:can|may))\b)"
    r"|(?=(?:please|kindly) (?:forget|delete|erase|remove|wipe|drop)\b))",
    re.IGNORECASE,
)
"""The user's own reason in front of a request: "I moved, so please delete my old address"."""
_NAME = re.compile(r"(?P<name>[A-Z]\w+),\s+")
_PEOPLE = frozenset(
    "mum mom mommy mummy dad daddy mama papa kids children guys folks everyone everybody people honey darling "
    "sweetheart grandma grandpa boss sir madam doctor ladies gentlemen students team class".split()
)
_ADVERBS = r"(?>(?:(?:please|kindly|just|now|also|maybe|possibly|perhaps|simply|quickly|immediately|completely) )?)"
_VERB = (
    r"(?P<verb>forget|delete|erase|remove|wipe(?: out)?|clear(?: out)?|purge|unlearn|discard|scrap|scrub|drop"
    r"|get rid of"
    r"|(?:stop|quit) (?:remembering|storing|memori[sz]ing))"
    r"(?>(?: (?:please|now))?)"
)
_WANT = (
    r"i(?:(?:'d|’d| would) (?:really )?(?:like|love|prefer)| (?:really )?(?:want|need|ask|order|command|beg)"
    r"|(?:'m|’m| am) asking)"
)
_POLITE = re.compile(
    rf"(?:(?:can|could|would|will) you {_ADVERBS}{_ADVERBS}|{_WANT} you (?:please )?to {_ADVERBS}"
    rf"|make sure (?:that )?you ){_VERB}\b",
    re.IGNORECASE,
)
_WELCOME = re.compile(
    r"(?:(?:i(?:['’]d| would) (?:really |very much )?(?:appreciate it|be (?:very |really )?(?:grateful|glad|happy)"
    r"|like it|prefer it)|it(?:['’]d| would) be (?:great|good|nice|best|better|kind)) if you "
    r"|i(?:['’]d| would) (?:much )?rather you )"
    rf"(?:(?:can|could|would|will) {_ADVERBS}{_VERB}|(?P<past>forgot|deleted|erased|removed|wiped|cleared))\b",
    re.IGNORECASE,
)
_MEMORY = r"(?:memory|memories|mind|records?|notes?|database|system|storage)"
_NAMED = r"(?-i:[A-ZÀ-Þ])[\w'’-]{1,30}(?: (?-i:[A-ZÀ-Þ])[\w'’-]{1,30})?"
_TAKEN_OUT = re.compile(
    rf"(?:(?:can|could|would|will) you |{_WANT} you (?:please )?to )?{_ADVERBS}"
    rf"(?:take (?P<object>(?:my|our) .{{1,80}}?) (?:out of|from) (?:your |the ){_MEMORY}"
    rf"|(?:take|cross|strike|strip|scratch|cut|pull|rub) (?:out |off )?(?P<entry>(?:my|our) .{{1,80}}?|{_NAMED})"
    rf" (?:out of|from|off(?: of)?) your (?:{_MEMORY}|lists?|files?|books?))(?:,? (?:please|thanks|thank you|now))?$",
    re.IGNORECASE,
)
"""Takes something out of what the agent keeps: "Strike my son's name from your records"."""
_NAMED_IN_MEMORY = re.compile(
    rf"(?P<name>{_NAMED}) (?:from|out of) your {_MEMORY}(?:,? (?:please|thanks|thank you|now|for good))*$",
    re.IGNORECASE,
)
_TOGETHER = re.compile(rf"let['’]?s {_ADVERBS}{_VERB}\b", re.IGNORECASE)
_MIND = re.compile(
    r"(?:would|do) you mind (?P<verb>forgetting|deleting|erasing|removing|wiping|clearing)\b", re.IGNORECASE
)
_PERMISSIVE = re.compile(rf"you (?:can|may|should|must|have to|need to) {_ADVERBS}{_VERB}\b", re.IGNORECASE)
_PASSIVE = re.compile(
    rf"{_WANT} (?P<object>.+?)(?: to be)? (?:completely )?(?P<verb>deleted|erased|forgotten|removed|wiped|gone)"
    rf"(?: (?:please|now|at once|immediately|right now|for good))?$",
    re.IGNORECASE,
)
_NO_LONGER = re.compile(
    r"(?:do not|don['’]?t|no longer"
    r"|i(?:['’]d| would) (?:much )?(?:rather|prefer (?:it )?if) you (?:did not|didn['’]?t)) "
    r"(?:(?P<verb>remember|store|save|memori[sz]e) (?P<object>.{1,200}?) (?:any ?more|any longer)"
    r"|(?:keep|retain|store|save|hold on to) (?P<datum>(?:my|our) (?:[\w'’-]+ ){0,3}"
    r"(?:names?|address(?:es)?|numbers?|birthday|birth|age|salary|income|diagnosis|illness|weight|height|religion"
    r"|allerg(?:y|ies)|medications?|details|data|information|secrets?))"
    r"(?: on (?:file|record))?(?: any ?more| any longer)?)$",
    re.IGNORECASE,
)
_BARE = re.compile(rf"{_ADVERBS}{_VERB}\b", re.IGNORECASE)

_CLOSE = re.compile(
    r"(?<![\s,])[\s,]++(?:please|thanks(?: a lot)?|thank you(?: very much)?|now|right now|right away|straight away"
    r"|immediately|at once|asap|again|for me|for good|forever|permanently|completely|entirely|too|as well|ok(?:ay)?"
    r"|will you|would you|can you|could you|today|then|already|i beg you|i mean it|goodbye|bye"
    r"|and start (?:over|again|afresh)|and start from scratch"
    r"|if you (?:can|could|please|would|don'?t mind|still have it)"
    r"|(?:from|in|out of) (?:your |the )?(?:memory|memories|mind|records?|notes?|database|system|storage))$",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"(?<!\s)(?:\s*+[,;–—]\s*+|\s++-++\s++|\s++(?=because\b|since i\b|as i\b))"
    r"(?:(?:i|i['’](?:m|ve|d|ll)|it|it['’]s|that['’]?s|this|you|your|we|because|since|as|so|thanks|thank|please"
    r"|ok|okay"
    r"|and i|or else|no|don['’]?t|my)\b.{0,120})$",
    re.IGNORECASE,
)
_REPORT = re.compile(
    r"\b(?:said|says|told|whispered|shouted|replied|thought|wrote|cried|answered|murmured|muttered"
    r"|asked)\b(?! you\b)",
    re.IGNORECASE,
)

_BASE = re.compile(
    r"(?:(?:absolutely|simply|literally) )?(?:(?P<open>what(?:ever)?(?= you)|anything|all that|all the things"
    r"|(?:all )?(?:of )?the (?:data|facts?|information|info|things|stuff|details))"
    r"|(?:everything|all of (?:it|that|this)|it all|all data|all facts|the (?:whole )?lot"
    r"|every(?: single)? (?:thing|fact|detail)|(?:all (?:of )?)?your (?:entire |whole )?memor(?:y|ies)|all))(?=\s|$)",
    re.IGNORECASE,
)
_OWN_DATA = re.compile(
    r"(?:about )?(?:me(?: completely)?|(?:all |all of |every bit of )?my "
    r"(?:(?:personal|private|stored|saved|own|entire) )?(?:data|information|info|memory|memories|facts|details"
    r"|records?|profile))$",
    re.IGNORECASE,
)
_SAID = (
    r"(?:that )?(?:i|we)(?:'ve|’ve| have|'d|’d| had)?(?: (?:ever|just|already))? (?:said|told(?: you)?|shared"
    r"|mentioned"
    r"|wrote|typed|written|discussed|talked about|taught you|gave you|given you|sent you|entered)(?: to you"
    r"| with you| here)?"
)
_KNOWN = (
    r"(?:that )?you(?:'ve|’ve)?(?: (?:still|currently|already|ever|might|may|have))? (?:know|have|hold|store|stored"
    r"|remember|remembered|keep|kept|save|saved|learn|learned|learnt|noted|collected|got|wrote down"
    r"|written down)(?: on file)?"
)
_QUALIFIER = re.compile(
    rf"\s+(?:{_SAID}|{_KNOWN}|(?:about|on|of|from|regarding|concerning|related to) (?:me|myself)"
    r"|so far|until now|up to now|today|yesterday|before|here|in this chat|in (?:our|my) chats?|to date)(?=\s|$)",
    re.IGNORECASE,
)
_WRAPPER = re.compile(
    r"(?:about|that|the fact that|the (?:part|bit|thing) (?:about|that|where)"
    r"|(?:all|everything|anything) (?:you know )?about|what you know about)\s+",
    re.IGNORECASE,
)
_TOLD_ABOUT = re.compile(rf"(?:what|everything|all|anything|the things|that) {_SAID} (?:about|of) ", re.IGNORECASE)
_CLAUSE = re.compile(
    r"(?:i|i['’](?:m|ve|d|ll)|we|we['’](?:re|ve))\s|(?:what|where|who|when|how|which|whether|why|if)\s(?:\w+\s){0,2}"
    r"(?:i|i['’]m|my|we|our)\b",
    re.IGNORECASE,
)
_NOUN = re.compile(r"(?:my|our)\s+\S", re.IGNORECASE)
_ATTRIBUTE = (
    r"(?:ages?|(?:first |last |full )?names?|birthdays?|date of birth|address(?:es)?|jobs?|professions?|diets?"
    r"|allerg(?:y|ies)|illness(?:es)?|conditions?|schools?|(?:phone )?numbers?|e-?mails?|weights?|heights?"
    r"|hobb(?:y|ies)|nationality|religion|wheelchair|diagnosis)"
)
_THEIRS = re.compile(rf"(?-i:[A-ZÀ-Þ])[\w-]+['’]s? {_ATTRIBUTE}", re.IGNORECASE)
_THEIR_CLAUSE = re.compile(
    r"(?:how (?:old|tall|heavy)|where|who|what|when) (?-i:[A-ZÀ-Þ])[\w-]+ "
    r"(?:is|was|lives?|works?|likes?|hates?|eats?|does|has|had|needs?)(?: (?:born|from|allergic to))?",
    re.IGNORECASE,
)
"""What is known of somebody by name: "Karl's age", "where Ida lives"."""
_ASIDE = re.compile(
    r"\s*(?:he|she|they|it|i|we|you|who|which|that|this|there|but|my|our|his|her|their|its|not|no|nor|or"
    r"|and (?:my|our|i|that)|please|too|also|either|as|because|since|thanks|thank)(?:\b|['’])"
    r"(?![^,]{0,80}\b(?:said|says|told|wrote|shouted)\b)",
    re.IGNORECASE,
)
"""What may follow the words for a fact: the reason, another fact, politeness."""
_APPOSITION = re.compile(r"\s*[A-Z][\w'’-]{1,30}(?: [A-Z][\w'’-]{1,30})?[\s.!]*")
_IDIOM = re.compile(r"i (?:asked|said (?:that|anything|it|so|something)|mentioned it|exist(?:ed)?)$", re.IGNORECASE)
_POINTER = re.compile(r"(?:about )?(?:it|that|this|him|her|them|us|that one|this one)$", re.IGNORECASE)
_DEVICE = re.compile(
    r"\b(?:photos?|pictures?|files?|folders?|e?mails?|accounts?|history|apps?|cache|cookies?|inbox|posts?"
    r"|tweets?|code"
    r"|lines?|columns?|rows?|tables?|comments?|drafts?|phone|laptop|computer|browser|disk|drive|essay"
    r"|schedule|calendar|orders?|bookings?|reservations?|appointments?|subscriptions?|baskets?|carts?|alarms?"
    r"|reminders?|playlists?|lists?)\b(?! number)",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(r"\s(?:from|off|with|by|using|on (?:the|my)|in (?:the|my|this))\s", re.IGNORECASE)
_IN_MEMORY = re.compile(
    r"\b(?:from|in|out of) (?:your |the )?(?:memory|memories|mind|records?|notes?|database|system|storage)\b",
    re.IGNORECASE,
)
_OF_THINGS = frozenset(("clear", "clear out", "wipe", "wipe out", "scrap", "scrub", "drop", "discard"))
"""Verbs that mean a fact only where memory is named: "Clear my throat", "Drop my bag at the desk"."""
_BEHAVIOUR = re.compile(
    r"\b(?:remarks?|jokes?|outbursts?|rudeness|tone|manners|mistakes?|typos?|rants?|feelings|worries|doubts|troubles"
    r"|sorrows|complaints?|jealousy|anger)\b",
    re.IGNORECASE,
)
"""What is overlooked rather than kept: "Forget my brother's rude remark"."""
_LATER = re.compile(r"\b(?:after|before|once|until|when|while)\b", re.IGNORECASE)
_CONDITION = re.compile(r"\b(?:if|unless|whenever|only when)\b", re.IGNORECASE)


def requested(sentence: str) -> str | None:
    """What a sentence asks to forget: `EVERYTHING`, the words for one fact, or None where it asks for nothing."""
    is_question = "?" in sentence
    wording = spelt(" ".join(_spelled(sentence).split()).rstrip(" .!?;"))
    wording, name = _led_in(wording)
    if name.lower() in _PEOPLE:
        return None
    asked = _PASSIVE.match(wording) or _NO_LONGER.match(_closed(wording)) or _TAKEN_OUT.match(wording)
    if asked is not None:
        groups = asked.groupdict()
        entry = f"{groups['entry']} from your memory" if groups.get("entry") else None
        is_polite, rest, verb = True, groups.get("datum") or entry or asked["object"], "forget"
    elif (asked := _WELCOME.match(wording)) is not None:
        is_polite, rest, verb = True, wording[asked.end() :].strip(" ,:"), asked["verb"] or asked["past"]
    else:
        asked = _POLITE.match(wording) or _MIND.match(wording)
        if asked is None and _IN_MEMORY.search(wording):
            asked = _TOGETHER.match(wording)
        is_polite = asked is not None
        is_permissive = asked is None and (asked := _PERMISSIVE.match(wording)) is not None
        asked = asked or _BARE.match(wording)
        if asked is None:
            return None
        verb = "forget" if asked["verb"].lower().startswith(("stop", "quit")) else asked["verb"]
        rest = wording[asked.end() :].strip(" ,:")
        if is_permissive and not re.search(r"\b(?:my|me|i)\b", rest, re.IGNORECASE):
            return None
    if is_question and not is_polite and not re.search(r"\bplease\b", sentence, re.IGNORECASE):
        return None
    what = _object(rest, verb.lower())
    if (
        what == EVERYTHING
        and (name or verb.lower() in ("drop", "scrap"))
        and not re.search(r"\b(?:my|me|i)\b", rest, re.IGNORECASE)
    ):
        return None  # more likely a scene with somebody of that name, or "Drop everything!"
    return what


def is_everything(what: str) -> bool:
    """Whether an object names all that is kept about the user."""
    bare = " ".join(_spelled(what).split())
    if _OWN_DATA.match(bare):
        return True
    base = _BASE.match(bare)
    if base is None:
        return False
    place, qualified = base.end(), False
    for _ in range(_STEPS):
        qualifier = _QUALIFIER.match(bare, place)
        if qualifier is None:
            break
        place, qualified = qualifier.end(), True
    return place == len(bare) and (qualified or base["open"] is None)


def _object(rest: str, verb: str) -> str | None:
    """What the words after the verb ask to forget."""
    bare = _closed(rest)
    whole = _closed(_REASON.sub("", bare))
    if not whole or _REPORT.search(bare[len(whole) :]):
        return None
    if is_everything(whole):
        return EVERYTHING
    if _POINTER.match(whole):  # "forget it" is an idiom
        return None if verb.startswith("forg") else whole
    if (named := _NAMED_IN_MEMORY.match(rest)) is not None:
        return named["name"]
    if verb in _OF_THINGS and not _IN_MEMORY.search(rest):
        return None
    return _fact(whole, forgets=verb.startswith("forg"))


def _fact(whole: str, *, forgets: bool) -> str | None:
    """The words for one fact, where they name something of the user's."""
    topic = _TOLD_ABOUT.match(whole)
    core = whole[topic.end() :] if topic else whole
    for _ in range(3):
        wrapper = _WRAPPER.match(core)
        if wrapper is None:
            break
        core = core[wrapper.end() :]
    if not core or _IDIOM.match(core) or _CONDITION.search(core) or _BEHAVIOUR.search(core):
        return None
    if topic or _CLAUSE.match(core) or _THEIR_CLAUSE.fullmatch(core) or _is_quotation(core):
        return core
    noun, _, aside = core.partition(",")
    if aside and not (_ASIDE.match(aside) or _APPOSITION.fullmatch(aside)):
        return (
            None  # a list of orders, or a remark: "Clear my throat, take a breath", "Forget my diet, tonight we feast"
        )
    is_elsewhere = not forgets and (_DEVICE.search(noun) or _ELSEWHERE.search(noun))
    is_known = _NOUN.match(noun) or _THEIRS.fullmatch(noun)
    return noun if is_known and not is_elsewhere and not _LATER.search(noun) else None


def _is_quotation(text: str) -> bool:
    return len(text) == 1 and 0xE000 <= ord(text) < 0xE100


def _led_in(said: str) -> tuple[str, str]:
    """The sentence without greetings and politeness before it, and the name that it calls somebody by."""
    name = ""
    for _ in range(_STEPS):
        if (lead := _LEAD_IN.match(said) or _MOTIVE.match(said)) is not None:
            said = said[lead.end() :]
        elif not name and (called := _NAME.match(said)) is not None:
            name, said = called["name"], said[called.end() :]
        else:
            break
    return said, name


def _closed(rest: str) -> str:
    """The object without politeness after it."""
    for _ in range(_STEPS):
        shorter = _CLOSE.sub("", rest).rstrip(" ,.!")
        if shorter == rest:
            break
        rest = shorter
    return rest


def _spelled(text: str) -> str:
    """The text with typos in the words that a request turns on set right."""
    return _WORD.sub(lambda word: _corrected(word[0]), text)


def _corrected(word: str) -> str:
    lowered = word.lower()
    if lowered in _OTHER_WORDS or lowered in _KEYWORDS:
        return word
    return next((known for known in _KEYWORDS if _is_typo(lowered, known)), word)


def _is_typo(word: str, known: str) -> bool:
    """Whether one letter is missing, added, wrong, or swapped with its neighbour; the first letter is right."""
    if word[0] != known[0] or abs(len(word) - len(known)) > 1:
        return False
    start = next((i for i, pair in enumerate(zip(word, known, strict=False)) if pair[0] != pair[1]), len(word))
    left, right = word[start:], known[start:]
    if len(left) == len(right):
        swapped = len(left) > 1 and left[:2] == right[1::-1] and left[2:] == right[2:]
        return swapped or left[1:] == right[1:]
    return left[1:] == right or left == right[1:]
