"""Classify a reply by its words: yes, no, a question back, or an admission that nothing was found."""

from __future__ import annotations

from typing import Literal

from dragoman.text import lazy_re as re
from dragoman.text.claims import negated

ExpectedAnswer = Literal["yes", "no", "ask", "unknown"]

_YES = re.compile(
    r"(?:probably yes|yes|yep|yeah|sure|certainly|of course|absolutely|definitely|indeed"
    r"|you (?:can|may)(?! ?not| only|'t))\b"
    r"|可以|能[，。！的]|是的|没问题|当然|行[，。！的]|有的|对[，。！]",
    re.IGNORECASE,
)
_NO = re.compile(
    r"(?:probably not|no|nope|not|never|unfortunately|regrettably|i(?: am|'m) (?:afraid|sorry)|sorry"
    r"|you (?:can't|cannot|may not|must not))\b"
    r"|不|没|无法|抱歉|很抱歉|对不起|恐怕|别",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"\byou (?:can't|cannot|may not|must not|are not (?:allowed|entitled|eligible)|aren't)\b"
    r"|[你您](?:不能|不可以|不可|无法|没有资格)",
    re.IGNORECASE,
)
# Words that limit a rule: "only from 16 on" refuses a child as plainly as "not under 16", and "exempt" says that one
# need not pay.
_LIMITS = re.compile(
    r"\b(?:only|except|exempt|free|at least|refused|prohibited|excluded)\b"
    r"|\btoo (?:young|old|small|short|tall|large|big|heavy|late|early)\b"
    r"|仅|只[能限有收接]|须满|才[能可]|拒绝|谢绝|除外|免",
    re.IGNORECASE,
)
_UNKNOWN = re.compile(
    r"\b(?:do not|don't|does not|doesn't) (?:know|say|mention)\b"
    r"|\b(?:could not|couldn't|cannot|can't|did not|didn't) find\b"
    r"|\bfound nothing\b|\bnothing about\b|\bno information\b|\bnot in (?:my|your|the) documents\b"
    r"|\b(?:have not|haven't|never) (?:told|been told|mentioned)\b"
    r"|没有?(?:查|找)到|(?:查|找)不到|不知道|不清楚|不了解|没有?(?:提到|提及|写明|说明|相关|告诉|说过|记录)|未提及",
    re.IGNORECASE,
)
_DOUBT = re.compile(
    r"\b(?:not|n't) (?:quite |entirely |completely )?(?:sure|certain)\b|\bmay not be\b|不太?(?:确定|肯定)", re.I
)
_QUESTION = re.compile("[?？]")


def answer_problem(expected: ExpectedAnswer, text: str) -> str | None:
    """Return why a reply is not the expected answer, or None if it is.

    `no` needs a denial or a limit somewhere ("only from 16 on"); `yes` needs no such word, since a rule that
    permits rarely says yes. Neither may open with the opposite, and `yes` must not tell the user that they cannot.
    """
    plain = text.replace("’", "'").strip()
    unknown = _UNKNOWN.search(plain) is not None
    if expected == "unknown":
        return None if unknown else "answers, instead of saying that it does not know"
    if unknown:
        return "says that it does not know"
    if expected == "ask":
        return None if _QUESTION.search(plain) else "does not ask back"
    certain = _DOUBT.sub("", plain)
    if expected == "yes":
        return "says no" if not _YES.match(certain) and (_NO.match(certain) or _REFUSAL.search(certain)) else None
    if _YES.match(certain):
        return "says yes"
    return None if negated(certain) or _LIMITS.search(certain) else "does not say no"
