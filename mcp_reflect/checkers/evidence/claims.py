"""What a clause says of a run: which program is meant, how it went, and how many of what."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from mcp_reflect.checkers.evidence.rows import NUMBERS, Kind, amount
from mcp_reflect.checkers.evidence.runners import KINDS

_SUITE: Final = r"\b(?:tests?|test suites?|test cases?|test files?|specs?|suites?)\b(?!::|/|[_.]\w)"
_OF_KIND: Final = (
    (re.compile(_SUITE + r"|\b(?:both|all) packages\b|\bci\b"), Kind.TESTS),
    (re.compile(r"\b(?:type[- ]?check\w*|types(?= (?:and|all|pass|are|check))|typescript|type errors?)\b"), Kind.TYPES),
    (re.compile(r"\b(?:lint|linter|linting|formatting)\b"), Kind.LINT),
    (
        re.compile(
            r"\b(?:the|our|this|production|release) (?:\w+ )?build\b|^builds?\b|\bbuild (?:succe|pass|fail)|"
            r"\b(?:compiles?|compiled|compilation|compiler|crate)\b|\b(?:project|app|code|package|image|it) builds\b|"
            r"\bmake (?:succeed|pass|fail|finish|stop)"
        ),
        Kind.BUILD,
    ),
)
_RENAMED: Final = {"cargo build": "rustc", "cargo check": "rustc", "go vet": "go build"}
_NAMED: Final = re.compile(rf"\b({'|'.join({*KINDS, *_RENAMED} - {'tests', 'make', 'node', 'rustc'})})\b")
_EVERYTHING: Final = re.compile(
    r"\b(?:all|every) (?:the )?checks?\b|\beverything (?:now |still )?(?:pass|is (?:now )?green)|"
    r"^all (?:is |now )?green\b"
)
ANY: Final = "any"
"""Stands for all runs, as in "all checks pass"."""


def subjects(clause: str) -> list[str]:
    """Return the programs that a clause names, else the kinds of run that it speaks of."""
    lower = clause.lower()
    if _EVERYTHING.search(lower):
        return [ANY]
    names = [_RENAMED.get(match[0], match[0]) for match in _NAMED.finditer(lower)]
    return list(dict.fromkeys(names)) or [kind for pattern, kind in _OF_KIND if pattern.search(lower)]


# "The new tests", "the parser test": only a part of the tests.
_PART: Final = re.compile(
    rf"(?<!at )\b(?:new|old|first|second|own)\b[^,]{{0,40}}{_SUITE}|"
    r"\btest\b(?! (?:suites?|runs?|command|results?|output|report|status|summary)\b)"
)
_WHOLE_TEST: Final = re.compile(r"\b(?:no|every|any|each|all|single|neither|\d|one|go|cargo|npm)\b")


_BEFORE: Final = re.compile(r"(?:.*\b(?:and|that|confirm\w*|makes?)\b)?")


def phrase_of(clause: str) -> str:
    """Return the part of a clause that speaks of tests: "I renamed it and all tests pass" says that all tests pass."""
    *_, noun = (None, *re.finditer(_SUITE, clause.lower()))
    before = _BEFORE.match(clause, 0, noun.start()) if noun else None
    return clause[before.end() :].split(" and ", maxsplit=1)[0] if before else clause


def means_part(clause: str) -> bool:
    """True if only a part of the tests is meant."""
    lower = clause.lower()
    part = _PART.search(lower)
    return part is not None and not (part[0] == "test" and _WHOLE_TEST.search(lower))


# How it went.

# "Passes a list to total()" is no outcome, "passes the linter" is.
_NO_OBJECT: Final = (
    r"(?! (?:an?|its|their|this|that|these|those|it|them|to|through|into|along|by|over|around|one|`\S+`|in an?)\b)"
    r"(?! the (?!tests?\b|lint|type|check|build|suite|unit|whole|full|entire|ci\b))(?! [`\"'(\[{])"
)
_BE: Final = (
    r"\b(?:is|are|was|were|looks?|stays?|remains?|comes? back|:|'s|'re|all|now|both|report(?:s|ed)?) (?:\w+ ){0,2}?"
)
_GOOD: Final = re.compile(
    rf"\bcontinues? to pass\b|(?<!to )\b(?:pass|passes|passed)\b{_NO_OBJECT}|\bsucceed(?:s|ed)?\b|"
    rf"{_BE}(?:green|clean|ok|happy|fine|successful|passing)\b|\btype-checks\b|"
    r"\bcompiles?\b(?! (?:the|an?|it|to|into|our|all)\b)|"
    r"\b(?:ran|runs?|built|compiled?|finish(?:es|ed)|completed?s?|builds) (?:successfully|cleanly|fine)\b|, (?:all "
    r")?ok\b",
    re.IGNORECASE,
)
_BAD: Final = re.compile(
    rf"\b(?:fails?|complains?|crash(?:es|ed)?|stops (?:with|at an?))\b|\bfailed\b(?! (?:tests?|runs?|attempts?|"
    rf"assertion))|"
    rf"\bfailures? (?:is|are|was|were) in\b|"
    rf"{_BE}(?:still )?(?:failing|red|broken|unsuccessful)\b|\b(?:has|have|had|contains?|finds?|found|with|reports?) "
    r"(?:still )?(?:a |an |some |several )?(?:\w+ )?(?:failures?|errors?|issues?)\b",
    re.IGNORECASE,
)
_FREE_OF: Final = re.compile(
    r"\b(?:no|without|zero|0|free of|any)(?: any| more| \w+)? (?:tests? )?(?:errors?|failures?|failing|failed|fails?|"
    r"issues?|problems?|warnings?|findings?|exceptions?|conflicts?)\b|\bnone of\b.{0,30}\bfail|\bnothing fail(?:s|"
    r"ed)\b|"
    r"\bnot (?:a single|one) \w+ fail|\bnever fails?\b|\b(?:no|neither) \w+ fails?\b|\bnone fail(?:s|ed)?\b",
    re.IGNORECASE,
)
_NOT: Final = re.compile(r"\b(?:not|never|no longer|nor|neither|fails? to)\b|n't\b", re.IGNORECASE)


def polarity(clause: str) -> bool | None:
    """Return True if the clause says it went well, False if it says it did not, None if it says neither."""
    if _FREE_OF.search(clause):
        return True
    bad, good = _BAD.search(clause), _GOOD.search(clause)
    if not bad and not good:
        return None
    stated = good is not None and (bad is None or good.start() < bad.start())
    return stated != bool(_NOT.search(clause))


# How many.

_CATEGORIES: Final = {
    **dict.fromkeys("pass passes passed passing succeed succeeds succeeded green ok".split(), "passed"),
    **dict.fromkeys("fail fails failed failing failure failures broken red".split(), "failed"),
    **dict.fromkeys("error errors errored".split(), "errors"),
    **dict.fromkeys("skip skipped skips ignored pending".split(), "skipped"),
    **dict.fromkeys(("xfail", "xfailed", "xfails", "expected failure", "expected failures"), "xfailed"),
    **dict.fromkeys(("warning", "warnings"), "warnings"),
    **dict.fromkeys("problem problems issue issues finding findings violation violations".split(), "problems"),
    "deselected": "deselected",
}
_TESTS: Final = r"(?:unit |doc |integration |test )?(?:tests?|cases?|specs?|examples?)"
_SUITES: Final = r"(?:test )?(?:suites?|files?|packages?)"
_FILL: Final = (
    r"in|of|the|test|unit|jest|pytest|mocha|vitest|node|python|rust|go|have|has|had|are|is|were|was|still|now|all|do|"
    r"does|did|currently|already|left|remaining|an?|got|type|lint|linting|typing|typescript|merge|compile|compiler|"
    r"linter|build|ruff|eslint|mypy|tsc|flake8|pylint|clippy|prettier|more|new|java|total|these|those|them|be|been"
)
_AMOUNT: Final = rf"(?:\d{{1,3}}(?:,\d{{3}})+|\d{{1,7}}(?:\.\d+)?|{'|'.join(NUMBERS)}|none?|no)"
_COUNT: Final = re.compile(
    rf"(?<![\w.#%-])(?P<every>all (?:the |of the )?|every )?(?P<n>{_AMOUNT})"
    rf"(?:\s?(?:/|(?:out )?of\b)\s?(?:the |all |its |all the )?(?P<m>{_AMOUNT}))?(?![\w/.-]\w)"
    rf"(?P<fill>(?:\s(?:{_SUITES}|{_TESTS}|{_FILL})(?!\w)){{0,7}})[\s:(]{{1,2}}"
    rf"(?P<category>{'|'.join(sorted(_CATEGORIES, key=len, reverse=True))})\b"
    rf"(?P<after>(?:\s(?:{_TESTS}|{_SUITES})\b)?(?:\s\w+)?)",
    re.IGNORECASE,
)
_WHOLE: Final = re.compile(
    rf"\b(?:ran|shows|lists|collected|executed|runs|reports) ({_AMOUNT}) {_TESTS}\b(?! (?:pass|fail|error))|"
    rf"(?<![\w.-])({_AMOUNT}) {_TESTS} (?:\w+ )?(?:ran|run|runs|executed|collected|in all|in total|altogether)\b",
    re.IGNORECASE,
)
_NO_COUNT: Final = re.compile(
    r"\b(?:lines?|step|version|code|status|python|node|port|page|chapter|level|pr|about|around|over|nearly|almost|"
    r"roughly|"
    r"approximately|than|least|most|but|except|except for|not|to|until|another|took|v|#)\s?$|"
    r"\b(?:fix|fixed|fixes|fixing|added?|adds|wrote|repaired|resolved)\b(?:\s\w+){0,2}\s?$|"
    r"\b(?:this|that|which|last|first|any|each|every|the|new) (?=one\b)$",
    re.IGNORECASE,
)
_TOLD: Final = re.compile(
    rf"(?:\s(?:{_TESTS}|{_SUITES})\b)?(?:$|\s(?:and|in|with|out|during|so|or|left|but|which|that|among|remains?|"
    rf"{_FILL}|"
    rf"{'|'.join(_CATEGORIES)})$)",
    re.IGNORECASE,
)
_ALL_BUT: Final = re.compile(
    rf"\ball (?:(?:the )?tests )?(?:but|except)(?: for)? ({_AMOUNT})\b|\bpass(?:es)? except ({_AMOUNT})\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Count:
    """`value` things of a category (passed, failed, errors, …), of `total` where given; `noun` is tests or suites."""

    category: str
    value: float
    total: float | None = None
    noun: str | None = None
    every: bool = False


def counts(clause: str) -> Iterator[Count]:
    """Every count in the clause, in order: "9/12 passing", "two of the tests fail", "errors: 3", "5 tests ran"."""
    noun: str | None = None
    for found in _COUNT.finditer(clause):
        # "3 failing tests" counts tests; "2 failed attempts" something else.
        adjective = found["category"].lower() in {"failing", "passing", "failed", "skipped", "broken"}
        if (adjective and not _TOLD.match(found["after"])) or _NO_COUNT.search(clause[: found.start("n")]):
            continue
        beside = f"{found['fill']}{found['after']}".lower()
        tests = "tests" if re.search(r"test|case|spec|example", beside) else noun
        noun = "suites" if re.search(r"suite|file|package", beside) else tests
        category = _CATEGORIES[found["category"].lower()]
        total = amount(found["m"]) if found["m"] else None
        yield Count(category, amount(found["n"]), total, noun, every=bool(found["every"]))
    for pattern, category in ((_WHOLE, "total"), (_ALL_BUT, "failed")):
        for found in pattern.finditer(clause):
            group = 1 if found[1] else 2
            if category == "failed" or not _NO_COUNT.search(clause[: found.start(group)]):
                yield Count(category, amount(found[group]), noun="tests")
