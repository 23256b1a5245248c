"""A piece of work with its evidence, its steps, and its claims: sentences that state what can be shown.

What is hoped, asked, planned, admitted or quoted from others claims nothing.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Final

from mcp_reflect.models.critique import Claim, ToolResult

_FENCE: Final = re.compile(r"^[ \t]{0,40}(`{3,40}|~{3,40})[ \t]*(.{0,200})$")
_LANGUAGE: Final = re.compile(r"^\{?\.?([A-Za-z][\w+#-]{0,30})")


@dataclass(frozen=True, slots=True)
class Fence:
    """An outermost fenced block: `language` in lower case, empty if none is named; `lines` with the marks."""

    language: str
    lines: tuple[str, ...]
    closed: bool

    @property
    def body(self) -> tuple[str, ...]:
        return self.lines[1:-1] if self.closed else self.lines[1:]


def parts(text: str) -> list[str | Fence]:
    """Return the lines outside of fences one by one, and each fence as a whole; each line is looked at once."""
    found: list[str | Fence] = []
    inside: list[str] = []
    mark = language = ""
    for line in text.split("\n"):
        fence = _FENCE.match(line) if line.lstrip()[:3] in ("```", "~~~") else None
        if inside:
            inside.append(line)
            if fence and fence[1].startswith(mark) and not fence[2].strip():
                found.append(Fence(language, tuple(inside), closed=True))
                inside = []
        elif fence:
            named = _LANGUAGE.match(fence[2])
            inside, mark, language = [line], fence[1], named[1].lower() if named else ""
        else:
            found.append(line)
    return [*found, Fence(language, tuple(inside), closed=False)] if inside else found


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The work to check: what was asked, the steps of the answer, and the evidence for it.

    `decided` is the component or tool that was decided on and `executed` the one that ran, where the
    caller said so.
    """

    goal: str
    steps: tuple[str, ...]
    tool_results: tuple[ToolResult, ...] = ()
    decided: str | None = None
    executed: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """A computed replacement: characters `start` to `end` of the step become `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a rule found about the claim that it quotes. Steps count from 1.

    `wrong`: the claim is certainly false. Otherwise it is a correct computation, which may still be the wrong one to
    make.
    """

    step: int
    wrong: bool
    claim: str
    expected: str | None = None
    detail: str | None = None
    fix: Fix | None = None


MOST_STEPS: Final = 200

_NUMBERED = re.compile(
    r"^[ \t]{0,3}(?:(?:step[ \t]+)?\d{1,3}[.):]|step[ \t]+\d{1,3}\b)[ \t]*", re.IGNORECASE
)


def split(response: str) -> tuple[str, ...]:
    """Return the steps of a response, in order; more than 200 end in the last one."""
    blocks = [
        ("\n".join(part.lines), True) if isinstance(part, Fence) else (part, False)
        for part in parts(response.replace("\r\n", "\n"))
    ]
    steps = _by_number(blocks) or _paragraphs(blocks)
    if len(steps) == 1 and "```" not in steps[0]:
        lines = [line.strip() for line in steps[0].splitlines() if line.strip()]
        # `a = b; c = d` is two steps; a sentence with a semicolon and no equation stays whole.
        clauses = [part.strip() for part in re.split(r";[ \t]+", steps[0]) if part.strip()]
        steps = (
            lines
            if len(lines) > 1
            else clauses
            if sum("=" in part for part in clauses) > 1
            else lines
        )
    if len(steps) > MOST_STEPS:
        steps[MOST_STEPS - 1 :] = ["\n\n".join(steps[MOST_STEPS - 1 :])]
    return tuple(steps)


def _by_number(blocks: list[tuple[str, bool]]) -> list[str]:
    """Steps at numbered lines, where there are two or more; what stands before the first is a step of its own."""
    starts = [
        place for place, (text, fence) in enumerate(blocks) if not fence and _NUMBERED.match(text)
    ]
    if len(starts) < 2:
        return []
    cuts = [0, *starts, len(blocks)] if starts[0] else [*starts, len(blocks)]
    parts = (
        "\n".join(text for text, _ in blocks[cuts[i] : cuts[i + 1]]).strip()
        for i in range(len(cuts) - 1)
    )
    return [part for part in parts if part]


def _paragraphs(blocks: list[tuple[str, bool]]) -> list[str]:
    paragraphs: list[list[str]] = [[]]
    for text, fence in blocks:
        if text.strip() or fence:
            paragraphs[-1].append(text)
        elif paragraphs[-1]:
            paragraphs.append([])
    return ["\n".join(lines).strip() for lines in paragraphs if lines]


_MOST_SENTENCES: Final = 200
_LONGEST: Final = 900
_LONGEST_STEP: Final = 60_000
_MOST_LINES: Final = 2_000
_QUOTED: Final = 300

_BULLET: Final = re.compile(r"^\s{0,40}(?:[-*+•>]\s+|\d{1,3}[.)]\s+|#{1,6}\s+)?(?:\[[ xX]\]\s+)?")
# "Dr. Wirz" and "25. November" end no sentence.
_END: Final = re.compile(
    r"(?<=[.!?])(?<!\bDr\.)(?<!\bMr\.)(?<!\bMs\.)(?<!\bNr\.)(?<!\bNo\.)"
    r"(?!(?<=\d\.)\s+(?:Jan|Feb|M[aä]r|Apr|Ma[iy]|Jun|Jul|Aug|Sep|O[ck]t|Nov|De[cz])[a-z]*\b)"
    r"[\"')\]*_]{0,3}\s+(?=[A-Z0-9`\"'(\[*_~✓✔✅❌•]|$)|(?<=[.!?])$"
)
_TEXT_IN_QUOTES: Final = re.compile(r"\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”|«[^»\n]{1,300}»")
_CLAUSE: Final = re.compile(
    r"[,;:—–](?:\s+|$)|(?<!\s)\s+and\s+(?=(?:should|would|could|might|may|will|can|i'll)\b)|\s\(|(?<!\()\)|"
    r"(?<!\s)(?<!\ball)\s+(?:but|so|because|while|although|though|whereas|since|therefore|hence)\s+",
    re.IGNORECASE,
)
# What follows is not stated as a fact.
_CONDITION: Final = re.compile(
    r"\b(?:if|once (?:the|it|you|we|I|that|this|all)|"
    r"unless|until|assuming|provided|suppose|whether|in case|as soon as|so that|in order to|the reason|"
    r"why|"
    r"you (?:said|say|wrote|mentioned|claim|claimed|told|asked|want|report|reported)|"
    r"(?:user|customer|ticket|issue|readme|reviewer|docs?|documentation) (?:said|says|wrote|writes|claims?|claimed|"
    r"reports?|reported|wants?|wanted|expects?)|according to|goal|todo|acceptance criteri\w+|requirement|"
    r"expected (?:result|outcome|output|behaviou?r)|for example|imagine|hypothetically|"
    r"not sure|unsure|unclear|unknown|don't know|do not know|wonder)\b",
    re.IGNORECASE,
)
_HEDGE: Final = re.compile(
    r"\b(?:should|shall|will|would|could|might|may(?! \d)|must|couldn't|won't|wouldn't|shouldn't|"
    r"expects?|(?:I|we) expected|hopes?|hoping|hopefully|likely|probably|presumably|perhaps|maybe|possibly|seems?|"
    r"appears?|"
    r"plans? to|planning|wants?|needs? to|try|tries|trying|attempt(?:s|ing)? to|"
    r"ensure|let's|let us|let me|going to|assume|ideally|"
    r"make sure|supposed to|intend|intended|'ll|I'd|apparently|almost certainly|think|believe|guess|suspect|nice if|"
    r"(?:verify|check|confirm) that|next step)\b",
    re.IGNORECASE,
)
_IMPERATIVE: Final = re.compile(
    r"^(?:please |now |then |next,? |finally,? |first,? )?(?:say|run|re-?run|check|verify|make|ensure|confirm|fix|see|"
    r"wait|try|use|merge|add|update|execute|write|create|install|commit|push|deploy|open|look|read|change|remove|delete|"
    r"replace|do not|don't|never|always|keep|set|call|return|implement|repeat|stop|avoid|remember|tag|build|back up|"
    r"migrate|upload|restore|restart|copy|drop|send|test|compare|export|import|review|publish|move|rename|switch)\b"
    r"(?!\s(?:is|are|was|were|has|have|pass|passes|passed|fail|fails|failed|succe|finish|took|takes|shows?|reports?)\b)"
    r"(?![^=]{0,60}[=≈])(?![^:]{0,40}: )",
    re.IGNORECASE,
)
# "## Summary", "**Files changed:**", "Here is what I did:" head what follows.
_HEADING: Final = re.compile(
    r"\s*#{1,6}\s[^=]*$|\s*(?:[-*]\s+|\d{1,3}[.)]\s+)?(?:\*\*|__)?[^\d=]{1,80}:(?:\*\*|__)?\s*$|"
    r"\s*(?:here(?:'s| is| are)|let me|this (?:provides|includes)|the following)\b[^\d]{0,120}:?\s*$",
    re.IGNORECASE,
)
# "Not yet committed.", "I have not tried restoring it.": it says what is missing.
_ADMITTED: Final = re.compile(
    r"^(?:it is |this is )?not (?:yet )?\w+(?: yet)?\W*$|"
    r"\bI (?:have|had|did|could)(?:n't| not| neither) (?:yet )?(?:been able to )?(?:check|test|tri|try|run|look|verif|"
    r"measur|deploy|commit|push|restor|buil|find|know)",
    re.IGNORECASE,
)
# What output can show: numbers, names of code, and words for how something ended or what was done.
_CHECKABLE: Final = re.compile(
    r"\d|`[^`]+`|\b\w+[./_]\w|\b(?:all|every|none|no|both|only|half|twice|double|most|least|one|two|three|four|five|six|"
    r"seven|eight|nine|ten)\b|"
    r"\b(?:pass(?:es|ed|ing)?|fail(?:s|ed|ing|ures?)?|errors?|works?|worked|green|clean|broken|fixed|solved|done|up|"
    r"down|healthy|live|gone|ready|available|reachable|valid|empty|same|identical|faster|slower|larger|smaller|higher|"
    r"lower|(?:in|de)creased?|rose|fell|dropped|succe\w+|complet\w+|finish\w+|runs?|ran|builds?|built|compil\w+|starts?|"
    r"started|install\w+|deploy\w+|push\w+|merg\w+|commit\w+|releas\w+|publish\w+|sent|mailed|restor\w+|migrat\w+|"
    r"creat\w+|remov\w+|delet\w+|renam\w+|updat\w+|test\w+|verif\w+|measur\w+|check\w+|returns?|returned|contains?|"
    r"\w+est)\b",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_SUM: Final = re.compile(r"\d\)?\s*[=≈<>≤≥]|[=≈<>≤≥]\s*[-−(]?[$€£]?\d|\d\s?[-+*/×÷]\s?\d")


def claims(steps: Sequence[str], *, every: bool = False) -> tuple[Claim, ...]:
    """Return what the steps claim, numbered, each sentence once.

    With `every`, include statements in words that rules do not know: if there is output, it may show them.
    """
    found = {
        text: number
        for number, step in reversed([*enumerate(steps, start=1)])
        for text in reversed(sentences(step))
        if _claims(text, every=every)
    }
    first = enumerate(reversed(found.items()), start=1)
    return tuple(Claim(number=number, step=step, text=text) for number, (text, step) in first)


def _claims(text: str, *, every: bool) -> bool:
    clauses = [clause for clause in stated(text) if not _ADMITTED.search(clause)]
    whole = " ".join(clauses)
    if _SUM.search(whole):
        return True
    return (every or bool(_CHECKABLE.search(whole))) and len(_WORD.findall(whole)) >= (
        1 if re.search(r"\d", whole) else 2
    )


def stated(text: str) -> Iterator[str]:
    """Yield the clauses of a sentence that are stated as facts."""
    plain = _TEXT_IN_QUOTES.sub(lambda found: '"' + " " * (len(found[0]) - 2) + '"', text)
    if condition := _CONDITION.search(plain):
        before = plain[: condition.start()]
        cut = (
            len(before)
            if re.search(r"[,;:.]\s{0,3}$", before)
            else max((before.rfind(mark) for mark in ",;:"), default=-1)
        )
        # "All tests pass if you use Node 20": the condition belongs to the statement before it.
        plain = before[: max(cut, 0)]
    for clause in _CLAUSE.split(plain):
        if clause.strip() and not _HEDGE.search(clause) and not _IMPERATIVE.match(clause.strip()):
            yield clause.strip()


@lru_cache(maxsize=256)
def sentences(step: str) -> tuple[str, ...]:
    """Return the sentences of a step without fenced blocks, quotations of others and questions.

    Of very many, those in the middle are left out: a report sums up at its end.
    """
    texts: list[str] = []
    for line in _prose_lines(step[:_LONGEST_STEP]):
        if _HEADING.match(line):
            continue
        body = _BULLET.sub("", line[:5_000], count=1).replace("**", "").replace("__", "")
        for piece in _END.split(body.lstrip("✓✔✅❌✗☑ \t").strip()):
            text = piece.strip()
            if text and len(text) <= _LONGEST and not text.endswith("?"):
                texts.append(text)
    if len(texts) > _MOST_SENTENCES:
        texts[_MOST_SENTENCES // 2 : -_MOST_SENTENCES // 2] = []
    return tuple(texts)


def _prose_lines(step: str) -> list[str]:
    lines = (part for part in parts(step) if isinstance(part, str) and part.strip())
    return [line for line in islice(lines, _MOST_LINES) if not line.lstrip().startswith(">")]
