"""Sentences and clauses of a step, what they are about, and the numbers in them."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeVar, cast

from mcp_reflect.checkers.evidence.reading import Seen
from mcp_reflect.checkers.evidence.reports import Report, words
from mcp_reflect.models.critique import Status

# Cuts a step into sentences and clauses, and tells what is stated from what is hoped, asked, planned or quoted.


_MOST_SENTENCES = 200
_LONGEST = 900
_LONGEST_STEP = 60_000
_MOST_LINES = 2_000

_FENCE = re.compile(r"^\s{0,12}(`{3,}|~{3,})")
_BULLET = re.compile(r"^\s{0,40}(?:[-*+•>]\s+|\d{1,3}[.)]\s+|#{1,6}\s+)?(?:\[[ xX]\]\s+)?")
_END = re.compile(r"(?<=[.!?])[\"')\]*_]{0,3}\s+(?=[A-Z0-9`\"'(\[*_~✓✔✅❌•]|$)|(?<=[.!?])$")
_QUOTED = re.compile(r"\"([^\"\n]{1,300})\"|“([^”\n]{1,300})”|«([^»\n]{1,300})»")
_CLAUSE = re.compile(
    r"[,;:—–](?:\s+|$)|\s\(|\)|(?<!\s)(?<!\ball)\s+(?:but|so|because|while|although|though|whereas|since|therefore|hence)\s+",
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
    r"\b(?:should|shall|will|would|could|might|may|must|can|cannot|can't|couldn't|won't|wouldn't|shouldn't|"
    r"expect|expects|hope|hopes|hoping|hopefully|likely|probably|presumably|perhaps|maybe|possibly|seems?|appears?|"
    r"plan|plans|planning|want|wants|need|needs|try|tries|trying|attempt|attempting|ensure|ensures|"
    r"let's|let us|going to|assume|ideally|makes|making|to make|to get|to have|to see|to verify|to check|to "
    r"confirm|make sure|"
    r"supposed to|intend|intended|'ll|I'd|apparently|almost certainly|think|believe|guess|suspect|nice if|when|"
    r"verify that|check that|confirm that|next step)\b",
    re.IGNORECASE,
)
_STATED_AFTER_ALL = re.compile(
    r"\bI (?:have |can )?(?:verified|confirmed|confirm|checked|made sure)(?: that)?\b|\bwe (?:verified|"
    r"confirmed)\b",
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
    """

    text: str
    plain: str
    stated: str
    clauses: tuple[Clause, ...]
    earlier: bool


def sentences(step: str) -> list[Sentence]:
    """The sentences that state something, without fenced blocks and questions. One pass over the step."""
    found: list[Sentence] = []
    for line in _prose_lines(step[:_LONGEST_STEP]):
        body = _BULLET.sub("", line[:5_000], count=1).replace("**", "").replace("__", "")
        body = body.lstrip("✓✔✅❌✗☑ \t").strip()
        for piece in _END.split(body):
            text = piece.strip()
            if not text or len(text) > _LONGEST or text.endswith("?"):
                continue
            found.append(_sentence(text))
            if len(found) >= _MOST_SENTENCES:
                return found
    return found


def _prose_lines(step: str) -> list[str]:
    kept: list[str] = []
    fence = ""
    for line in (line for line in step.split("\n") if line.strip()):
        if len(kept) >= _MOST_LINES:
            break
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence):
                fence = ""
        elif mark:
            fence = mark[1]
        elif not line.lstrip().startswith(">"):
            kept.append(line)
    return kept


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
        if _STATED_AFTER_ALL.search(text):
            hedged = False
        # "I expect that, after the fix, all tests pass": the hope reaches over the comma.
        hoped = (hoped and not found[-1:]) or (
            hedged and bool(re.search(r"\b(?:expect|hope|think|believe)\w*\b", text))
        )
        found.append(Clause(text, hedged or hoped))
    return found


def quotations(text: str) -> list[tuple[int, str]]:
    """Quoted passages with the place where each begins."""
    return [(found.start(), found[1] or found[2] or found[3]) for found in _QUOTED.finditer(text)]


# What a rule says of one sentence, and what it has to judge by.


T = TypeVar("T")
_MOST_MATCHES = 2_000


@dataclass(frozen=True, slots=True)
class Judgement:
    """One claim judged: `expected` is what the evidence shows instead."""

    status: Status
    claim: str
    expected: str | None = None
    detail: str | None = None


class Evidence:
    """All tool results as read, for one check: `text` joins them in lower case, and what is looked up is kept."""

    def __init__(self, seen: tuple[Seen, ...]) -> None:
        self.seen = seen
        self.text = "\n".join(result.text for result in seen).lower()
        self._lower = [result.text.lower() for result in seen]
        self._found: dict[tuple[re.Pattern[str], int], list[re.Match[str]]] = {}
        self._built: dict[Callable[[Evidence], object], object] = {}

    def every(self, pattern: re.Pattern[str], result: Seen | None = None) -> list[re.Match[str]]:
        """Every match in all results, or in one; a text is gone through once for each pattern, however many ask."""
        key = (pattern, -1 if result is None else result.index)
        if key not in self._found:
            text = self.text if result is None else self._lower[result.index]
            self._found[key] = list(islice(pattern.finditer(text), _MOST_MATCHES))
        return self._found[key]

    def once(self, build: Callable[["Evidence"], T]) -> T:
        """What is built from the evidence, built when it is first asked for."""
        if build not in self._built:
            self._built[build] = build(self)
        return cast("T", self._built[build])

    def reports(self) -> list[Report]:
        """Every report, oldest first."""
        return [report for result in self.seen for report in result.reports]

    def latest(self, reports: Iterable[Report]) -> list[Report]:
        """The last report of each runner."""
        last: dict[str, Report] = {}
        for report in reports:
            last[report.runner] = report
        return list(last.values())


Rule = Callable[[Sentence, Evidence], Iterable[Judgement]]


def verdict(sentence: Sentence, *, holds: bool, expected: str | None = None, detail: str | None = None) -> Judgement:
    """Pass or fail for a sentence, quoting it."""
    if holds:
        return Judgement(Status.PASS, sentence.text)
    return Judgement(Status.FAIL, sentence.text, expected, detail)


def unsupported(sentence: Sentence, detail: str) -> Judgement:
    """Nothing contradicts the sentence and nothing shows it."""
    return Judgement(Status.UNCHECKED, sentence.text, None, detail)


# Finds "4 tests failed", "3 of 7 tests fail", "no warnings" in a clause.


WORDS = {
    **dict(
        zip(
            ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"],
            range(13),
            strict=True,
        )
    ),
    "no": 0,
    "none": 0,
}

_CATEGORY = {
    **dict.fromkeys(
        ("pass", "passes", "passed", "passing", "succeed", "succeeds", "succeeded", "green", "ok"), "passed"
    ),
    **dict.fromkeys(("fail", "fails", "failed", "failing", "failure", "failures", "broken", "red"), "failed"),
    **dict.fromkeys(("error", "errors", "errored"), "errors"),
    **dict.fromkeys(("skip", "skipped", "skips", "ignored", "pending"), "skipped"),
    **dict.fromkeys(("xfail", "xfailed", "xfails"), "xfailed"),
    **dict.fromkeys(("warning", "warnings"), "warnings"),
    **dict.fromkeys(
        ("problem", "problems", "issue", "issues", "finding", "findings", "violation", "violations"), "problems"
    ),
    "deselected": "deselected",
}
_FILLERS = words(
    "in of the test tests case cases spec specs suite suites file files package packages unit jest pytest mocha "
    "vitest node "
    "python rust go have has had are is were was still now all do does did currently already left remaining an a got "
    "type lint linting typing typescript merge compile compiler linter build ruff eslint mypy tsc flake8 pylint "
    "clippy prettier more new java "
    "rust total them these those doc be been"
)
_NOUNS = {
    **dict.fromkeys(("test", "tests", "case", "cases", "spec", "specs"), "tests"),
    **dict.fromkeys(("suite", "suites", "file", "files", "package", "packages"), "suites"),
}
_TOKEN = re.compile(r"[A-Za-z][\w'’-]*|\d[\d,]*(?:\.\d+)?(?:\s?%)?|[/(:,.;=]")
_NOT_COUNTS = words(
    "line lines step version code status python node port # page chapter level pr about around over nearly "
    "almost roughly "
    "approximately than least most fix fixed fixes fixing added add adds wrote resolved not to until another took v"
)
_AFTER_NOUN = words("and in with out left remain remains so or but which that among")
_RAN = words("ran run runs executed collected")
_LISTING = words("ran has have shows show lists list contains collected executes executed runs reports of")


@dataclass(frozen=True, slots=True)
class Count:
    """`value` things of a category (passed, failed, errors, …), of `total` where given; `noun` is tests or suites."""

    category: str
    value: float
    total: int | None = None
    noun: str | None = None
    every: bool = False


def counts(clause: str) -> list[Count]:
    """Every count in the clause, in order. Tokens are looked at once, and up to nine further from each number."""
    tokens = [found.lower() for found in _TOKEN.findall(clause)]
    found: list[Count] = []
    for place, word in enumerate(tokens):
        value = _value(word)
        if value is None or _no_count(tokens, place):
            continue
        if (count := _count(tokens, place, value)) is not None:
            # "1 test file failed and 1 passed": the second one is of files, too.
            found.append(replace(count, noun=count.noun or found[-1].noun) if found else count)
    return found


def _value(word: str) -> float | None:
    if word in WORDS:
        return WORDS[word]
    digits = word.replace(",", "").rstrip("% ")
    return float(digits) if digits[:1].isdigit() and len(digits) < 9 else None


def _no_count(tokens: list[str], place: int) -> bool:
    before = tokens[place - 1] if place else ""
    if before in _NOT_COUNTS or any(word in ("fixed", "added", "wrote") for word in tokens[max(0, place - 4) : place]):
        return True
    if before in {"but", "except"} or tokens[max(0, place - 2) : place] == ["except", "for"]:
        return True
    if tokens[place] == "one" and before in {
        "this",
        "that",
        "which",
        "last",
        "first",
        "any",
        "each",
        "every",
        "the",
        "new",
    }:
        return True
    # The total of "3 of the 7 tests" or "3/7" belongs to the number before it.
    reach = tokens[max(0, place - 3) : place]
    return bool(reach) and (reach[-1] == "/" or ("of" in reach and any(_value(word) is not None for word in reach)))


def _count(tokens: list[str], place: int, value: float) -> Count | None:
    percent = tokens[place].endswith("%")
    nouns: set[str] = set()
    total: int | None = None
    before = tokens[max(0, place - 2) : place]
    every = before[-1:] in (["all"], ["every"]) or before == ["all", "the"]
    for ahead in range(place + 1, min(place + 10, len(tokens))):
        word = tokens[ahead]
        if word == "expected" and tokens[ahead + 1 : ahead + 2] in (["failure"], ["failures"]):
            return Count("xfailed", value, noun=_noun(nouns))
        if word in _CATEGORY:
            count = Count(_CATEGORY[word], value, total, _noun(nouns), every)
            return _categorised(tokens, ahead, count, percent=percent)
        if (number := _value(word)) is not None and tokens[ahead - 1] in {"of", "/", "the"} and total is None:
            total = int(number)
        elif word in _NOUNS:
            # "Test files" are files, "tests in the suite" are tests.
            if not nouns or tokens[ahead - 1] in _NOUNS:
                nouns.add(_NOUNS[word])
        elif word not in _FILLERS and not (word == "/" and ahead == place + 1):
            return _total(tokens, place, ahead, value, _noun(nouns))
    return _total(tokens, place, len(tokens), value, _noun(nouns))


def _noun(nouns: set[str]) -> str | None:
    """What is counted: test files are files."""
    return "suites" if "suites" in nouns else "tests" if nouns else None


def _categorised(tokens: list[str], ahead: int, count: Count, *, percent: bool) -> Count | None:
    after = tokens[ahead + 1] if ahead + 1 < len(tokens) else ""
    if percent:
        return Count("percent", count.value, noun=count.noun) if count.category == "passed" else None
    # "3 failing tests" is 3 failed; "2 failed attempts" is something else.
    if tokens[ahead] in {"failing", "passing", "failed", "skipped", "broken"} and after and after[0].isalpha():
        known = after in _NOUNS or after in _FILLERS or after in {"and", "in", "with", "out", "during", "so", "or"}
        further = tokens[ahead + 2] if after in _NOUNS and ahead + 2 < len(tokens) else "."
        told = further in _FILLERS or further in _CATEGORY or further in _AFTER_NOUN or not further[0].isalpha()
        return count if (known and told) or after in _CATEGORY else None
    return count


def _total(tokens: list[str], place: int, ahead: int, value: float, noun: str | None) -> Count | None:
    before = tokens[place - 1] if place else ""
    after = tokens[ahead] if ahead < len(tokens) else ""
    listed = noun == "tests" and (before in _LISTING or after in _RAN)
    if (
        not listed
        or not (after in _RAN or after in _AFTER_NOUN or not after[:1].isalpha())
        or after in {"that", "which"}
    ):
        return None
    return Count("total", value, noun=noun)
