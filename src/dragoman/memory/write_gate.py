# ruff: noqa: E501  # a pattern is easier to check in one piece
"""Select the parts of a turn with facts about the user that memory should keep, by a small trained classifier.

The rules of `memory.facts` cover common facts such as an age, an allergy or a home. People say much more that matters
to later questions ("my wallet got nicked on sat", "I only passed my test in April"). A turn is cut into pieces, and a
logistic regression over the encoder's vectors of piece and turn, and over the piece's words, says of each how probably
it is such a statement. A kept piece that no rule covers is stored in the user's own words. English only;
`benchmarks/memory/write_gate.py` trains it on written turns and prints precision and recall.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dragoman.core.values import Fact
from dragoman.memory.english.discourse import without_asides, without_contrast
from dragoman.memory.english.relations import sentence as as_sentence
from dragoman.memory.english.wording import with_articles, written_out
from dragoman.memory.facts import facts, is_instruction, is_supposed, without_lead
from dragoman.memory.linear import dot, is_of_encoder, weights_of
from dragoman.memory.patterns import VERBS, words
from dragoman.memory.people import people_of
from dragoman.memory.roles import fits
from dragoman.memory.subjects import possession
from dragoman.text import lazy_re as re
from dragoman.text.form import form
from dragoman.text.inferences import without_conclusions
from dragoman.text.language import language
from dragoman.text.quotations import own_words
from dragoman.text.spelling import spelt

if TYPE_CHECKING:
    from dragoman.core.protocols import Encoder

KEEP = 0.65
"""How probable it must be that a piece tells something to keep (`benchmarks/memory/write_gate.py --keep`)."""
KEEP_NOBODYS = 0.75
"""The same for a piece without "I", "my", "we" or somebody else: "just about 2 months"."""
KEEP_FRAGMENT = 0.9
"""The same for a part of one or two words: "Coeliac."."""
KEEP_BESIDE = 0.45
"""The same for a piece beside a kept one in its sentence: "our childminder, Mrs Dunne, collects the twins"."""
KEEP_TOLD = 0.9
"""The same for what somebody did once and tells as a story: "I phoned on Monday"."""
KEEP_PLACED = 0.3
"""The same for a piece that a rule places once it stands alone."""
_LONGEST = 600
_MOST_PIECES = 24
_MOST_ENCODED = 5
"""How many pieces of a turn are encoded, the likeliest by their words: encoding is most of what the gate costs."""
_HOPELESS = -3.2
"""A piece whose words and form score less is not encoded; of a hundred pieces to keep one does."""
_COVERED = 0.6
"""From which share of its words on a piece says nothing that the rules have not placed."""
_SHORTEST = 3
_COMPANY = re.compile(r"(?:and|n|&|plus) (?:my|our)(?: [\w'’-]+){1,3}[.!]?", re.IGNORECASE)
_BEING = frozenset("is are was were am has have had can will would does do did".split())
_ME = frozenset("i im i'm ive i've i'd id i'll my me mine we we're we've our us".split())
_YOU = frozenset("you your u ur you're".split())
_SUBJECT = (
    r"(?:i|i['’]?m|i['’]?ve|i['’]?d|i['’]?ll|my|we|we['’]?re|we['’]?ve|our|he|he['’]?s|she|she['’]?s|they|they['’]?re"
    r"|it|it['’]?s|there|there['’]?s|the|you|your|u|ur|this|that|these)"
)
_ASKING = (
    r"(?:is|are|can|could|may|do|does|did|will|would|should|what|whats|how|hows|when|where|wheres|which|who|any|am)"
)
_CUT = re.compile(
    r"(?<=[.?!])['\")]{0,3}\s+|\n|;\s|\s[-–—]{1,2}\s|[–—]|\(|\)"
    r"|[,:]\s(?!(?:is|are|was|were|has|had|who|which|not|aged|now|me and|both|all|each|till?|until|from|born)\b)"
    r"|\s(?=(?:and|but|so(?! (?:u|you) know)|cos|coz|cause|because|since|n|&|although|though|while|plus)\s"
    rf"(?:{_SUBJECT}|{_ASKING})\b)"
    rf"|\s(?={_ASKING}\s(?:i|we|u|you|the|there|my|our|it|that|this|he|she|they|a|an)\b)",
    re.IGNORECASE,
)
_JOINT = re.compile(r"^(?:and|but|so|cos|coz|cause|because|n|&|although|though|plus|also)\s+", re.IGNORECASE)
_AFTER = re.compile(r"\s(?:till?|until|since|from|for|because|as of|come|this|next)\s.*+$", re.IGNORECASE)
_WORD = re.compile(r"[\w'’]+")
_TOKEN = re.compile(r"[\w'’]+|[?!]")
_END = re.compile(r"[.?!]")
_TAG = re.compile(
    r"\s*(?:is (?:that|it|this) )?(?:ok|okay|right|possible|allowed|fine|alright|good|yes|no|true|correct)\s*\?", re.I
)
_OWN = re.compile(
    r"\b(?:i|i['’]?m|i['’]?ve|my|mine|me|we|we['’]?re|we['’]?ve|our|us|he|hes|she|shes|they|his|her)\b", re.IGNORECASE
)
_BY_USER = re.compile(r"(?:i|i['’]?m|i['’]?ve|i['’]?d|my|we|we['’]?re|we['’]?ve|our)\b(?:\s+\S+){2}", re.IGNORECASE)
"""Begins a statement of its own: "and my dog is not vaccinated"."""
_BY_SOMEBODY = re.compile(
    r"(?:i|i['’]?m|i['’]?ve|i['’]?d|my|we|we['’]?re|we['’]?ve|our|he|he['’]?s|she|she['’]?s|they|they['’]?re)\b(?:\s+\S+){2}",
    re.IGNORECASE,
)
_IMPLIED = re.compile(
    r"(?:just |already |only |still )*"
    r"(?:bought|got|been|lost|missed|booked|ordered|paid|moved|retired|turned|swapped|married|started)\b",
    re.IGNORECASE,
)
"""Begins a statement of the user that leaves out its "I"."""
_TELLS = re.compile(
    r"(?:i|we)(?:['’]d like| wish to)\b|(?:i|we)(?:['’]ve| have)? (?:just |even |once |then |also |already |only )*"
    r"(?:phoned|called|rang|wrote|asked|tried|saw|seen|heard|read|watched|drove|went|sat|looked|laughed|studied|thought"
    r"|said|told|met|had (?:a|an|the|some)|came|walked|spent|waited|ate|drank|made|put|found|used to|could|swore"
    r"|promised|fell|started (?:our|the|a|talking)|want|would like|wanna)\b"
    r"|(?:i|we)(?:['’]?m|['’]?re| am| are) (?:just |only )?(?:sitting|thinking|typing|reading|watching|laughing)\b",
    re.IGNORECASE,
)
"""Begins a story, a wish or what goes on: "I phoned on Monday", "I'm sitting in the sun"."""
_PRONOUN = re.compile(r"(?P<who>he|she|his|her)(?:['’]?s)?\b", re.IGNORECASE)
_GOES_ON = re.compile(
    r"(?:(?:and|but|&|n) )?(?:it(?:['’]?s| is| was| has| does| needs| won['’]t| can| isn['’]t| doesn['’]t| hasn['’]t)|they(?:['’]re| are| have| need)"
    r"|(?:one|two|three|four|five|six|both|all|some|most|none) of them)\b(?! (?:raining|snowing|sunny|cold|hot|late|great|nice|lovely|fine|ok|okay|time"
    r"|so|very|really|a pity|a shame|important|just|good|bad|hard|why|how)\b)",
    re.IGNORECASE,
)
"""Begins what is said further of the clause before: "it's in a cast"."""
_UNCLEAR = re.compile(
    r"(?:starting|beginning|he|she|it|they|his|her|its|their|this|that|these|those|the same|so)\b", re.IGNORECASE
)
_ELLIPTIC = re.compile(
    r"\b(?:do|does|is|are|am|can|has|have|will)(?: not|n['’]t) either$|\b(?:so|neither) (?:do|does|is|are|am|can|has|have) (?:i|my|we)\b",
    re.IGNORECASE,
)
"""Says of somebody what was said of another: "my girlfriend doesn't either"."""
_REPORTED = re.compile(
    r"(?:my|our|his|her|the|some|a|an) (?:[\w'’-]+ ){1,3}?(?:says?|said|thinks?|thought|claims?|claimed|reckons?|believes?|swears?|told me|tells me)"
    r"(?: that)? (?:he|she|it|they|he['’]s|she['’]s|it['’]s|there|the|you|an?|all|every\w{0,4})\b",
    re.IGNORECASE,
)
"""What somebody else says: nobody knows whether it is so."""
_EMPTY = frozenset(
    "i im i'm ive my me mine we our us is are am was were be been a an the and or to of in on at for with it it's its "
    "that this he she they them him her his their has have had do does did not no just so very really here there will "
    "would can only also too even still now then again just though who which turned aged old".split()
)


_SPAN_ALONE = re.compile(
    r"(?:(?:it|that) (?:is|was) )?(?:(?:just|only|about|around|almost|over|under|maybe|roughly|nearly|for|in) )*(?:\d+|an?|one|two|three|four|five"
    r"|six|seven|eight|nine|ten|a few|a couple of|several|some) (?:\w+ )?(?:minutes?|hours?|days?|nights?|weeks?|months?|years?|times|metres?|miles?|kilometres?|km)",
    re.IGNORECASE,
)
"""How long or how far, without a word about what: "just about 2 months"."""
_LETTERS = re.compile(r"[^\W\d_]{2}")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a turn, from `start` to `end`, and the probability that it should be kept."""

    start: int
    end: int
    text: str
    chance: float = 0.0


def pieces(text: str) -> list[Piece]:
    """The clauses of a turn, by punctuation, conjunctions and where a question begins without either."""
    found: list[Piece] = []
    start = 0
    for cut in [*_CUT.finditer(text), None]:
        end = cut.start() if cut else len(text)
        if found and _is_company(text[start:end]) and text[found[-1].end : start].isspace():
            found[-1] = Piece(found[-1].start, end, text[found[-1].start : end].strip())
        elif _WORD.search(text[start:end]):
            found.append(Piece(start, end, text[start:end].strip()))
        start = cut.end() if cut else end
    return found


def _is_company(piece: str) -> bool:
    """Whether a piece without a verb continues the list before it: "with two kids and our terrier Pip"."""
    return _COMPANY.fullmatch(piece.strip()) is not None and not any(
        word.lower().removesuffix("'s") in VERBS or word.lower() in _BEING for word in _WORD.findall(piece)
    )


def word_features(text: str, piece: Piece) -> list[str]:
    """The words of a piece, in runs of one to three; numbers count as one word."""
    words = _TOKEN.findall(re.sub(r"\d++", "0", spelt(piece.text).lower()))
    asks = "?" in text[piece.start : piece.end + 1]
    tokens = ["^", *words, "$?" if asks else "$."]
    return sorted({" ".join(tokens[i : i + n]) for n in (1, 2, 3) for i in range(len(tokens) - n + 1)})


def form_features(text: str, piece: Piece) -> list[float]:
    """Return features of a piece: its position, its length, and whom it is about."""
    words = [word.replace("’", "'") for word in _WORD.findall(spelt(piece.text).lower())]
    end = _END.search(text, piece.start)
    return [
        float(flag)
        for flag in (
            end is not None and end[0] == "?",
            "?" in piece.text,
            any(character.isdigit() for character in piece.text),
            min(len(words), 20) / 10,
            len(words) < _SHORTEST,
            piece.start == 0,
            bool(_ME & set(words)),
            bool(_YOU & set(words)),
            bool(_ME & set(words[:2])),
            piece.end >= len(text) - 1,
        )
    ]


def _weights() -> Mapping[str, Any]:
    return weights_of("english_write_gate")


class WriteGate:
    """Selects the pieces of a turn to keep; none if the encoder is not the one it was trained with."""

    def __init__(self, encoder: Encoder, *, keep: float = KEEP) -> None:
        self._encoder = encoder
        self._keep = keep
        self._known: bool | None = None

    def facts(
        self, text: str, placed: Sequence[Fact] = (), *, people: Callable[[], Mapping[str, str]] = dict
    ) -> tuple[Fact, ...]:
        """Return facts that the rules missed (`placed` are theirs): by rules from a single piece, else verbatim.

        `people` gives the people and animals known by name, with what they are to the user.
        """
        told = without_lead(spelt(without_conclusions(own_words(text))))
        if not told.strip() or len(told) > _LONGEST or language(told) != "en":
            return ()
        known = {
            word for fact in placed for word in _content(f"{fact.text} {fact.said if fact.value == fact.said else ''}")
        }
        telling = [piece for piece in pieces(told) if _may_tell(told, piece, known)]
        if all(_LETTERS.search(piece.text) is None for piece in telling):  # "When does it leave? 12"
            return ()
        scored = self._scored(told, telling)
        groups, alone = self._groups(told, scored)
        found = [
            replace(fact, chance=piece.chance)
            for piece in alone
            if piece.chance >= KEEP_PLACED
            for fact in facts(without_lead(piece.text), people=people)
        ]
        everyone = {**_mentioned(placed), **people_of(placed), **people()} if groups else {}
        for group in groups:
            part = told[group[0].start : group[-1].end]
            chance = max(piece.chance for piece in group)
            before = _fact_before(told, group[0], (*placed, *found)) if _GOES_ON.match(part) else None
            if before is not None:  # "Rex broke his leg, it's in a cast" is one fact
                found.append(
                    replace(before, text=f"{before.text.rstrip('.')}{_joined(told, group[0])}{part.strip(' .,!')}.")
                )
                continue
            if _BY_SOMEBODY.match(_JOINT.sub("", part)) or not _asks(told, group[-1], sure=chance >= KEEP_NOBODYS):
                near = _nearest_last(everyone, told[: group[0].start])
                found += [replace(fact, chance=chance) for fact in _stated(part, near, chance)]
        said = {fact.text for fact in placed}
        return tuple({fact.text: fact for fact in found if fact.text not in said}.values())

    def _groups(self, text: str, scored: Sequence[Piece]) -> tuple[list[list[Piece]], list[Piece]]:
        """Return the pieces to keep, joined with neighbours in their sentence, and the other pieces."""
        groups: list[list[Piece]] = []
        alone: list[Piece] = []
        for piece in scored:
            last = groups[-1][-1] if groups else None
            joins = last is not None and not _is_apart(text, last, piece) and not _begins(piece)
            goes_on = _GOES_ON.match(piece.text) is not None or _PRONOUN.match(_JOINT.sub("", piece.text)) is not None
            if piece.chance >= (KEEP_BESIDE if goes_on else self._least(piece)) or (
                joins and piece.chance >= KEEP_BESIDE
            ):
                while not joins and alone and alone[-1].chance >= KEEP_BESIDE and _leads_to(text, alone[-1], piece):
                    groups.append([alone.pop()])  # "Chest freezer: 200 litres"
                    joins = True
                if joins:
                    groups[-1].append(piece)
                else:
                    groups.append([piece])
            else:
                alone.append(piece)
        return groups, alone

    def _least(self, piece: Piece) -> float:
        """Return the least probability for a piece; higher if it names no subject or only tells a story."""
        if _TELLS.match(_JOINT.sub("", piece.text)):
            return max(self._keep, KEEP_TOLD)
        speaks = _OWN.search(piece.text) is not None or _IMPLIED.match(piece.text) is not None
        return self._keep if speaks else max(self._keep, KEEP_NOBODYS)

    def chances(self, text: str) -> list[Piece]:
        """Return the pieces of a turn with their probabilities; empty if they cannot be scored."""
        return self._scored(text, pieces(text))

    def _scored(self, text: str, cut: Sequence[Piece]) -> list[Piece]:
        if not cut or len(cut) > _MOST_PIECES or not self.is_trained_for():
            return []
        weights = _weights()
        likely = sorted(((_without_vectors(text, piece), nth) for nth, piece in enumerate(cut)), reverse=True)
        kept = sorted((nth, score) for score, nth in likely[:_MOST_ENCODED] if score >= _HOPELESS)
        if not kept:
            return []
        texts = [spelt(text).strip(), *(spelt(cut[nth].text).strip() for nth, _ in kept)]
        named = list(dict.fromkeys(texts))  # a turn is often one piece
        vectors = dict(zip(named, self._encoder.encode(named), strict=True))
        whole = dot(weights["turn"], vectors[texts[0]])
        scored = []
        for (nth, score), said in zip(kept, texts[1:], strict=True):
            total = score + whole + dot(weights["piece"], vectors[said])
            scored.append(replace(cut[nth], chance=1 / (1 + math.exp(-total))))
        return scored

    def is_trained_for(self) -> bool:
        """Whether the encoder gives the vectors that the weights were trained on."""
        if self._known is None:
            self._known = is_of_encoder(_weights(), self._encoder)
        return self._known


def _without_vectors(text: str, piece: Piece) -> float:
    """Score a piece without vectors, to skip pieces that are not worth encoding."""
    weights, named = _weights(), word_features(text, piece)
    words: Mapping[str, float] = weights["words"]
    score = float(weights["bias"]) + sum(words.get(word, 0.0) for word in named) / math.sqrt(len(named))
    return score + dot(weights["form"], form_features(text, piece))


_OF_OTHERS = re.compile(
    r"(?:(?:and|but|so|well|oh),? )?there(?: (?:is|are|was|were)|['’]s)\b(?!.*\b(?:i|me|my|mine|we|us|our)\b)", re.I
)
"""Says that something exists, and nothing of the user: "there's a film that he is dying to see"."""


_DENIES_NUMBER = re.compile(
    r"(?:[\w'’-]+ ){1,3}?(?:(?:is|are|am|was)(?: not|n['’]t)|['’](?:m|s|re) not) (?:only |just )?\d+(?: years old)?",
    re.IGNORECASE,
)
"""Takes a number back, and says no other: "Greta isn't 64"."""


_SUPPOSED = re.compile(r"\s*(?:and |but |so )?(?:if|unless|in case|suppose)\b", re.IGNORECASE)
"""Begins a sentence whose rest holds under a condition: "If the client leaves, we delete everything"."""
_SENTENCE_END = re.compile(r"[.?!]\s")


def _may_tell(text: str, piece: Piece, known: set[str]) -> bool:
    """Whether a piece states something that the `known` words do not cover."""
    words = _content(piece.text)
    if not words or len(words & known) >= _COVERED * len(words) or _OF_OTHERS.match(piece.text):
        return False
    if _DENIES_NUMBER.fullmatch(piece.text) or _SUPPOSED.match(_SENTENCE_END.split(text[: piece.start])[-1]):
        return False
    end = _END.search(text, piece.start)
    goes_on = text[: piece.start].rstrip().endswith(",") and (end is None or end[0] != "?")
    said = re.sub(r"^so (?!do |does |can |is |are |what |how )", "", piece.text) if piece.start else piece.text
    return form(said).act != "question" or goes_on  # "our nanny, Mrs Dunne, will collect the twins"


def _begins(piece: Piece) -> bool:
    """Whether a piece begins a statement of its own."""
    return _BY_USER.match(_JOINT.sub("", piece.text)) is not None


def _leads_to(text: str, one: Piece, other: Piece) -> bool:
    """Whether a piece and the next are one statement."""
    return not _is_apart(text, one, other) and not _begins(other) and form(one.text).act != "question"


def _asks(text: str, piece: Piece, *, sure: bool) -> bool:
    """Whether a piece belongs to a question, so that it states nothing by itself.

    A `sure` piece does so only if no word stands between it and the question mark.
    """
    end = _END.search(text, piece.start)
    if end is None:
        return False
    if sure and _WORD.search(text[piece.end : end.start()]):
        return False
    return end[0] == "?" or _TAG.match(text, end.end()) is not None  # "my girl on the 5-metre board. ok?"


def _is_apart(text: str, one: Piece, other: Piece) -> bool:
    """Whether words or the end of a sentence stand between two pieces."""
    return text[one.end - 1] in ".?!" or _WORD.search(text[one.end : other.start]) is not None


def _content(text: str) -> set[str]:
    """Return the content words of a text, cut to the letters that related forms share."""
    return {word[:5] for word in re.findall(r"[a-z0-9]+", written_out(spelt(text)).lower()) if word not in _EMPTY}


def _fact_before(text: str, piece: Piece, facts: Sequence[Fact]) -> Fact | None:
    """Return the fact stated by the clause before a piece, in the same sentence."""
    before = text[: piece.start].rstrip()
    clause = next((each for each in reversed(pieces(before)) if each.end >= len(before.rstrip(" ,;"))), None)
    if clause is None or before.endswith((".", "!", "?")):
        return None
    said = _content(clause.text)
    return next(
        (
            fact
            for fact in reversed(facts)
            if _content(fact.text) and len(_content(fact.text) & said) >= _COVERED * len(_content(fact.text))
        ),
        None,
    )


def _joined(text: str, piece: Piece) -> str:
    """Return the separator between a piece and the clause before."""
    return ", " if text[: piece.start].rstrip().endswith(",") or not _JOINT.match(piece.text) else " "


def _nearest_last(people: Mapping[str, str], before: str) -> Mapping[str, str]:
    """Sort people by their last mention before a statement, unmentioned ones first."""
    said = before.casefold()
    where = {
        name: max(said.rfind(name.casefold()), said.rfind(f"my {role}") if role else -1)
        for name, role in people.items()
    }
    return dict(sorted(people.items(), key=lambda one: where[one[0]]))


def _stated(text: str, everyone: Mapping[str, str], chance: float) -> Sequence[Fact]:
    """Return the facts of a kept part of a turn: by rules if they cover all of it, else in the user's words."""
    said = text.strip(" ,;:-–—")
    plain = without_lead(without_asides(spelt(said)))
    plain = without_contrast(_JOINT.sub("", without_lead(plain)).strip(" ,.;:!-–—"))
    is_own = not (is_supposed(plain) or is_instruction(plain) or _REPORTED.match(plain))
    whole = _resolved(plain, everyone) if is_own else None
    if whole is None:
        return ()

    def people() -> Mapping[str, str]:
        return everyone

    placed = facts(whole, people=people)
    sentence = with_articles(written_out(whole).strip(" .,!?"))
    told, read = _content(sentence), set().union(*(_content(fact.text) for fact in placed))
    if len(placed) > 1 or (placed and len(told & read) >= _COVERED * len(told)):
        return placed
    shortest = 1 if chance >= KEEP_FRAGMENT else _SHORTEST
    is_cut = re.search(r"[a-z]{2}", sentence, re.IGNORECASE) is None or (")" in sentence and "(" not in sentence)
    is_noun = re.fullmatch(r"(?:my|our) [\w-]+(?: [\w-]+)?", sentence, re.IGNORECASE) is not None
    is_cut = is_cut or _SPAN_ALONE.fullmatch(sentence) is not None
    if len(sentence.split()) < shortest or not told or is_noun or is_cut or _ELLIPTIC.search(sentence):
        return placed
    full = as_sentence(sentence)
    if placed:
        return (replace(placed[0], text=full),)
    shorter = facts(_AFTER.sub("", whole), people=people)  # "my daughter is 15 until June" is still her age
    if len(shorter) == 1 and shorter[0].relation == "age":
        return (replace(shorter[0], text=full, said=said),)
    return (Fact(full, "about", sentence, said),)


def _mentioned(placed: Sequence[Fact]) -> dict[str, str]:
    """Return people and animals without a name in the rules' facts: "I have a small cat"."""
    told = (possession(fact.value.split()) for fact in placed if fact.relation in ("pet", "family"))
    return {one.key: one.role for one in told if one is not None and not one.plural}


def _resolved(text: str, people: Mapping[str, str]) -> str | None:
    """Replace "he" or "she" at the start of a statement by the person; None if that is unclear."""
    match = _PRONOUN.match(text)
    if match is None:
        return None if _UNCLEAR.match(text) else text
    pronoun = {"his": "he", "her": "she"}.get(match["who"].lower(), match["who"].lower())
    known = people.items()
    meant = [(name, role) for name, role in known if role and role not in words("plural_roles") and fits(role, pronoun)]
    if not meant:
        return None
    name, role = meant[-1]
    who = f"My {role}" if name == role else f"My {role} {name}"
    owns = match["who"].lower() in ("his", "her")
    verb = " is" if not owns and re.match(r"(?:he|she)['’]?s\b", text, re.IGNORECASE) else ""
    return f"{who}{chr(39) + 's' if owns else verb}{text[match.end() :]}"
