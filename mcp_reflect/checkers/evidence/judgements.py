"""The evidence as rules look things up in it, and their judgements."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Final, TypeVar, cast

from mcp_reflect.checkers.evidence.results import Result
from mcp_reflect.checkers.evidence.rows import NUMBERS, STOP, Row, stems
from mcp_reflect.checkers.sentences import Sentence
from mcp_reflect.models.critique import Status

T = TypeVar("T")
_MOST_MATCHES: Final = 2_000
_MOST_ROWS: Final = 3_000

# Words of a report that state nothing of their own.
PLAIN: Final = stems(
    "test tests suite suites pass passes passed passing fail fails failed failing green red clean fine ok run ran "
    "runs whole full complete every everything total result results output shows show report reports says said see "
    "seen count counts there are is was found find finds has have took takes take end ends ended finish finished done "
    "successfully without error errors warning warnings problem problems new old first second last one other same "
    "still yet again here command tool check checks checked linter lint build builds built compile compiles compiled "
    "code exit status returned returns gives gave got after before unit skipped remain remaining left single exactly "
    "coverage collect collected item items log script program package packages raise raises raised throw throws crash "
    "crashes panic panics stop stops stopped cause import complain complains type field response endpoint doc "
    "language test_ commit committed including included according expected failure failures altogether together "
    "overall respectively currently during which because more them window period went go goes change changed rise rose "
    "fall fell drop dropped grow grew reach reached stand stands line lines file files row rows entry entries record "
    "records value number amount month day state true false"
)
# Words of a count or a whole suite, which pick no part of it.
_OF_A_RUN: Final = stems(
    "only but except entire existing continue continues spec specs case cases example examples issue issues finding "
    "findings violation violations expected initially attempt left fixable deselected xfailed xfail log cleanly since "
    "do does did succeed succeeds list lists pending ignored collection fix rust python go node java javascript "
    "typescript ms automated regression crate package packages project repository both " + " ".join(NUMBERS)
)
# Words that a goal may have and a result must show.
_JUDGING: Final = stems(
    "not no never without failed broken valid correct right wrong safe complete done fixed faster slower more less "
    "most least best worst largest smallest highest lowest first last"
)


@dataclass(frozen=True, slots=True)
class Judgement:
    """One claim judged: `expected` is what the evidence shows instead."""

    status: Status
    claim: str
    expected: str | None = None
    detail: str | None = None


def judged(claim: str, *, holds: bool, shown: str) -> Judgement:
    """Return a pass, or a fail with what the evidence shows."""
    return Judgement(Status.PASS, claim) if holds else Judgement(Status.FAIL, claim, shown.strip()[:160])


class Evidence:
    """All tool results as read, for one check: `text` joins them in lower case, and what is looked up is kept.

    `runs` are runs of programs, `cases` their tests, `rows` all other rows.
    """

    def __init__(self, results: tuple[Result, ...], goal: str = "") -> None:
        self.results, self.goal = results, goal
        self.text = "\n".join(result.text for result in results).lower()
        self.rows = list(islice((row for result in results for row in result.rows), _MOST_ROWS))
        self.runs = [row for result in results for row in result.runs if row.kind]
        self.cases = [row for result in results for row in result.runs if not row.kind]
        self._matches: dict[str, list[re.Match[str]]] = {}
        self._built: dict[Callable[[Evidence], object], object] = {}

    @cached_property
    def names(self) -> frozenset[str]:
        """The stems of the programs that ran."""
        return stems(" ".join([*(result.tool for result in self.results), *(run.source for run in self.runs)]))

    @cached_property
    def shown(self) -> frozenset[str]:
        """The stems of all words that the results or the goal show."""
        return stems(self.text) | stems(self.goal) - _JUDGING

    def unknown_words(self, text: str, *, shown: bool = True) -> set[str]:
        """Return the words of a text that say something alone and, if `shown`, stand in no result."""
        known = PLAIN | self.names | (self.shown if shown else _OF_A_RUN)
        words = {word.strip(".,:;").lower() for word in re.findall(r"[^\W\d_][\w./@-]*", text)} - STOP
        return {
            word
            for word in words
            if len(word) > 1 and not stems(word) <= known and (word.isalpha() or not shown or word not in self.text)
        }

    def every(self, pattern: str) -> list[re.Match[str]]:
        """Every match in all results; a text is gone through once for each pattern, however many ask."""
        if pattern not in self._matches:
            self._matches[pattern] = list(islice(re.finditer(pattern, self.text, re.MULTILINE), _MOST_MATCHES))
        return self._matches[pattern]

    def once(self, build: Callable[["Evidence"], T]) -> T:
        """Return what is built from the evidence, built when it is first asked for."""
        if build not in self._built:
            self._built[build] = build(self)
        return cast("T", self._built[build])


def latest(runs: Iterable[Row]) -> list[Row]:
    """Return the last run of each program."""
    return list({run.source: run for run in runs}.values())


SentenceRule = Callable[[Sentence, Evidence], Iterable[Judgement]]
ClauseRule = Callable[[str, Sentence, Evidence], Iterable[Judgement]]
"""Judges one clause that is stated, not hoped or planned, of a sentence."""
