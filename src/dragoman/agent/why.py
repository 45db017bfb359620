"""Answer "Why?" about an earlier reply: by the fact about the user and the sentence that it rested on."""

from __future__ import annotations

from dragoman.core.clock import now, stamp
from dragoman.core.protocols import Store
from dragoman.core.trace import Reply, reply_from_json
from dragoman.core.values import Context, Draft, Recollection, SourceName
from dragoman.text import lazy_re as re

_ASKS = re.compile(
    r"(?:(?:and|but|ok(?:ay)?|so|hm+|huh|really|wait)\b[,.!?]* ?)*(?:"
    r"why(?: not| so| is that| that)?|how come"
    r"|why (?:did|do|would) you (?:just )?(?:say|think|tell me|answer|believe)(?P<said> .+)?"
    r"|how (?:do|did|would|can) you know(?: that| this)?"
    r"|what makes you (?:say|think|believe)(?: that| this| so)?"
    r"|(?:where|what) (?:did|do) you (?:get|have|find|read|base) (?:that|this|it)(?: (?:from|on|in))?"
    r"|where (?:is|was|does) (?:that|this|it) (?:from|come from|written|stated)(?: (?:in|from))?"
    r"|says who|who says(?: so| that)?|according to (?:what|whom|who)|on what grounds)\W*"
    r"|(?:那|可是|但是|但)?(?:为什么|为啥|凭什么)(?:呢|不行|不可以|不能|可以|这么说|这样说|是这样)?\W*"
    r"|[你您]?(?:是)?(?:怎么知道|从哪(?:里|儿)?(?:知道|看到|得知))(?:的|这一?点的?)?\W*|(?:有什么|什么)依据(?:吗)?\W*|依据是什么\W*",
    re.IGNORECASE,
)
_LONGEST = 160
_LEAST_SHARED = 2
_WORD = re.compile(r"[^\W_]{3,}")
_SOURCE = re.compile(r" ?[(（][^()（）]*[)）]$")


def reason(context: Context, store: Store, about_user: SourceName) -> Recollection | None:
    """Return what an earlier reply rested on; None if the turn does not ask for that."""
    text = context.last.strip()
    asks = _ASKS.fullmatch(text) if len(text) <= _LONGEST else None
    if asks is None:
        return None
    reply = _reply_asked_about(store, context, asks["said"] or "")
    if reply is None or not reply.verdict.retrieve:
        return None
    drafts = [note.value for note in reply.trace.of("reader") if isinstance(note.value, Draft)]
    used = set(drafts[-1].quoted) if drafts else set()
    passages = [piece.passage for piece in reply.evidence if piece.id in used]
    facts = tuple(passage for passage in passages if passage.source == about_user)
    world = tuple(passage for passage in passages if passage.source != about_user) if _quoted(reply) else ()
    rule = str(drafts[-1].notes.get("rule", "")) if drafts else ""
    quoted = rule or (_SOURCE.sub("", reply.text) if world else "")
    return Recollection("why", facts, world, value=quoted if world else "", now=stamp(now()))


def _reply_asked_about(store: Store, context: Context, said: str) -> Reply | None:
    """Return the last reply, or the one that best matches the words that the turn attributes to the agent."""
    words = _words(said)
    turns, traces = store.dialogue(context.scope, context.dialogue), store.traces(context.scope, context.dialogue)
    kept = [(nth, reply_from_json(trace)) for nth, trace in enumerate(traces) if trace is not None]
    if not kept or len(words) < 2:
        return kept[-1][1] if kept else None
    grounded = [(nth, reply) for nth, reply in kept if _quoted(reply)]
    shared = {nth: len(words & _words(f"{turns[nth - 1].text} {reply.text}")) for nth, reply in grounded}
    best = max(shared, key=lambda nth: (shared[nth], nth), default=-1)
    return dict(grounded)[best] if shared.get(best, 0) >= _LEAST_SHARED else kept[-1][1]


def _quoted(reply: Reply) -> tuple[str, ...]:
    """Return the passages that a reply rests on; none for a fixed phrase."""
    drafts = [note.value for note in reply.trace.of("reader") if isinstance(note.value, Draft)]
    return drafts[-1].quoted if drafts and drafts[-1].method != "said" else ()


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}
