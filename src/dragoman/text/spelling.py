"""How people type, in the spelling that the rules know: "wheres ur desk pls" is "where's your desk please"."""

from __future__ import annotations

from dragoman.core.caches import text_cache
from dragoman.text import lazy_re as re
from dragoman.text.patterns import words
from dragoman.text.typos import rank, untyped

_WORD = re.compile(r"[A-Za-z0-9'’]+")
_RELATIVE = (
    "mum|mom|mam|dad|mother|father|sister|brother|son|daughter|wife|husband|partner|girlfriend|boyfriend|nan|gran|grandma"
    "|grandad|grandpa|granny|uncle|aunt|cousin|niece|nephew|mate|friend|flatmate|boy|girl|kid|dog|cat|baby|rabbit|bunny|hamster|budgie|parrot|bird"
    "|horse|pony|ferret|tortoise|puppy|pup|kitten"
)
_AFTER_RELATIVE = (
    r"called|named|name|birthday|age|\d{1,3}|not|allergic|in|from|got|a|an|only|due|had|been|having|limping|off|on|ill|poorly|right"
    r"|(?:[a-z]++ ){1,2}(?:is|has|needs|can|will|does|was|wants)"
)
_BEFORE_DAY = r"\b(on|by|or|this|next|until|from) "
_AFTER_DAY = r"(?=[.,;:!?]|$| (?:and|or|at|morning|afternoon|evening|night|then|please)\b)"
_FOR = re.compile(
    r"\b4(?= (?:a |the |my |our )?(?:kids?|child\w*|adults?|seniors?|students?|members?|me|us|you|dogs?)\b)",
    re.IGNORECASE,
)
_OF_STATES = ("ian", "ist", "ic", "iac", "ed", "ing", "free", "ish", "ese", "al", "ive", "ous", "ful", "less", "n't")
"""How words end that say what somebody is: "I'm pescetarian"."""
_RARE_NAME, _RARE_ALONE = 3_000, 40_000
"""From which place in the list of words on a word may be a name, behind "called" and behind "I'm"."""
_COUNTED = (
    r"jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?|years?|months?|weeks?|days?|nights?|hours?|minutes?|people|persons?|times|tickets"
)
"""What a 4 before it counts or dates: "my birthday is 4 July", "I stay 4 nights"."""
_FOR_SOMEBODY = re.compile(rf"(?<=[a-z] )4(?= (?!(?:{_COUNTED})\b)[a-z]{{3,}}\W*$)", re.IGNORECASE)
_TO = re.compile(r"(?:(?<=\bwant )|(?<=\bgoing )|(?<=\bneed ))2(?= [a-z]{3,}\b)", re.IGNORECASE)
_LEFT_OUT = tuple(
    (re.compile(pattern, re.IGNORECASE), instead)
    for pattern, instead in (
        (r"^((?:so |and )?)an (?=(?:wh[a-z]+|how|can|is|are|do|does|will|if)\b)", r"\1and "),
        (
            r"(?<![\w'’])(?<!give )(?<!tell )(?<!show )(?<!cost )(?<!send )(?<!let )(?<!get )"
            rf"me (?=(?:{_RELATIVE})(?:s|['’]s)?\b)",
            "my ",
        ),
        (r"\bat yours\b", "at your place"),
        (r"(?:^|(?<=[.!,] ))(?:my )?names (?=[a-z]+\b(?! (?:is|are|of|and)\b))", "my name's "),
        (r"(?<=\bhas )bin\b|(?<=\bhave )bin\b|(?<='ve )bin\b|(?<='s )bin\b", "been"),
        (r"^witch(?= (?:of|one|ones|day|days|is)\b)", "which"),
        (r"(?<![\w'’])(?-i:an) (?=(?-i:[b-df-gj-np-tv-z][a-z]+)\b)", "and "),
        (
            r"(?<![\w'’])(?-i:an) (?=(?:i|i'm|i've|i'd|it|it's|is|if|he|he's|she|she's|his|her|in|on|at|our|we|you|all"
            r"|a|how|who|what|what's|when|where|also)\b)",
            "and ",
        ),
        (r"\bwith/o(?= )", "without"),
        (r"\bwith/ ?(?=[a-z])", "with "),
        (
            r"(?<![\w'’])ill(?= (?:be|have|come|go|bring|get|need|want|take|stay|arrive|pay|send|try|do|see|ask)\b)",
            "I'll",
        ),
        (r"(?<![\w'’])id(?= (?:like|love|rather|prefer|want|need)\b)", "I'd"),
        (
            r"(?:(?<![^.!,;] )(?<![^ ])|(?<=^so )|(?<=^and )|(?<=^but ))"
            r"were(?= (?:an?|\d+|two|three|four|five|six|in|on|from|both|coming|staying|not)\b)",
            "we're",
        ),
        (
            r"^((?:and |but |so )?)((?:he|she|it|my [a-z]+(?: [a-z]+)?) (?:allowed|permitted|welcome|ok)\b[^?]*\?)$",
            r"\1is \2",
        ),
        (r"^((?:and |but |so )?)((?:he|she|it) (?:allowed|alright|all right|ok|okay|fine|safe) to\b)", r"\1is \2"),
        (r"\b(room|plot|flat|phone|house|door|member) no(?=\W*$)", r"\1 number"),
        (rf"\b((?:my|our) (?:{_RELATIVE}))s(?= (?:{_AFTER_RELATIVE})\b)", r"\1's"),
        (r"\b((?:my|our) [a-z]{3,}?)s(?= (?:called|named) [\w'’-]+(?:[.!?,]|$| but))", r"\1's"),
        (rf"{_BEFORE_DAY}sat(?={_AFTER_DAY})", r"\1 Saturday"),
        (rf"{_BEFORE_DAY}sun(?={_AFTER_DAY})", r"\1 Sunday"),
        (rf"{_BEFORE_DAY}mon(?={_AFTER_DAY})", r"\1 Monday"),
    )
)
"""Missing apostrophes that the next word gives away: "my dads 71" is "my dad's 71"."""
_NAMED = re.compile(r"\b(?P<before>called |named |'s name is |I'm )(?P<name>[a-z][\w'’-]+)(?=(?P<end>[,.!?;]|$)?)")
"""A name without its capital, perhaps: "my dog is called rex", "I'm tariq, ..."."""
_FINAL_ASKING = re.compile(r"(?<=[\u4e00-\u9fff])(?:不|(?<!还)没|(?<![什怎那这多要])么)(?=[啊呀哈]?[？?。!！]*$)")
"""Ends a Chinese question as 吗 does: "能进不", "有优惠没", "要押金么"."""


@text_cache(maxsize=4096)
def spelt(text: str) -> str:
    """The text with chat spellings written out; words that are none of them stay as they are."""
    spellings = words("spelling")
    plain = _FOR_SOMEBODY.sub("for", _FOR.sub("for", text)) if "4" in text else text
    plain = _TO.sub("to", plain) if "2" in plain else plain
    if not spellings.keys().isdisjoint(map(str.lower, _WORD.findall(plain))):  # most texts have no such word
        plain = _WORD.sub(lambda word: _corrected(word[0], spellings), plain)
    plain = untyped(_NAMED.sub(_capital, plain))
    for pattern, instead in _LEFT_OUT:
        plain = pattern.sub(instead, plain)
    for said, meant in words("sayings").items():
        plain = plain.replace(said, meant)
    return plain if plain.isascii() else _FINAL_ASKING.sub("吗", plain)


def _capital(match: re.Match[str]) -> str:
    """A word as a name, unless it is a common word: "called off", "I'm vegan"."""
    name, alone = match["name"], match["before"] == "I'm "
    if alone and (match["end"] is None or "-" in name or name.endswith(_OF_STATES)):
        return match[0]
    place = rank(name)
    if place is not None and place < (_RARE_ALONE if alone else _RARE_NAME):
        return match[0]
    return match["before"] + name.capitalize()


def _corrected(word: str, corrections: dict[str, str]) -> str:
    if len(word) == 1 and word.isupper():  # an initial
        return word
    corrected = corrections.get(word.lower(), word)
    return corrected[0].upper() + corrected[1:] if word[0].isupper() and corrected else corrected
