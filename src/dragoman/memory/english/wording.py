# ruff: noqa: E501  # a pattern is easier to check in one piece
"""English as people type it, written out for the rules: contractions, slips of spelling, learners' grammar."""

from __future__ import annotations

from dragoman.core.caches import text_cache
from dragoman.memory.patterns import VERBS, words
from dragoman.memory.roles import is_occupation
from dragoman.text import lazy_re as re

_CONTRACTIONS = tuple(
    (re.compile(pattern, re.IGNORECASE), full)
    for pattern, full in (
        (r"’", "'"),
        (r"\b(?:i'm|im)\b", "I am"),
        (r"\bi'?ve\b", "I have"),
        (r"\bi'll\b", "I will"),
        (r"\bi'd\b", "I would"),
        (r"\b(we|they|you)'re\b", r"\1 are"),
        (r"\b(we|they|you)'ve\b", r"\1 have"),
        (r"\b(we|they|you|he|she|it|there)'ll\b", r"\1 will"),
        (r"\b(we|they|you|he|she|it)'d\b", r"\1 would"),
        (r"\b(?:can'?t|cannot)\b", "can not"),
        (r"\bwon'?t\b", "will not"),
        (r"\b(do|does|did|is|are|was|were|has|have|had|would|could|should|must|need)n'?t\b", r"\1 not"),
        (
            r"\b(he|she|it|who|there|that|here|(?:my|our) [a-z]+)'s(?= (?:just |already |recently |not |never )?(?:got|been|eaten|had|broken|lost|turned|become"
            r"|moved|started|begun|given up|stopped)\b)",
            r"\1 has",
        ),
        (r"\b(he|she|it|who|what|where|when|how|there|that|here|name|birthday|budget)'s\b", r"\1 is"),
        (
            r"\b((?:my|our) \w+(?: [A-Z]\w+)?)'s(?= (?:an?|the|called|named|not|very|allergic|\d+|from|in|blind|deaf"
            r"|expecting|coming|joining|turning|electric|diesel|diabetic|ill|sick|poorly|lame|limping|epileptic|asthmatic"
            r"|on|neutered|spayed|vaccinated|overweight|only|just|still|always|never|scared|afraid|due|at"
            r"|vegan|vegetarian|pregnant|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b)",
            r"\1 is",
        ),
        (
            r"\b((?-i:[A-Z]\w+)|(?:mum|mom|dad|wife|husband|son|daughter|dog|cat|brother|sister|grandma|grandpa))'s"
            r"(?= (?:my|our|(?:only |just |now |already |actually )?(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten"
            r"|eleven|twelve)|allergic|blind|deaf|vegan|vegetarian|pregnant|called|not|in a|an?|coming|joining)\b)",
            r"\1 is",
        ),
        (
            r"\b(s?he)s(?= (?:\d|an?\b|the\b|not\b|only\b|just\b|now\b|got\b|allergic\b|blind\b|deaf\b|vegan\b"
            r"|vegetarian\b|pregnant\b|called\b|turning\b|in a\b|[a-z]+teen\b|one\b|two\b|three\b|four\b|five\b|six\b"
            r"|seven\b|eight\b|nine\b|ten\b|eleven\b|twelve\b))",
            r"\1 is",
        ),
        (r"^(?:so |well )?it'?s (?:just |only )?me (?:and|n|with) (?=(?:my|our)\b)", "I come with "),
        (r"^were (?=(?:an?|two|three|four|five|six|seven|eight|\d+|all|both|here|coming|staying)\b)", "we are "),
        (r"\b(\d+)[- ]?(?:yrs?|y/?o)\b(?:[- ]old)?", r"\1 years old"),
        (r"\b(my (?:dog|cat|horse|rabbit|parrot))s(?= (?:called|named)\b)", r"\1 is"),
        (r"\b(my (?:dog|cat|son|daughter|sister|brother|wife|husband|partner|mum|dad))s(?= name\b)", r"\1's"),
        (r"(?<=\w) [&+] (?=\w)", " and "),
        (r"\bppl\b", "people"),
        (r"\b(my|our) bro\b", r"\1 brother"),
        (r"\b(my|our) sis\b", r"\1 sister"),
        (r"\bme n (?=my\b)", "me and "),
        (r"\b(am|is|are) (?:(?:like|kinda|kind of|sort of|super|literally|honestly|totally) ){1,3}(?=[a-z\d])", r"\1 "),
        (r"\b(my|our) gf\b", r"\1 girlfriend"),
        (r"\b(my|our) bf\b", r"\1 boyfriend"),
        (r"\bw(?:/|(?= (?:my|our|us|me|a|two|three|\d))) ?", "with "),
        (r"\bn (?=(?:i|im|i'm|my|we|he|she|the)\b)", "and "),
        (r"\b(got|have|has) a (?:bf|b/f)\b", r"\1 a boyfriend"),
        (r"\b(got|have|has) a (?:gf|g/f)\b", r"\1 a girlfriend"),
        (r"\b(have|has) got (?=(?:an?|my|no|any|some|several|one|two|three|four|five|six|\d+)\b)", r"\1 "),
        (
            r"\b(great-?)?(grand|step|god|half)-(?=(?:son|daughter|child|children|mother|father|brother|sister|parents)\b)",
            r"\1\2",
        ),
        (r"\b(I|we) shall\b", r"\1 will"),
        (r"\b(who|that)'ve\b", r"\1 have"),
        (r"\b((?:my|our) [a-z]+|(?-i:[A-Z]\w+))'s got (?=an?\b|no\b|two\b|three\b|\d)", r"\1 has "),
        (r"\bmoved?(?: house| home| flat)?,? from (?-i:[A-Z][\w-]+),? to (?=[A-Z])", "moved to "),
        (
            r"\b((?:I|we)(?: have|['’]ve)?(?: just| recently)? moved to (?-i:[A-Z][\w-]{1,30})(?: [a-z\d]{1,12}){0,4}?)"
            r" with (?=(?:my|our) )",
            r"\1 and I live with ",
        ),
        (r"\bgonna\b", "going to"),
        (r"\bgotta\b", "have to"),
        (r"\bi\b", "I"),
    )
)


def _with_article(match: re.Match[str]) -> str:
    """A learner's "I am baker" as "I am a baker"."""
    noun = match[2]
    return f"{match[1]} {'an' if noun[0] in 'aeiou' else 'a'} " if is_occupation(noun) else f"{match[1]} "


def _with_description(match: re.Match[str]) -> str:
    """What stands between commas without its article: "I am Jonas, 67, retired teacher" as "a retired teacher"."""
    noun = match[3].lower()
    is_somebody = is_occupation(noun) or noun in words("roles") or noun.endswith(("er", "or", "ist", "ian"))
    return f"{match[1]}a {match[2]}{match[3]}" if is_somebody else match[0]


def _denied(match: re.Match[str]) -> str:
    """What "it is not true that I am" says: "I am not"."""
    subject, _, verb = match[1].rpartition(" ")
    return (
        f"{match[1]} not "
        if verb in ("am", "is")
        else f"{subject or match[1]} do not {'have ' if verb == 'have' else ''}"
    )


_REPORTING = "|".join(sorted(word for word in words("reporting") if word.isascii()))
_FEW = "an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty"
# Slips that learners make, and homophones that only grammar tells apart.
_SLIPS = tuple(
    (re.compile(pattern, re.IGNORECASE), right)
    for pattern, right in (
        (r"(?<=\d),(?=\d{1,2} ?(?:m|kg|cm|metres?|meters?)\b)", "."),
        (
            rf"((?:^|[,.;] |\b(?:and|but|so) )(?:my|our) (?:\w+ )?(?!(?:{_REPORTING})\b)[a-z]+(?: (?-i:[A-Z]\w+))?),? (?:he|she|it|they) "
            r"(?=(?:is|are|am|has|have|can|does|do|will|was|uses?|needs?|lives?|works?|eats?|speaks?|likes?|not)\b)",
            r"\1 ",
        ),
        (r"\b(my (?:\w+ )?(?:son|daughter|kid|child|boy|girl|wife|husband|mother|father|dog|cat)) have\b", r"\1 has"),
        (r"\b(he|she|my \w+) do not\b", r"\1 does not"),
        (r"\b((?:do|does) not (?:eat|drink|like|have|want|speak)) no\b", r"\1"),
        (r"\b(has|have) (\d{1,2}|[a-z]+) year(?=$|[.,;]| and\b)", r"\1 \2 years"),
        # "I have since two years the asthma"
        (
            rf"\b(have|has|am|is|live|lives|work|works|use|uses|take|takes|learn|study) ((?:since|for) (?:(?:19|20)\d\d|(?:about |almost |over )?(?:\d{{1,2}}|{_FEW})"
            r" (?:years?|months?|weeks?|days?))) (?!ago\b)(?:already )?(?:the )?([^,.;]{2,40})",
            r"\1 \3 \2",
        ),
        (r"\bthe (?=(?:dog|cat)'s name\b)", "my "),
        (r"\b(my \w+) is not [^,]{1,30},? (?:it is|but) ", r"\1 is "),
        (r"\b(?:my|our) little one\b", "my child"),
        (r"\b(?:my|our) little ones\b", "my children"),
        (r"\bthe (?=(?:wife|missus|hubby|kids)\b)", "my "),
        (r"\bthe (?=(?:eldest|oldest|youngest)(?:,? (?-i:[A-Z]\w+),)? is (?:\d|[a-z]+$))", "my "),
        (
            r"\b(I|we) (?:have )?(?:just )?moved(?: house| home| flat| away| out)?\s?[:;,–-]\s?(?:and )?(?:so )?(?:I am|we are) (?:now )?in (?=(?-i:[A-Z]))",
            r"\1 have moved to ",
        ),
        (r"\b(live|lives|living|work|works) (?:right |just |over )?here (?=(?:in|near|at)\b)", r"\1 "),
        (r"^me: ", "I am "),
        (r"^i (?:must|have to|want to|should) (?:say|tell)(?: to)?(?: you)?(?: that)? (?=(?:i|my|we)\b)", ""),
        (
            r"(?<=[\w.])(, )((?:retired|former|qualified|trained|freelance|single|full-time|part-time) )([a-z]{3,14})"
            r"(?=[,.;]|$| (?:and|of|from|in)\b)",
            _with_description,
        ),
        (r"\b(i am|he is|she is|my [a-z]+ is) (?=([a-z]{3,18})(?=[.,;]|$| (?:from|in|at|and|by)\b))", _with_article),
        (
            r"\b(?:get|move|go) (?:around|about|everywhere) (?=(?:in|with|on) (?:a|my) (?:wheelchair|walking|scooter|rollator))",
            "use a ",
        ),
        (r"\buse a (?:in|with|on) (?:a|my) (?=wheelchair|walking|scooter|rollator)", "use a "),
        # "my daughter Kim, 14" says her age, whoever else the sentence is about
        (
            r"\b((?:my|our) (?:son|daughter|child|kid|boy|girl|niece|nephew|grandson|granddaughter|brother|sister|mum|mom"
            r"|mother|dad|father|nan|gran|wife|husband|friend|partner)(?: (?-i:[A-Z]\w+))?), (\d{1,2})(?=$|[,.;)]| and )",
            r"\1, who is \2",
        ),
        # "is eight and totally mad about animals": what comes with the age must not cost it
        (
            r"\b(is (?:\d{1,2}|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen"
            r"|seventeen|eighteen)) and (?:totally|really|very|so|quite|absolutely|just|always|completely|a bit) [^,.;]*+",
            r"\1",
        ),
        # "I am 68, retired teacher, coming with ...": the verb of the first part holds for the others
        (
            r"^(I am (?:\d{1,2}|[a-z]+)), (?=(?:a |an )?(?:retired|former|single|divorced|married|vegan|vegetarian|pregnant|blind|deaf|diabetic)\b)",
            r"\1, I am ",
        ),
        (
            r", (?=(?:coming|travelling|traveling|visiting|staying|bringing) (?:with|for|my|our|a|the|two|three|alone)\b)",
            ", I am ",
        ),
        # "I live here since 3 years"
        (
            rf"\bsince (?=(?:about |almost |over )?(?:\d{{1,2}}|{_FEW}) (?:years?|months?|weeks?|days?)\b(?! ago))",
            "for ",
        ),
        (r"\bit is (?:not true|wrong|false|incorrect) that (I am|I have|I|my \w+ (?:is|has)) ", _denied),
        (
            r"\b(I am an? (?!(?:man|woman|lady|gentleman|person)\b)(?:\w+ )?[a-z]{4,}) of (\d{2}|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:-\w+)?)(?: years?)?(?: old| of age)?(?=$|[,.;]| and\b)",
            r"\1 and I am \2 years old",
        ),
        (
            r"\b(have|has) the (?=(?:asthma|diabetes|epilepsy|arthritis|gout|flu|hay fever|high blood pressure)\b)",
            r"\1 ",
        ),
        (r"\bI am (?:a|an) (?:man|woman|lady|gentleman|boy|girl|person) of (?=(?:\d|[a-z]+ty\b|[a-z]+ty-))", "I am "),
        # "I have a daughter Mia", "I don't have a car, just a bike"
        (
            r"\b((?:have|has) an? (?:\w+ )?(?:son|daughter|brother|sister|husband|wife|partner|boyfriend|girlfriend|baby|child|dog|cat))"
            r",? (?=(?-i:[A-Z][\w'’-]+)(?:$|[.,;]| and\b))",
            r"\1 called ",
        ),
        (r"\b(I|we) (do not have [^,.;]{2,40}), (?:just|only|but) (?=an?\b)", r"\1 \2, \1 have "),
        (r"\bchilds\b", "children"),
        (r"\bI (?:have|am|had) born\b", "I was born"),
        (r"\bI has\b", "I have"),
        (r"\bI (?:is|are|be)\b", "I am"),
        (r"\b(he|she|it) have\b", r"\1 has"),
        (r"\b(he|she|it) (?:am|are)\b", r"\1 is"),
        (r"\bmy sun\b(?= (?:is|has|have|who|and I)\b)", "my son"),
        (r"\b(\d+|[a-z]+) year old\b", r"\1 years old"),
        (r"\bis having (\d+|[a-z]+) years\b", r"is \1 years old"),
        (r"\b(have|has) (?=(?:dog|cat|car|bike|wheelchair|baby|son|daughter|horse|caravan|tent)\b)", r"\1 a "),
        (r"\bI am have\b", "I have"),
        (r"\bI am having (?=(?:\d+|[a-z]+) years\b)", "I have "),
        (r"\bI am (live|work|come|travel|stay|use)\b", r"I \1"),
        (r"\bI am speaking (?=[A-Z])", "I speak "),
        (r"\bI have (\d+|[a-z]+) years(?: old)?(?=[.,;!]|$| and\b)", r"I am \1 years old"),
        (
            r"\b((?:my|our) (?:[\w'’-]{1,20}+ ){1,4}?|he |she )has (?=\d{1,2} years(?: old)?(?:[.,;!]|$| and\b))",
            r"\1is ",
        ),
        (r"\bI not (?=eat|drink|like|drive|speak)", "I do not "),
        (r"\bI no (?=eat|drink|like|drive|speak)", "I do not "),
    )
)
_NAMELESS = re.compile(
    r"(?<=\bI am )([a-z]{3,12})(?=,? (?:\d{1,3}(?: years?(?: old)?)?|from (?-i:[A-Z])\w+|and I am \d+)(?:$|,| and\b))"
)
_DAYS = {
    "mon": "Monday",
    "tue": "Tuesday",
    "tues": "Tuesday",
    "wed": "Wednesday",
    "thu": "Thursday",
    "thurs": "Thursday",
    "fri": "Friday",
    "sat": "Saturday",
    "sun": "Sunday",
}
_DAY = re.compile(
    r"(?:(?<=coming )|(?<=leaving )|(?<=arriving )|(?<=arrive )|(?<=until )|(?<=till )|(?<=next )|(?<=come )|(?<= on ))"
    rf"(?:{'|'.join(_DAYS)})(?=$|[ ,.!?])(?! (?:down|up|set|rise))",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Za-z]{5,}")
_TARGETS = tuple(
    "friend tuesday wednesday thursday saturday "
    "allergic vegetarian wheelchair pregnant birthday daughter husband brother mother father neighbour diabetic "
    "student pensioner retired resident member travel travelling arrive allergy shellfish coeliac crutches children "
    "girlfriend boyfriend grandmother grandfather grandson granddaughter operation language budget asthma".split()
)
# Common words that are one slip away from a target, and are none.
_REAL = frozenset(
    "friends "
    "bother smother farther rather gather lather another members remember september ember travels traveled traveller "
    "arrived arrives arrival vegetarians wheelchairs birthdays daughters husbands brothers mothers fathers neighbours "
    "neighbor neighbors students pensioners residents president allergies retires retire operations languages budgets "
    "budge crutch resides reside residence residential vegetation pension diabetes".split()
)


@text_cache(maxsize=2048)
def written_out(sentence: str) -> str:
    """A sentence without contractions and common slips: "im alergic" is "I am allergic"."""
    text = sentence
    for pattern, full in _CONTRACTIONS:
        text = pattern.sub(full, text)
    text = _DAY.sub(lambda day: _DAYS[day[0].lower()], text)
    text = _WORD.sub(lambda word: _spelt(word[0]), text)
    for pattern, right in _SLIPS:
        text = pattern.sub(right, text)
    return _NAMELESS.sub(lambda name: name[0].capitalize() if _is_name(name[0]) else name[0], text)


_ARTICLE = re.compile(r"\b(a|an) (?=(\d+|[a-z][\w'’]+))", re.IGNORECASE)
_VOWEL_SOUND = re.compile(
    r"(?:8|11|18)(?!\d{2})|hour|honest|honou?r|heir|(?!eu|one\b|once|uni(?!n|m)|us[aeiu]|ut[ei]|u[a-z]{1,2}\b)[aeiou]",
    re.IGNORECASE,
)


def with_articles(text: str) -> str:
    """A sentence with "a" or "an" as the next word sounds: "a apprentice" is "an apprentice"."""

    def right(match: re.Match[str]) -> str:
        if not match[2][1:].islower() and not match[2].isdigit():  # "an MRI", "a UK passport"
            return match[0]
        return f"{match[1][0]}n " if _VOWEL_SOUND.match(match[2]) else f"{match[1][0]} "

    return _ARTICLE.sub(right, text)


def _is_name(word: str) -> bool:
    """Whether a word without a capital can be a name: "I am lena, 24"."""
    not_jobs = words("not_names") | words("passing") | words("roles") | words("pets")
    if is_occupation(word):
        return False
    return (
        word not in not_jobs and word not in VERBS and word not in _TARGETS and not word.endswith(("ing", "ed", "ic"))
    )


@text_cache(maxsize=4096)
def _spelt(word: str) -> str:
    """The word that a rule expects, where the text misspells it by one or two letters."""
    low = word.lower()
    if low in _REAL or low in VERBS or low in _TARGETS or word[:1].isupper() or low in words("roles"):
        return word
    for target in _TARGETS:
        if abs(len(target) - len(low)) <= 1 and low[0] == target[0] and len(target) >= 6 and _near(low, target):
            return target
    return word


def _near(one: str, other: str) -> bool:
    """Whether two words differ by one letter added, lost, changed, or by two neighbours swapped."""
    if len(one) > len(other):
        one, other = other, one
    start = 0
    while start < len(one) and one[start] == other[start]:
        start += 1
    if len(one) == len(other):
        swapped = one[:start] + one[start : start + 2][::-1] + one[start + 2 :]
        return one[start + 1 :] == other[start + 1 :] or swapped == other
    return one[start:] == other[start + 1 :]
