"""What a clause speaks of: a runner by name, or every runner of a kind."""

import re
from dataclasses import dataclass

from mcp_reflect.checkers.evidence.reports import KINDS, Kind, Report, words
from mcp_reflect.checkers.evidence.sentences import Evidence


@dataclass(frozen=True, slots=True)
class Subject:
    """A runner by name, or else every runner of a kind. `scoped` when only some of its tests are meant."""

    kind: Kind
    runners: frozenset[str] = frozenset()
    scoped: bool = False

    def reports(self, evidence: Evidence) -> list[Report]:
        """The reports it speaks of, oldest first."""
        if self.runners:
            return [report for report in evidence.reports() if report.runner in self.runners]
        return [report for report in evidence.reports() if report.kind is self.kind]


_ALIASES = {
    "python": frozenset({"pytest", "unittest"}),
    "rust": frozenset({"cargo test"}),
    "go": frozenset({"go test"}),
    "javascript": frozenset({"jest", "vitest", "mocha", "node"}),
    "node": frozenset({"node", "jest", "vitest", "mocha"}),
    "js": frozenset({"jest", "vitest", "mocha", "node"}),
    "doc": frozenset({"cargo test"}),
}
_NAMED = re.compile(
    r"\b(pytest|unittest|jest|vitest|mocha|eslint|ruff|flake8|pylint|prettier|black|clippy|biome|mypy|tsc|"
    r"pyright|javac|"
    r"junit|go test|cargo test|go build|cargo build|cargo check|go vet)\b"
)
_LANGUAGE = re.compile(r"\b(python|rust|go|javascript|node|js) (?:\w+ )?(?:tests?|specs?|suite)\b")
_MAKE = re.compile(r"\bmake (\w+ )?(?:succeed|pass|fail|finish|complet|stop|exit|report|run|work)")
_SUITE = r"\b(?:tests?|test suites?|test cases?|test files?|specs?|suites?)\b(?!::|/|[_.]\w)"
_GENERIC = (
    (re.compile(_SUITE + r"|\b(?:both|all) packages\b|\bci\b"), Kind.TESTS),
    (
        re.compile(
            r"\b(?:type[- ]?check(?:s|ing|er|ed)?|types(?= (?:and|all|pass|are|check))|typescript|type errors?)\b"
        ),
        Kind.TYPES,
    ),
    (re.compile(r"\b(?:lint|linter|linting|formatting)\b"), Kind.LINT),
    (
        re.compile(
            r"\b(?:the|our|this|production|release) (?:\w+ )?build\b|^builds?\b|\bbuild (?:succe|pass|fail)|"
            r"\b(?:compiles?|compiled|compilation|compiler|crate)\b|\b(?:project|app|code|package|image|it) builds\b"
        ),
        Kind.BUILD,
    ),
)
_EVERYTHING = re.compile(
    r"\b(?:all|every) (?:the )?checks?\b|\beverything (?:now |still )?(?:pass|is (?:now )?green)|^all (?:is |now "
    r")?green\b"
)
_COMPILERS = frozenset({"javac", "rustc", "go build", "make", "gcc", "tsc", "clippy"})
_RENAMED = {"cargo build": "rustc", "cargo check": "rustc", "go vet": "go build"}

# Walking back from "tests": these words leave it all of them, and these end the walk.
_NEUTRAL = words(
    "unit automated existing whole entire full complete test suite regression other remaining same jest pytest "
    "mocha vitest "
    "node rust go python javascript js cargo junit doc react java project project's repository's npm make"
)
_ENDS = words(
    "all the our my its every each both of and or but so then now still also that not no none any a an this are "
    "is was were "
    "with has have in because only currently again some most many few there run runs ran running rerun passing failing "
    "lint types checks reports report shows show one two three four five six seven eight nine ten eleven twelve "
    "zero these "
    "those if when while after before to for on as more broken failed passed skipped single green"
)
_ALL_OF = (
    r"(?! (?:all|every|both|(?:the|our|this|its) (?:log|report|output|first|second|last|latest|run|test|project|repo|"
    r"suite)))"
)
_PLACE = re.compile(
    r"\b(?:tests?|specs?|suite) (?:that|which|covering|touching|against)\b|"
    rf"\b(?:tests?|specs?|suite) (?:in|on|for|under|of|from)\b{_ALL_OF}|"
    rf"\b(?:pass|passes|passed|passing|fail|fails|failed|failing) (?:in|on|for|under|against)\b{_ALL_OF}(?! \d| total)"
)
_SUBJECT_NAME = re.compile(r"\w+tests? (?:is|are|was|were|pass|has)\b")
_ELSEWHERE = re.compile(
    r"\b(?:on|in|under|against) (?:the )?(?:windows|macos|mac|linux|ci|staging|production|main|master|python \d|"
    r"node \d|"
    r"my machine|another|other|every platform|all platforms)"
)


def subjects(clause: str) -> list[Subject]:
    """What the clause speaks of, narrowest first."""
    lower = clause.lower()
    named: list[str] = [_RENAMED.get(found[0], found[0]) for found in _NAMED.finditer(lower)]
    if made := _MAKE.search(lower):
        if (made[1] or "").strip() in {"test", "tests", "check"}:
            return [Subject(Kind.TESTS, frozenset({"make", "tests"}))]
        named.append("make")
    if _EVERYTHING.search(lower):
        return [Subject(Kind.TESTS, frozenset(KINDS))]
    scoped = _is_scoped(lower)
    if named:
        return [
            Subject(KINDS[name], frozenset({name}), scoped and KINDS[name] is Kind.TESTS)
            for name in dict.fromkeys(named)
        ]
    found = [Subject(kind, scoped=scoped and kind is Kind.TESTS) for pattern, kind in _GENERIC if pattern.search(lower)]
    if spoken := _LANGUAGE.search(lower):
        return [Subject(Kind.TESTS, _ALIASES[spoken[1]], scoped)]
    if any(subject.kind is Kind.BUILD for subject in found):
        return [Subject(Kind.BUILD, _COMPILERS)]
    return found


def _is_scoped(lower: str) -> bool:
    if _ELSEWHERE.search(lower) or _SUBJECT_NAME.match(lower):
        return True
    found = re.search(_SUITE, lower)
    if found is None:
        return False
    if found[0] == "test" and not re.search(
        r"\b(?:no|every|any|each|all|single|neither|\d|one|go|cargo|npm|"
        r"make)\b",
        lower,
    ):
        return not re.match(r" (?:suites?|runs?|command|results?|output|report|status|summary)\b", lower[found.end() :])
    for word in reversed(re.findall(r"[a-z'_.-]+|\d+", lower[: found.start()])[-5:]):
        if word in _ENDS or word.isdecimal():
            break
        if word not in _NEUTRAL:
            return True
    return bool(_PLACE.search(lower))
