# ruff: noqa: E501  # a pattern is easier to check in one piece
"""Words that people put around what they say, and that belong to no value: "by the way", "actually", "sorry"."""

from __future__ import annotations

from dragoman.memory.patterns import VERBS
from dragoman.text import lazy_re as re

_ASIDE = (
    r"by the way|btw|to be (?:perfectly |quite |completely |totally )?(?:honest|fair|frank|clear|precise|exact)|tbh|if i'?m honest"
    r"|as (?:you|we) know|as it happens|as a matter of fact|in fact|mind you|so to speak|i must (?:say|admit|confess)"
    r"|i have to (?:say|admit)|believe it or not|for what it'?s worth|if (?:that|it) (?:matters|helps|makes a difference)"
    r"|in case (?:that|it) (?:matters|helps)|just so you know|for your information|fyi|for the record|if you must know"
    r"|needless to say|you see|i'?m afraid|i am afraid|as i said|like i said|bless (?:her|him|them)"
)
# Adverbs that say nothing of what is stated, wherever they stand.
_ADVERB = r"actually|basically|literally|honestly|obviously|frankly|technically|essentially|apparently|admittedly"
_FILLED = tuple(
    (re.compile(pattern, re.IGNORECASE), instead)
    for pattern, instead in (
        (r",\s?(?:you know|like|well|i mean|um+|uh+|er+m?|hm+)(?:,|(?=\s(?:and|but)\b)|\s*$)", ""),
        (r"(?:^|\s)(?:um+|uh+|erm+|hm+),?(?=\s|$)", " "),
        (rf"(?<=\w),\s(?:{_ADVERB})(?:,|\s*$)", ""),
        (rf"(?<=\w)\s(?:{_ADVERB})(?=[\s,.;:!?]|$)", ""),
        (r"\b(?:so|about|is|was|are|am) like (?=(?:\d|under|over|about|around|really|super|totally|so)\b)", "so "),
        (r"(?<=\w)\s(?:af|lol|lmao|haha+|rofl|tho)(?=[\s,.;:!?]|$)", ""),
        (r"\b(i|we|he|she|they) just (?=(?:do|does|can|could|love|like|hate|need|have|am|are|is|don't|can't|cannot)\b)", r"\1 "),
        # "I also have a pass" and "I still have it, too" say no more than "I have a pass"
        (r"(?<=\w)(?<!\bbut)\s(?:also|as well(?! as\b)|too(?=\s?(?:[,.;!?]|and\b|$)))(?=[\s,.;:!?]|$)", ""),
        (r"(?<=\w)\sstill (?=(?:can|cannot|can['’]t|does|doesn['’]t|do|don['’]t|has|have|haven['’]t|hasn['’]t|am|is|are|isn['’]t|live|work|need|use|study|own)s?\b)", " "),
        (r"(?<!\bcan )(?<!\bdo )(?<!\bmay )(?<!could )(?<!\bam )(?<!\bis )(?<!\bare )(?<!does )(?<!should )\b(i|we|he|she|they|it|i['’]m|we['’]re|am|are|is|do|does) (?:still|already) (?!not\b)(?=[a-z])", r"\1 "),
        (r",\s(?:sorry|though|mate|dear|love|thanks|thank you|cheers|please|ok|okay|right|yeah|no|really)\s*$", ""),
        (r"(?<=[a-z\d])\s(?:though|btw|too though)\s*$", ""),
    )
)  # fmt: skip
_ASIDES = re.compile(
    rf"(?P<before>(?:^|,)?\s?)(?<!\w)(?:{_ASIDE})(?=$|[\s,.;:!?–-])(?! (?:of|that|to|about)\b)(?P<after>,?)(?P<clause>\s+"
    r"(?:and|but|so|i|i'?m|i'?ve|we|my|our|he|she|it|they|can|could|is|are|do|does|may|what|when|where|how|which|will)\b)?",
    re.IGNORECASE,
)
_LEFT = re.compile(r"\s{2,}|\s+(?=[,.;:!?])|^[\s,]+|(?<=,)\s*,")
_CONTRAST = re.compile(
    r"(?<=[\w)])(?<!'m)(?<!'s)(?<!'re)(?<!\bam)(?<!\bis)(?<!\bare)(?<!\bdo)(?<!\bdoes)(?<!\bcan),? (?:and )?not (?:(?:in|at|to|from|on|with|an?) )?(?:[A-ZÀ-Þ][\w'’-]*|\d[\d.,]*(?: [a-z]{1,7})?(?: old)?|(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)(?: [a-z]{1,7})?(?: old)?)(?: [A-ZÀ-Þ][\w'’-]*)?"
    r"(?: any ?more| any longer)?$"
)
"""Ends a correction: "Biel, not Basel"."""


# A clause that begins behind another without any mark: "got a boyfriend hes 19", "im lena im 17".
_RUN_ON = re.compile(
    r"(?<=[a-z\d]) (?=(?:he'?s|she'?s|i'?m|they'?re) (?:an?|the|my|in|on|at|from|not|only|just|so|also|\d+|[a-z]{4,})\b)",
    re.IGNORECASE,
)
_JOINS = frozenset(
    "and n but or so because cos coz cause since as if when where whenever wherever that which who whom while though although "
    "think know hope say said says guess believe feel sure afraid glad sorry what how why than then before after until till "
    "unless whether like wish bet mean suppose tell told maybe perhaps now today plus with even only also well yes no not is "
    "are was am everywhere anywhere everything anything all ok okay fact given hi hello hey".split()
)
_SUBORDINATE = frozenset(
    "if unless when whenever since because while although though whether after before until once as".split()
)
_DETERMINERS = frozenset("a an the this that these those any every each some no your which what".split())


_ORDER = re.compile(
    r"(?:,\s(?:(?:so|and|but|then),? )?|\s(?:so|and|but|then),? )(?:(?:please|kindly)\s(?!note|remember|bear|keep)(?=[a-z])"
    r"|(?:tell|show|give|suggest|recommend|find|forget|delete|remove|erase|remind|help|book|order)"
    r" (?:me|us|the|my|our|an?|some|something|anything|another|that|this|it)\b)",
    re.IGNORECASE,
)


def sentences_of(sentence: str) -> list[str]:
    """The sentences of a text that runs on without full stops; the text itself where it does not."""
    parts: list[str] = []
    start = 0
    if sentence.split(" ", 1)[0].lower() in _SUBORDINATE:  # "if that fails I'm leaving"
        return [sentence]
    for cut in _RUN_ON.finditer(sentence):
        before = sentence[start : cut.start()].lower().replace(",", " ,").split()
        is_place = sentence[cut.end()] in "iI" and bool(_DETERMINERS & set(before[-3:]))  # "the room I'm in"
        if len(before) > 1 and before[-1] not in _JOINS and not is_place:
            parts.append(sentence[start : cut.start()])
            start = cut.end()
    return [*parts, sentence[start:]]


def without_order(sentence: str) -> str:
    """What a sentence says before it asks the agent for something: "I'm vegan, please recommend a soup"."""
    order = _ORDER.search(sentence)
    return sentence[: order.start()] if order and order.start() else sentence


def without_asides(sentence: str) -> str:
    """A sentence without discourse words: "I have epilepsy by the way" is "I have epilepsy"."""
    text = _ASIDES.sub(_gap, sentence)
    for pattern, instead in _FILLED:
        text = pattern.sub(instead, text)
    if text == sentence:
        return sentence
    text = _LEFT.sub(lambda gap: " " if gap[0].isspace() and gap.start() and gap.end() < len(text) else "", text)
    return text.strip()


_CLEFT = re.compile(
    r"(?:(?:no|sorry|wait)[,.]? )?(?:it is|it was|it's) (?P<who>[A-ZÀ-Þ][\w'’-]+|my [a-z]+) (?:who|that) (?P<verb>is|has|can|\w+s) (?P<rest>.+?)"
    r"(?:,? (?:and )?not (?P<other>[A-ZÀ-Þ][\w'’-]+|my [a-z]+))?$"
)


def uncleft(sentence: str) -> str:
    """A sentence rewritten with its person as the subject: "it is Zara who has asthma, not Noor" is "Zara has asthma, Noor does not have asthma"."""
    match = _CLEFT.fullmatch(sentence)
    if match is None:
        return sentence
    who, verb, rest, other = match["who"], match["verb"], match["rest"], match["other"]
    if other is None:
        return f"{who} {verb} {rest}"
    base = {"is": "is not", "can": "can not", "has": "does not have"}.get(
        verb, f"does not {VERBS.get(verb, verb.removesuffix('s'))}"
    )
    return f"{who} {verb} {rest}, {other} {base} {rest}"


def _gap(aside: re.Match[str]) -> str:
    """What an aside leaves between the words around it: a comma where another clause begins."""
    if aside["clause"] and aside.start() and (aside["after"] or "," in aside["before"]):
        return f",{aside['clause']}"
    if aside["after"] and aside["before"].isspace():  # "I'm a member btw, have been for years"
        return ","
    return f" {(aside['clause'] or '').strip()}"


def without_contrast(sentence: str) -> str:
    """A sentence without the value that it takes back: "She lives in Biel, not Basel" is "She lives in Biel"."""
    return _CONTRAST.sub("", sentence)
