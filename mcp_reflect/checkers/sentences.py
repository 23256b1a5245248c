"""Sentences and clauses of a step: what is stated, apart from what is hoped, asked, planned or quoted."""

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import Final

from mcp_reflect.checkers.fences import parts

MOST_SENTENCES = 200
LONGEST = 900
_LONGEST_STEP = 60_000
_MOST_LINES = 2_000

_BULLET = re.compile(r"^\s{0,40}(?:[-*+•>]\s+|\d{1,3}[.)]\s+|#{1,6}\s+)?(?:\[[ xX]\]\s+)?")
# "Dr. Wirz" and "25. November" end no sentence.
_END = re.compile(
    r"(?<=[.!?])(?<!\bDr\.)(?<!\bMr\.)(?<!\bMs\.)(?<!\bNr\.)(?<!\bNo\.)"
    r"(?!(?<=\d\.)\s+(?:Jan|Feb|M[aä]r|Apr|Ma[iy]|Jun|Jul|Aug|Sep|O[ck]t|Nov|De[cz])[a-z]*\b)"
    r"[\"')\]*_]{0,3}\s+(?=[A-Z0-9`\"'(\[*_~✓✔✅❌•]|$)|(?<=[.!?])$"
)
_QUOTED = re.compile(r"\"([^\"\n]{1,300})\"|“([^”\n]{1,300})”|«([^»\n]{1,300})»")
_CLAUSE = re.compile(
    r"[,;:—–](?:\s+|$)|\s+and\s+(?=(?:should|would|could|might|may|will|can|i'll)\b)|\s\(|(?<!\()\)|(?<!\s)(?<!\ball)\s+(?:but|so|because|while|although|though|whereas|since|therefore|hence)\s+",
    re.IGNORECASE,
)

# What follows is not stated as a fact: skip the whole sentence from here on.
_CONDITION = re.compile(
    r"\b(?:if|once|unless|until|assuming|provided|suppose|whether|in case|as soon as|so that|in order to|"
    r"before|previous(?:ly)?|earlier|old (?:version|code|commit|build)|without (?:the|my|this|that) (?:patch|fix|"
    r"change)|the reason|why|"
    r"(?:test|release|work) plan|yesterday|used to|originally|last (?:week|time|month)|"
    r"you (?:said|say|wrote|mentioned|claim|claimed|told|asked|want|report|reported)|"
    r"(?:user|customer|he|she|they|colleague|ticket|issue|readme|reviewer|author|doc|docs|documentation|comment|"
    r"message from \w+) (?:put it|said|says|wrote|writes|claims?|claimed|reports?|reported|mentions?|mentioned|thinks?|"
    r"believes?|asked|wants?|wanted|expects?)|according to (?:the user|you|him|her|them|the ticket|the issue|the "
    r"readme)|"
    r"(?:the |this |that |your )?(?:claim|statement|assertion) that|goal|aim|todo|to-do|acceptance criteri\w+|"
    r"requirement|expected (?:result|outcome|output|behaviou?r)|for example|e\.g|imagine|hypothetically|"
    r"not sure|unsure|unclear|unknown|don't know|do not know|in (?:that|this|such a) case|doubt|wonder)\b",
    re.IGNORECASE,
)
# Within one clause these take the statement back.
_HEDGE = re.compile(
    r"\b(?:should|shall|will|would|could|might|may(?! \d)|must|can|cannot|can't|couldn't|won't|wouldn't|shouldn't|"
    r"expect|expects|(?:I|we) expected|hope|hopes|hoping|hopefully|likely|probably|presumably|perhaps|maybe|possibly|"
    r"seems?|appears?|"
    r"plan|plans|planning|want|wants|needs? to|try|tries|trying|attempt|attempting|ensure|ensures|"
    r"let's|let us|let me|going to|assume|ideally|makes (?!up|out|more|less|half|\d)|making|"
    r"to make|to get|to have|to see|to verify|to check|to "
    r"confirm|make sure|"
    r"supposed to|intend|intended|'ll|I'd|apparently|almost certainly|think|believe|guess|suspect|nice if|when|"
    r"verify that|check that|confirm that|next step)\b",
    re.IGNORECASE,
)
_IMPERATIVE = re.compile(
    r"^then (?:the|all)\b|^(?:please |now |then |next,? |finally,? |first,? )?(?:say|run|re-?run|check|verify|"
    r"make sure|ensure|confirm|"
    r"fix|see|wait|"
    r"try|use|merge|add|update|execute|write|create|install|commit|push|deploy|open|look|read|change|remove|delete|"
    r"replace|do not|don't|never|always|keep|set|call|return|implement|repeat|stop|avoid|remember|note that if)\b",
    re.IGNORECASE,
)
NEGATED: Final = re.compile(
    r"\b(?:not|never|no longer|nothing|none|neither|nor|cannot|without|nobody|no|un(?:able|likely))\b|n't\b",
    re.IGNORECASE,
)
_PRONOUN = re.compile(r"(?:It|Its|They|Their|This|That|He|She|There|(?:Every|All|The) (?:other|rest|remaining)\w*)\b")
_EARLIER = re.compile(
    r"\b(?:at first|first run|initially|initial run|first attempt|to begin with|at the start)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a sentence. `hedged` when it is hoped, planned or possible rather than stated."""

    text: str
    hedged: bool


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence, `text` as written; `plain` has its quotations blanked out (same length).

    `stated` ends where a condition or someone else's words begin; `earlier` says that it tells of a first run.
    `before` is the sentence that a pronoun at its start refers to.
    """

    text: str
    plain: str
    stated: str
    clauses: tuple[Clause, ...]
    earlier: bool
    before: str = ""


@lru_cache(maxsize=256)  # the steps of one work, which several checkers read in turn
def sentences(step: str) -> tuple[Sentence, ...]:
    """The sentences that state something, without fenced blocks and questions.

    Of more than MOST_SENTENCES, those in the middle are left out: a report sums up at its end.
    """
    texts: list[str] = []
    for line in _prose_lines(step[:_LONGEST_STEP]):
        body = _BULLET.sub("", line[:5_000], count=1).replace("**", "").replace("__", "")
        body = body.lstrip("✓✔✅❌✗☑ \t").strip()
        for piece in _END.split(body):
            text = piece.strip()
            if text and len(text) <= LONGEST and not text.endswith("?"):
                texts.append(text)
    if len(texts) > MOST_SENTENCES:
        texts[MOST_SENTENCES // 2 : -MOST_SENTENCES // 2] = []
    found: list[Sentence] = []
    for text in texts:
        sentence = _sentence(text)
        if found and _PRONOUN.match(text):
            sentence = replace(sentence, before=found[-1].before or found[-1].text)
        found.append(sentence)
    return tuple(found)


def _prose_lines(step: str) -> list[str]:
    lines = (part for part in parts(step) if isinstance(part, str) and part.strip())
    return [line for line in islice(lines, _MOST_LINES) if not line.lstrip().startswith(">")]


def _sentence(text: str) -> Sentence:
    plain = _QUOTED.sub(lambda found: '"' + " " * (len(found[0]) - 2) + '"', text)
    condition = _CONDITION.search(plain)
    stated = plain[: condition.start()] if condition else plain
    if condition and not re.search(r"[,;:.]\s{0,3}$|\s(?:but|and|so)\s{0,3}$", stated):
        # "All tests pass if you use Node 20": the condition belongs to the statement before it.
        cut = max((stated.rfind(mark) for mark in ",;:"), default=-1)
        stated = stated[:cut] if cut >= 0 else ""
    clauses = tuple(_clauses(stated))
    return Sentence(text=text, plain=plain, stated=stated, clauses=clauses, earlier=bool(_EARLIER.search(plain)))


def _clauses(stated: str) -> list[Clause]:
    found: list[Clause] = []
    hoped = False
    for piece in _CLAUSE.split(stated):
        text = piece.strip()
        if not text:
            continue
        hedged = bool(_HEDGE.search(text)) or bool(_IMPERATIVE.match(text))
        # "I expect that, after the fix, all tests pass": the hope reaches over the comma.
        hoped = (hoped and not found[-1:]) or (
            hedged and bool(re.search(r"\b(?:expect|hope|think|believe)\w*\b", text))
        )
        found.append(Clause(text, hedged or hoped))
    return found


def quotations(text: str) -> list[tuple[int, str]]:
    """Quoted passages with the place where each begins."""
    return [(found.start(), found[1] or found[2] or found[3]) for found in _QUOTED.finditer(text)]
