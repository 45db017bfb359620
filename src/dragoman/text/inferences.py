# ruff: noqa: E501  # a pattern is easier to check in one piece
"""Detect statements that ask for a yes or no: "So there's no charge for me.", "then I pay half", "I take it you deliver".

Such a statement opens with a word that draws a conclusion, or ends in one, and says what is allowed, due or so in
general. What users tell of themselves ("So I'm 72 now", "then we got a dog") stays a statement. English only.
"""

from __future__ import annotations

from dragoman.text import lazy_re as re

_LONGEST = 160
_PLAN = re.compile(
    r"(?:(?:and|but|also|so|oh|ok|well|then|hi|hello)\b,? ){0,2}(?:i|we)(?:['’](?:d|ll)| would| will| want| plan| hope| intend"
    r"|(?:['’]m|['’]re| am| are) (?:going|planning|hoping|thinking of|bringing|taking|coming with|travelling with))\b",
    re.IGNORECASE,
)
"""Opens a statement of what somebody is about to do: "We'd bring our dog."."""
_MARK = re.compile(
    r"\b(?:so|then|which case|means?|meaning|that case|if so|guess(?:ed)?|suppose|assumed?|presume|gather(?:ed)?|take it|understand|imagine|reckon"
    r"|thought|told|heard|presumably|surely|apparently|that would|it would|that will|it will|right|correct|or not|eh)\b|['’](?:d|ll)\b",
    re.IGNORECASE,
)
"""Words of which any conclusion has one: most sentences are told apart by them."""
_POLITE = r"(?:(?:ok(?:ay)?|right|ah+|oh|well|and|but|yes|hm+|great|good|fine|alright|all right|sorry|hi|hello)\b[\s,.!]{1,3}){0,3}"
_LOOSE = re.compile(
    rf"{_POLITE}(?:so(?: then| basically| really| actually| essentially)?|then|in which case)\b[\s,]{{1,3}}",
    re.IGNORECASE,
)
"""Openings of a conclusion, and of a story: what follows must be more than told."""
_STRICT = re.compile(
    rf"{_POLITE}(?:so |then |but ){{0,2}}(?:(?:that|which|this|it)(?: would| will|['’]d| should| must| has to)? means?|meaning"
    r"|(?:that|it)(?: would|['’]d| will|['’]ll) (?:make|be|cost)(?: it)?|in that case|if so|i (?:just )?(?:guess(?:ed)?|suppose|assumed?|presume|gather(?:ed)?|take it|understand|imagine|reckon"
    r"|thought|was told|heard)|presumably|surely|apparently)(?: that)?\b[\s,]{1,3}(?!so\b)",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"(?<!from)(?<!since)(?<!by)(?<!until)(?<!till)(?<!back)[\s,]{1,3}(?:then|i (?:guess|suppose|assume|presume|take it|imagine|hope)|presumably|surely)(?: then)?[\s.!]{0,3}$"
    r"|,\s(?:right|correct|or not|eh)[\s.!]{0,3}$",
    re.IGNORECASE,
)
_NO_MATTER = re.compile(
    r"(?:thank|thanks|many thanks|nice|good|great|long|far|sorry|be it|what|much|that['’]?s (?:me|all|it|that|fine|ok|okay|good|great|why|how"
    r"|clear|settled|nice|kind|a|right|true|not true|wrong)|that is (?:all|it|why|how|clear|good|fine|right|true|wrong)|(?:that|it|this) "
    r"(?:makes sense|sounds|helps|depends|means a lot)|no (?:thanks|thank|problem|worries|idea|matter|way|need to)|let|please|if|when|as"
    r"|there['’]?s (?:just |only )?(?:me|us)|there(?:['’]s| is| are| will be)(?: only| just| about)? [\w-]+ of us|you (?:know|see|said|told|think|mean|can call|should know|may call"
    r"|need to know|must know|are (?:so|very|really|right|wrong|great|kind|the)|['’]?re (?:so|very|really|right|wrong|great|kind|the)))\b",
    re.IGNORECASE,
)
_OWN = re.compile(
    r"(?:(?i:i|i['’](?:m|d|ve|ll)|we|we['’](?:re|d|ve|ll)|my|our|me|he|she|they|(?:he|she|they)['’]\w+|his|her|their|the (?:kids?|wife|husband"
    r"|hubby|missus|baby|twins|boys|girls|dogs?|cats?|children))\b|(?:both|one|all) of (?:us|my|our)\b|[A-ZÀ-Þ][\w’'-]*\b)"
)
"""What is said of oneself and one's own, by name too, may be told."""
_DUE = re.compile(
    r"\b(?:can(?:['’]t|not)?|could(?:n['’]t)?|may|must(?:n['’]t)?|needn['’]t|should(?:n['’]t)?|ought|won['’]t|(?:have|has|had|got|need|needs) to"
    r"|needs?|pays?|paying|costs?|charged?|fees?|entitled|eligible|covered|insured|allowed|permitted|supposed|exempt|included|excluded|required"
    r"|discounts?|reduc\w{2,6}|concession|half[- ]price|refund\w{0,3}|money back|gets? (?:in|another|less|money|the (?:same|reduced|full|cheaper|lower))|count(?:s|ed)? as|too (?:late|early|old|young|big|small|heavy|tall|short|long|high)"
    r"|free of charge|for free|in free|(?:travels?|goes|go|stays?|enters?|rides?|swims?|comes?|eats?|visits?) free|works? here|valid|accepted"
    r"|don['’]t need|doesn['’]t need|nothing|(?:wo|would)n['’]t)\b"
    r"|\b(?:would|['’]d|will|['’]ll) (?:be|have to|need|pay|get|cost|count)\b",
    re.IGNORECASE,
)
"""What is allowed, due or priced."""
_PRICED = re.compile(
    r"\b(?:free|included|open|closed|shut|available|enough|extra|fine|ok(?:ay)?|possible|necessary)\b|[€$£]\s?\d|\d ?(?:[€$£%]|(?:euros?|pounds?|francs?|dollars?|percent|cents|pence)\b)",
    re.IGNORECASE,
)
_CHARGED = re.compile(
    r"\b(?:no charge|charged?|pays?|half|discounts?|reduc\w{2,6}|refund\w{0,3}|free(?! on\b| to\b)|costs?|allowed|covered|eligible|entitled|included|exempt"
    r"|(?:i|we|he|she|they) (?:can|may|could)(?: not|['’]t)? (?:bring|come|enter|go in|get|use|have|join|take part))\b",
    re.IGNORECASE,
)
"""What a conclusion behind a statement is about: "I'm 70, so I pay half" asks, "so I need a lift" only tells."""
_WORLD = re.compile(
    r"(?:the|a|an|no|it|it['’]s|there|there['’]s|that|that['’]s|this|these|those|all|every|everyone|everybody|each|any|anyone|nobody|nothing|only"
    r"|both|under|over|you|your|you['’](?:re|ve|ll|d)|children|people|kids|[a-z-]{2,20}(?<!s)s)\b",
    re.IGNORECASE,
)
_VERB = re.compile(
    r"\b(?:is|are|isn['’]t|aren['’]t|do|does|don['’]t|doesn['’]t|has|have|will|\w{2,20}['’](?:s|re|ll)|[a-z]{2,20}(?<!s)s|(?:you|they|these|those|people"
    r"|children|\w{3,20}s) (?:\w{2,12}ly )?[a-z]{3,})\b",
    re.IGNORECASE,
)
_STORY = re.compile(
    r"\b(?:was|were|had(?! to)|did|told|said|went|got|came|took|gave|lost|broke|bought|left|met|saw|felt|fell|found|became|moved|(?<!is )(?<!are )(?<!['’]re )(?<!['’]s )(?<!be )(?<!not )(?<!\ba )(?<!\ban )(?<!the )(?<!\bno )(?<!ve )[a-z]{3,18}ed)\b",
    re.IGNORECASE,
)
_TOLD = re.compile(
    r"(?:i|we|i['’]d|we['’]d|i['’]ll|we['’]ll)(?: would| will)? (?:just |also |only |really )?(?:need (?:an?|my|our|some|two|three)|like|love|prefer|rather|choose|take|go|want|have (?:the|a)|come|ask|try|call|wait|stick)\b"
    r"|(?:i|we) (?:should|must|have to|need to) (?:say|add|mention|tell|admit|ask|note|go|leave|work|use)\b"
    r"|(?:i|we|he|she|they|my \w+) (?:can(?:['’]t|not)?|could(?:n['’]t)?)(?: \w+ly| not| only)? (?:hear|see|walk|sleep|speak|remember|smell|read|imagine|believe|wait|afford|swim|tell|say)\b",
    re.IGNORECASE,
)
"""Wishes, duties and abilities of one's own."""


_INNER = re.compile(
    r"(?:,|(?<!\s)\s[-–—]|;)\s(?:and |but )?(?=(?:so|then|in that case|that means|which means|meaning)\b)",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


def is_inference(text: str) -> bool:
    """Whether a sentence without a question mark draws a conclusion that wants a yes or no."""
    return _without_conclusion(text) != text.strip()


def without_conclusions(text: str) -> str:
    """A text without what its sentences conclude: "I'm 70." of "I'm 70, so I pay half." """
    if not (_MARK.search(text)):
        return text
    return " ".join(filter(None, map(_without_conclusion, _SENTENCE_END.split(text))))


def _without_conclusion(sentence: str) -> str:
    said = sentence.strip()
    if len(said) > _LONGEST or said.endswith("?") or not _MARK.search(said):
        return said
    for cut in _INNER.finditer(said):
        if _CHARGED.search(said, cut.end()) and _concludes(said[cut.end() :]):
            return f"{said[: cut.start()].rstrip(' .')}."
    return "" if _concludes(said) else said


def _concludes(said: str) -> bool:
    strict = _STRICT.match(said)
    opening = strict or _LOOSE.match(said)
    rest = said[opening.end() :] if opening else said
    closing = _CLOSING.search(rest)
    rest = (rest[: closing.start()] if closing else rest).rstrip(" .!")
    is_marked = opening is not None or closing is not None
    if not is_marked or len(rest.split()) < 2 or ":" in rest or _NO_MATTER.match(rest):
        return False
    past = strict is not None and re.search(r"thought|told|heard", strict[0], re.IGNORECASE)
    modal, story = _DUE.search(rest), _STORY.search(rest)
    if story and not past and (modal is None or story.start() < modal.start()):
        return False
    if _OWN.match(rest):
        return modal is not None and _TOLD.match(rest) is None
    is_world = _WORLD.match(rest) is not None and (_VERB.search(rest) or re.match(r"no [a-z]", rest, re.IGNORECASE))
    return bool(modal or _PRICED.search(rest) or is_world)


def tells_a_plan(text: str) -> bool:
    """Whether a statement says what somebody is about to do, for which the documents may have a rule."""
    return len(text) <= _LONGEST and _PLAN.match(text) is not None and not text.rstrip().endswith("?")
