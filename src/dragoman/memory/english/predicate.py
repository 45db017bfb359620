"""The verb of a clause, what follows it, and in which mood it stands: "don't eat pork" is eat, negated, "pork"."""

from __future__ import annotations

from dataclasses import dataclass

from dragoman.memory.patterns import VERBS
from dragoman.text import lazy_re as re

_ADVERBS = frozenset(
    "also now currently actually really still just recently both then already usually often always mostly even "
    "certainly definitely probably basically sometimes generally normally all too strictly simply sadly "
    "unfortunately originally newly regularly myself absolutely truly mainly only very quite so rather pretty fairly "
    "somewhat".split()
)
_KEPT = frozenset("very quite so all both only rather pretty fairly somewhat".split())
_UNREAL = frozenset("would could should might may shall must".split())
_LEARNT = frozenset(
    "move relocate turn break sprain injure get buy adopt retire become lose bear grow undergo stop quit start "
    "book bring have join marry go sell give cancel change expire hurt twist dislocate die pass reserve".split()
)
"""Verbs whose past says what holds now: "I moved to Porto"."""
_SAME_FORM = frozenset(("hurt", "come", "become"))
"""Verbs whose participle is their basic form."""
_TOGETHER = re.compile(r"^(?:both|all) (?!of\b)", re.IGNORECASE)
_NEEDED = frozenset(("avoid", "use", "take"))
"""Verbs of which "have to" says what holds: "I have to avoid sugar"."""


@dataclass(frozen=True, slots=True)
class Predicate:
    """A verb in its basic form and the words after it.

    `ended` says that it no longer holds ("no longer", "not any more"), `ability` that it is said with "can".
    """

    verb: str
    words: str
    negated: bool = False
    ended: bool = False
    ability: bool = False
    planned: bool = False
    passing: bool = False
    """Whether it is going on or over: "am running", "have enjoyed"."""
    past: bool = False
    wished: bool = False
    """Whether the user only wants it: "want to learn"."""


def _is_ing(form: str) -> bool:
    return form.endswith("ing") and VERBS.get(form) != form  # "sing" is no such form


def _is_auxiliary(tokens: list[str]) -> bool:
    """Whether "do" stands before another verb; "do stairs" is done itself."""
    following = tokens[1].lower() if len(tokens) > 1 else ""
    return following in ("not", "never") or following in _ADVERBS or following in VERBS


def predicate(text: str) -> Predicate | None:  # noqa: PLR0911, PLR0912, PLR0915 - one step an auxiliary
    """The predicate of a clause; None where nothing is stated as a fact."""
    tokens = text.split()
    negated = ended = ability = planned = perfect = past = progressive = wish = False
    verb = ""
    while tokens:
        low = tokens[0].lower().strip(",")
        if low in _ADVERBS and not (verb == "be" and low in _KEPT):
            tokens.pop(0)
        elif low in ("not", "never", "neither", "hardly"):
            negated = True
            perfect = perfect or verb == "have"
            tokens.pop(0)
        elif low == "no" and tokens[1:2] == ["longer"]:
            negated = ended = True
            del tokens[:2]
        elif verb and verb not in ("be", "have"):
            break
        elif low in _UNREAL:
            needed = low in ("must", "should") and tokens[1:2] and VERBS.get(tokens[1].lower()) in _NEEDED
            if not needed and not (low in ("must", "may") and tokens[1:2] == ["not"]):
                return None
            ability = not needed
            tokens.pop(0)
        elif low == "can":
            ability = True
            tokens.pop(0)
        elif low in ("will", "shall"):
            planned = True
            tokens.pop(0)
        elif low in ("do", "does") and not verb and _is_auxiliary(tokens):
            tokens.pop(0)
        elif low == "did":
            return None
        elif verb == "be" and low in ("going", "planning", "hoping") and tokens[1:2] == ["to"]:
            planned, verb = True, ""
            del tokens[:2]
        elif verb == "be" and low in ("unable", "able") and tokens[1:2] == ["to"]:
            negated, ability, verb = negated or low == "unable", True, ""
            del tokens[:2]
        elif verb == "be" and low == "allowed" and tokens[1:2] == ["to"]:
            ability, verb = True, ""
            del tokens[:2]
        elif not verb and low in ("want", "plan", "wants", "plans", "intend", "intends") and tokens[1:2] == ["to"]:
            planned, wish = True, low.startswith("want")
            del tokens[:2]
        elif low in ("tend", "tends") and tokens[1:2] == ["to"]:
            del tokens[:2]  # "I tend to avoid dairy"
        elif low in ("used", "wanted", "planned", "need", "needs", "have", "has", "had", "like", "likes") and tokens[
            1:2
        ] == ["to"]:
            if low in ("have", "has", "need", "needs") and tokens[2:3] and VERBS.get(tokens[2].lower()) in _NEEDED:
                del tokens[:2]
                continue
            if low not in ("like", "likes"):
                return None
            verb = "like"
            tokens.pop(0)
            break
        elif low in VERBS:
            form = VERBS[low]
            if verb == "be" and not (_is_ing(low) or form == "be"):
                break  # a participle: "am married", "is called"
            if verb == "have":
                if low == "got":
                    perfect = False
                    tokens.pop(0)
                    break
                if _is_ing(low) or (form == low and low not in _SAME_FORM):
                    break
                perfect = True
            elif low in ("was", "were", "had") or (
                not low.endswith("s") and not _is_ing(low) and form != low and form not in ("be", "have")
            ):
                past = True
            verb = form
            tokens.pop(0)
            if _is_ing(low) and low != "being":
                progressive = True
                break
        else:
            break
    if not verb or (verb == "have" and perfect):  # a participle that is not known: "have never seen it"
        return None
    words = " ".join(tokens)
    if past and verb not in _LEARNT and not (verb == "be" and words.startswith(("born", "diagnosed"))):
        return None
    if verb == "have" and past and not re.match(r"(?:an?|my|two) |(?:\w+ )?surgery", words):
        return None
    if words.lower().startswith("no ") and verb in ("be", "have", "own", "eat", "drink", "speak", "like", "need"):
        negated, words = True, words[3:]
    stripped = words.lower().rstrip(" .")
    for ending in (" any more", " anymore", " any longer"):
        if stripped.endswith(ending) and negated:
            ended, words = True, words[: len(stripped) - len(ending)]
    if verb in ("stop", "quit") and words.split(" ")[0].lower() in VERBS:
        first, _, after = words.partition(" ")
        return Predicate(VERBS[first.lower()], after, True, True)
    if perfect and verb == "be" and words.split(" ")[0].lower().endswith("ing"):
        first, _, after = words.partition(" ")
        if VERBS.get(first.lower()) in ("live", "work", "study", "learn", "use"):
            return Predicate(VERBS[first.lower()], after)
        return None
    if verb == "be":
        words = _TOGETHER.sub("", words)
    passing = progressive or perfect
    return Predicate(verb, words.strip(" ,"), negated, ended, ability, planned, passing, past or perfect, wish)
