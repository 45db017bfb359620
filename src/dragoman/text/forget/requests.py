"""Forget requests: imperatives addressed to the agent. Negations, questions, reports and quotations are none.

A turn asks to forget where one of its sentences is a request of its own, the turn is short, and nothing around the
sentence says that somebody else speaks. When in doubt it asks for nothing: a request can be repeated, a fact that was
deleted by mistake cannot.
"""

from __future__ import annotations

from dataclasses import dataclass

from dragoman.text import lazy_re as re
from dragoman.text.forget import chinese, english
from dragoman.text.quotations import quoted_spans

MOST_CHARACTERS = 300
"""The longest turn, in the user's own words, that can ask to forget; a longer one is pasted, or tells a story."""
_MOST_SENTENCES = 5
_MOST_QUOTATIONS = 20
_FIRST_STAND_IN = 0xE000
_SENTENCE = re.compile(r"[^.!?。！？；;\n]+[.!?。！？；;\n]*")
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_REPORTED = re.compile(
    r"\b(?:he|she|they|it|who|somebody|someone|everyone|everybody|nobody"
    r"|(?:my|the|our|his|her|their|a) \w+|(?-i:[A-Z]\w+)) (?:\w+ )?(?:said|says|say|told|tells|asked|asks"
    r"|whispered|wrote|writes|shouted|replied|thought|ordered|begged"
    r"|cried|answered|murmured|muttered|demanded|reads|goes)\b"
    r"|[说道写问喊答讲想][：:，,“]|告诉[他她我]|让[他她我]",
    re.IGNORECASE,
)
_THIRD_PERSON = re.compile(r"\b(?:he|she|they|him|his|her|hers|them|their)\b|[他她]", re.IGNORECASE)
_ABOUT_TEXT = re.compile(
    r"\b(?:translate|translation|mean(?:s|ing)?|sentences?|spell(?:ed|ing)?|phrases?|quotes?|lyrics|poems?|letters?"
    r"|e?mails?|messages?|stor(?:y|ies)|novels?|films?|prompts?|proofread|grammar|grammatical|rewrite|summari[sz]e"
    r"|the following|title|slogan|headline)\b|翻译|这句话|意思|歌词|小说|邮件|短信|标题|造句",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ForgetRequest:
    """What a turn asks to forget: everything of the user, or `what`, in the user's words."""

    everything: bool
    what: str


def forget_request(text: str) -> ForgetRequest | None:
    """What a turn asks the agent to forget, or None."""
    masked = _masked(text.strip())
    if masked is None:
        return None
    own, quotations = masked
    sentences = [match[0] for match in _SENTENCE.finditer(own) if any(map(str.isalnum, match[0]))]
    if not sentences or len(sentences) > _MOST_SENTENCES:
        return None
    requests = {
        place: request_in for place, sentence in enumerate(sentences) if (request_in := _sentence(sentence)) is not None
    }
    if not requests:
        return None
    others = [sentence for place, sentence in enumerate(sentences) if place not in requests]
    is_bare = not any(_is_addressed(sentences[place]) for place in requests)
    if any(_is_of_another_voice(sentence, is_bare=is_bare) for sentence in others):
        return None
    if any(request.everything for request in requests.values()):
        return ForgetRequest(True, "everything")
    last = requests[max(requests)]
    return ForgetRequest(False, last.what.translate(quotations).strip())


def means_everything(what: str) -> bool:
    """Whether the object of a forget request, taken alone, names all that is kept about the user."""
    bare = what.strip().strip(".,!?;:。，！？；：'\"“”")
    if not bare:
        return False
    return chinese.is_everything(bare) if _CHINESE.search(bare) else english.is_everything(bare)


def _masked(text: str) -> tuple[str, dict[int, str]] | None:
    """The text with a stand-in for each quotation, and what they stand for; None where there is too much of either."""
    if len(text) > 40 * MOST_CHARACTERS:  # so that nobody pays for reading the quotations of a book
        return None
    spans = quoted_spans(text)
    if len(spans) > _MOST_QUOTATIONS:
        return None
    kept, quotations, start = [], dict[int, str](), 0
    for number, (begin, end) in enumerate(spans):
        kept += [text[start:begin], chr(_FIRST_STAND_IN + number)]
        quotations[_FIRST_STAND_IN + number] = text[begin:end]
        start = end
    own = "".join((*kept, text[start:]))
    return (own, quotations) if len(own) <= MOST_CHARACTERS else None


def _sentence(sentence: str) -> ForgetRequest | None:
    grammar = chinese if _CHINESE.search(sentence) else english
    if _ABOUT_TEXT.search(sentence) and ":" in sentence:
        return None
    what = grammar.requested(sentence)
    return None if what is None else ForgetRequest(what == grammar.EVERYTHING, what)


def _is_addressed(sentence: str) -> bool:
    """Whether a request names its two sides: the agent, or the user's own affairs."""
    return bool(re.search(r"\b(?:please|you|me|my|i)\b|[我你您请]", sentence, re.IGNORECASE))


def _is_of_another_voice(sentence: str, *, is_bare: bool) -> bool:
    """Whether a sentence beside a request shows that the request is quoted, told or under discussion."""
    if sentence.rstrip().endswith((":", "：")) or _ABOUT_TEXT.search(sentence) or _REPORTED.search(sentence):
        return True
    return is_bare and bool(_THIRD_PERSON.search(sentence))
