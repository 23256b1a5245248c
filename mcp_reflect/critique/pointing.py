"""The lines of tool results that decide a claim, by the words that they and their result share with it.

It only points: whether the claim holds is for the reader of the lines.
"""

import math
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final, NamedTuple

from mcp_reflect.critique.runs import clipped_results
from mcp_reflect.models.critique import Line, ToolResult
from mcp_reflect.text.stemmer import STOP_WORDS, stem

MOST_LINES: Final = 3
LONGEST_LINE: Final = 200
_MOST_TERMS: Final = 40
_BEST_RESULTS: Final = 5  # whose lines are compared
_ENDS: Final = 6  # lines at the start and at the end of an output that are compared in any case
_MOST_COMPARED: Final = 60  # lines
_MOST_LOOKED_AT: Final = 2_000  # characters of a line, for what it tells

# What a score is made of. A result or a line that has all the words of a claim has 1 for them. Each part was taken out
# by itself and stays only where benchmarks.pointing missed it.
_NEAR: Final = (
    1.5  # the result shares words with the whole work: a claim alone seldom names its subject
)
_ALIKE: Final = 0.7  # how much a word counts in whose place another one stands that programs use
_NUMBER: Final = 0.7  # the most that a number weighs: a wrong one stands nowhere
_COUNTED: Final = 0.5  # a line has a number beside a word of a claim that counts something
_SUMS_UP: Final = 0.5  # a line says in sum how it ended
_TELLS: Final = 0.25  # a line says how something ended
_EDGE: Final = 0.1  # the first line of an output and its last one
_COVERED: Final = 0.5  # how much less a word counts that a chosen line has shown
_STALE: Final = 0.5  # of a run that was made again
_LEAST: Final = 0.15  # the least that a result shares with the claim

# A number, and the parts of a name in camel case.
_TERM: Final = re.compile(r"\d+(?:[.,:]\d+)*|[A-Z]?[^\W\dA-Z_]+|[A-Z]+(?![^\W\dA-Z_])")
# Words that programs use for one another: a claim with one of them is decided by lines with the others.
_GROUPS: Final = tuple(
    frozenset(map(stem, group.split()))
    for group in (
        (
            "pass passed green succeeded success ok fail failed failing failures errors red broken clean exception "
            "traceback fatal works runs crash"
        ),
        "test tests spec specs suite",
        "type types typing mypy pyright tsc tsgo",
        "lint linter ruff eslint flake8 biome clippy",
        "add added insertion insertions create created wrote written",
        "delete deleted remove removed deletion deletions",
        "clean dirty untracked modified uncommitted unstaged staged",
        "coverage cover total",
        "server port listening localhost http url local",
        "ms milliseconds time took elapsed duration latency respond responds response",
        "touched changed",
    )
)
_OUTCOME: Final = _GROUPS[0] | frozenset(
    map(stem, "run build built installed deployed happy fine".split())
)
_TELLING: Final = re.compile(
    r"\b(?:passed|failed|passing|failing|errors?|exception|fatal|denied|refused|rejected|not found|panic|warnings?|"
    r"exit(?:ed|code)?|success\w*|ok|timed out|no such|requires? approval|in background|unchanged|up to date)\b|"
    r"\w(?:Error|Exception)\b|[✓✔✖✗❌]|\b[45]\d\d\b|^Traceback ",
    re.IGNORECASE,
)
_SUMMARY: Final = re.compile(
    r"\b\d+ (?:\w+ )?(?:passed|failed|passing|failing|errors?|warnings?|problems?)\b|\bexit|"
    r"^[^\w\n]{0,4}(?:(?:\w+ )?error\b|fail(?:ed|ure)?\b|fatal|passed|success|found \d)",
    re.IGNORECASE,
)
_BESIDE_NUMBER: Final = re.compile(
    r"(?<![\w.])\d[\d.,]{0,20}%?\s{0,3}([^\W\d_]+)(?: ([^\W\d_]+))?|([^\W\d_]{1,30})\s?[:=]\s{0,9}\d"
)
_COUNTS: Final = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|no|none|both|all)\b",
    re.IGNORECASE,
)


def terms(text: str) -> set[str]:
    """Return the words and numbers of meaning in a text, words by their stem."""
    words = {word.lower() for word in _TERM.findall(text)}
    return {
        word.replace(",", "") if word[0].isdigit() else stem(word)
        for word in words - STOP_WORDS
        if len(word) > 1 or word.isdigit()
    }


class _Hit(NamedTuple):
    """Where a term of a claim occurs: lines with it or a similar term, lines with itself, results, commands."""

    lines: set[int]
    exact: set[int]
    results: set[int]
    commands: set[int]


class _Scored(NamedTuple):
    """A line, by its number in all results, with the terms of the claim that it has."""

    score: float
    line: int
    terms: frozenset[str]


class _Traits(NamedTuple):
    """The properties of a line: how clearly it says how something ended, and the words next to its numbers."""

    tells: float
    beside_numbers: frozenset[str]


class Evidence:
    """All tool results for a piece of work, oldest first; very long ones keep only their start and end."""

    def __init__(self, results: Sequence[ToolResult]) -> None:
        self.results = [
            replace(result, tool=(result.tool or "").strip()) for result in clipped_results(results)
        ]
        self._commands = [terms(result.tool or "") for result in self.results]
        self._lines: list[str] = []  # of all results, one after another
        self._result_of: list[int] = []
        self._ranges: list[range] = []
        self._index: dict[str, list[int]] = defaultdict(list)  # the lines that have a term
        for place, result in enumerate(self.results):
            lines = [line for line in result.content.split("\n") if line.strip()]
            self._ranges.append(range(len(self._lines), len(self._lines) + len(lines)))
            for number, line in zip(self._ranges[-1], lines, strict=True):
                for term in terms(line):
                    self._index[term].append(number)
            self._lines += lines
            self._result_of += [place] * len(lines)
        self._words = sorted(self._index)
        latest = {result.tool: place for place, result in enumerate(self.results)}
        # A result without a command, or of a mere shell, is not known to be a repetition.
        self._replaced = {
            place
            for place, result in enumerate(self.results)
            if " " in (tool := result.tool or "") and latest[tool] > place
        }

    def near(self, context: str) -> list[float]:
        """Return how near each result is to the whole work, 0 to 1."""
        wanted = [term for term in sorted(terms(context)) if not term[0].isdigit()]
        scores = [0.0] * len(self.results)
        for term in wanted:
            hit = self._hit(term, {term})
            having = hit.results | hit.commands
            for place in having:
                rare = math.log(1 + len(self.results) / len(having))
                scores[place] += rare / math.log(10 + len(self.results[place].content))
        most = max(scores, default=0.0) or 1.0
        return [score / most for score in scores]

    def lines_for(
        self, claim: str, near: Sequence[float], most: int = MOST_LINES
    ) -> tuple[Line, ...]:
        """Return the lines that decide a claim, the most telling one first; none where no output speaks of it."""
        hits = {term: self._hit(term, _alike(term)) for term in sorted(terms(claim))[:_MOST_TERMS]}
        if not hits or not self.results:
            return ()
        weights = {term: self._weight(term, hit) for term, hit in hits.items()}
        whole = sum(weights.values())
        weights = {term: weight / whole for term, weight in weights.items()}
        shared = [0.0] * len(self.results)
        for term, hit in hits.items():
            for place in hit.results | hit.commands:
                shared[place] += weights[term]
        ranks = {
            place: own + _NEAR * near[place] for place, own in enumerate(shared) if own >= _LEAST
        }
        best = sorted(ranks, key=lambda place: (ranks[place], place), reverse=True)[:_BEST_RESULTS]
        scored = [
            _Scored((score + ranks[place]) * (_STALE if place in self._replaced else 1), line, own)
            for place in best
            for score, line, own in self._scored(self._ranges[place], claim, hits, weights)
        ]
        return tuple(self._shown(line) for line in self._covering(scored, weights, most))

    def _hit(self, term: str, alike: Iterable[str]) -> _Hit:
        exact = {line for word in self._forms(term) for line in self._index[word]}
        lines = exact.union(*(self._index[word] for other in alike for word in self._forms(other)))
        commands = {place for place, own in enumerate(self._commands) if not own.isdisjoint(alike)}
        return _Hit(lines, exact, {self._result_of[line] for line in lines}, commands)

    def _forms(self, term: str) -> list[str]:
        begin = end = bisect_left(self._words, term)
        short = term[0].isdigit() or len(term) <= 3
        while end < len(self._words) and (
            self._words[end] == term if short else self._words[end].startswith(term)
        ):
            end += 1
        return self._words[begin:end]

    def _weight(self, term: str, hit: _Hit) -> float:
        """Weigh a term by how few results have it."""
        having = len(hit.results | hit.commands)
        rare = math.log(1 + len(self.results) / having) if having else _NUMBER
        return min(rare, _NUMBER) if term[0].isdigit() else rare

    def _scored(
        self, own: range, claim: str, hits: dict[str, _Hit], weights: dict[str, float]
    ) -> Iterable[_Scored]:
        """Score the lines of a result by shared terms, by their place, and by telling what the claim tells."""
        counts = bool(_COUNTS.search(claim))
        # What gives no number says how something is: that it went well, that it is there.
        is_outcome = not counts or not _OUTCOME.isdisjoint(hits)
        percent = {"%"} if "%" in claim else set[str]()
        counted = percent | {
            word for term in hits if counts and not term[0].isdigit() for word in _alike(term)
        }
        for line in own:
            traits, shared = (
                _traits(self._lines[line][:_MOST_LOOKED_AT]),
                frozenset(term for term, hit in hits.items() if line in hit.lines),
            )
            is_end = line - own.start < _ENDS or own.stop - line <= _ENDS
            if not (shared or is_end or (is_outcome and traits.tells)):
                continue
            score = sum(
                weights[term] * (1 if line in hits[term].exact else _ALIKE) for term in shared
            )
            score += _EDGE * (line in (own[0], own[-1])) + traits.tells * is_outcome
            score += _COUNTED * (not counted.isdisjoint(traits.beside_numbers))
            yield _Scored(score, line, shared)

    def _covering(
        self, lines: Sequence[_Scored], weights: dict[str, float], most: int
    ) -> list[_Scored]:
        """Choose lines one by one: terms that a chosen line has shown count for less in the next one."""
        chosen: list[_Scored] = []
        left: list[_Scored] = sorted(lines, key=lambda line: (line.score, line.line), reverse=True)[
            :_MOST_COMPARED
        ]
        shown: set[str] = set()
        while left and len(chosen) < most:
            best = max(
                left,
                key=lambda line: (
                    line.score - _COVERED * sum(map(weights.__getitem__, line.terms & shown))
                ),
            )
            chosen.append(best)
            left = [other for other in left if self._lines[other.line] != self._lines[best.line]]
            shown |= best.terms
        return chosen

    def _shown(self, line: _Scored) -> Line:
        text, place = self._lines[line.line], self._result_of[line.line]
        if len(text) > LONGEST_LINE:
            words = re.search(
                rf"\b(?:{'|'.join(map(re.escape, sorted(line.terms)))})", text, re.IGNORECASE
            )
            first = words.start() if words and line.terms else 0
            begin = max(0, min(first - LONGEST_LINE // 3, len(text) - LONGEST_LINE))
            text = text[begin : begin + LONGEST_LINE]
        result = self.results[place]
        text = text.strip(" \t=") or text
        return Line(
            text=text, tool=result.tool or None, exit_code=result.exit_code, result=place + 1
        )


def _alike(term: str) -> set[str]:
    """Return a term and those that programs use for it."""
    return {term, *(word for group in _GROUPS if term in group for word in group)}


@lru_cache(maxsize=50_000)
def _traits(line: str) -> _Traits:
    beside = {
        stem(word.lower())
        for found in _BESIDE_NUMBER.finditer(line)
        for word in found.groups()
        if word
    }
    beside |= {"%"} if "%" in line and re.search(r"\d ?%", line) else set[str]()
    tells = 0.0 if not _TELLING.search(line) else _SUMS_UP if _SUMMARY.search(line) else _TELLS
    return _Traits(tells, frozenset(beside))
