"""The lines of tool results that decide a claim: the results that share its terms first, then the lines in them.

It only points: whether the claim holds is for the reader of the lines.
"""

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import nlargest
from itertools import islice
from typing import Final

from mcp_reflect.critique.runs import clipped_results, kinds_of_command
from mcp_reflect.models.critique import Line, ToolResult
from mcp_reflect.proofs.kinds import ProofKind
from mcp_reflect.stemmer import stem

MOST_LINES: Final = 3
LONGEST_LINE: Final = 200
_BEST_RESULTS: Final = 8  # whose lines are compared
_MOST_TERMS: Final = 40
_MOST_HITS: Final = 1_000  # of a claim's terms in one result
_COVERED: Final = 0.5  # how much less a term counts that a chosen line has shown
_NEAR: Final = 1.5  # how much the nearness of a result to the whole work counts
_SUMS_UP: Final = 0.5  # how much a line counts that sums up, and one that tells how it ended
_ENDS: Final = 0.25
_STALE: Final = 0.5  # of a run that was made again, or of another kind than the claim is about
_SHORT: Final = 12  # lines of an output that are all compared
_MOST_TELLING: Final = 40
_MOST_SCORED: Final = 150  # lines of an output, those that share most
_CLOSE: Final = 0.6  # the least nearness of a result whose lines are compared anyway
_LEAST: Final = 0.15  # the least share of a claim's terms, by weight, that a result about it has
_OF_KIND: Final = 1.0  # how much a run of the kind counts that the claim is about
_NUMERALS: Final = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|no|none|both|all"

_STOP: Final = frozenset(
    "a an the of in on at to for from by with and or but so as is are was were be been has have had it its this that "
    "these those there then than also still just only now not no all any each every some i we you he she they them our "
    "my your which who what when where will would can could do does did done after before into over under out up off "
    "about if while because per both one more most very new whole last first left remaining again come comes came "
    "stands shows show says said gives gave found finds".split()
)
_TERM: Final = re.compile(r"\d+(?:[.,:]\d+)*%?|[^\W\d_]+")
_SUBWORDS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# Words that programs use for one another: a claim with one of them is decided by lines with the others.
_ALIKE: Final[tuple[frozenset[str], ...]] = tuple(
    frozenset(map(stem, group.split()))
    for group in (
        (
            "pass passed passing passes green succeed succeeded success ok fail failed failing fails failure failures "
            "error errors red broken clean exception traceback fatal works worked runs crash crashes"
        ),
        "skip skipped ignored pending xfail",
        "test tests spec specs suite",
        "type types typing mypy pyright tsc tsgo",
        "lint linter ruff eslint flake8 biome clippy",
        "add added adds insertion insertions create created wrote written",
        "delete deleted remove removed deletion deletions",
        "commit committed commits",
        "push pushed origin ahead behind rejected",
        "coverage cover total",
        "health status http healthy",
        "ms milliseconds time took elapsed duration latency respond responds response",
        "line lines",
        "percent %",
    )
)
# What a claim calls a kind of run; commands are in the table of kinds.
_KINDS: Final = {
    ProofKind.TYPES: re.compile(r"\btype[ -]?check|\btypes? (?:errors?|are)\b|\btyping\b", re.IGNORECASE),
    ProofKind.LINT: re.compile(r"\blint", re.IGNORECASE),
    ProofKind.TESTS: re.compile(r"\btests?\b|\bsuite\b", re.IGNORECASE),
    ProofKind.BUILD: re.compile(r"\bbuilds?\b|\bcompil(?:es?|ed|ation)\b", re.IGNORECASE),
}
_OUTCOME: Final = _ALIKE[0] | frozenset(map(stem, "run ran build builds built installed deployed happy fine".split()))
# How something ended: a count of what passed or failed, an error, an exit code, a status.
_ENDED: Final = re.compile(
    r"\b(?:passed|failed|passing|failing|errors?|exception|fatal|denied|refused|rejected|not found|panic|warnings?|"
    r"exit(?:ed|code)?|success\w*|ok)\b|\w(?:Error|Exception)\b|[✓✔✖✗❌]|\b[45]\d\d\b|^Traceback ",
    re.IGNORECASE | re.MULTILINE,
)
_SUMMARY: Final = re.compile(
    r"\b\d+ (?:\w+ )?(?:passed|failed|passing|failing|errors?|warnings?|problems?)\b|\bexit|"
    r"^[^\w\n]{0,4}(?:(?:\w+ )?error\b|fail(?:ed|ure)?\b|fatal|passed|success|found \d)",
    re.IGNORECASE,
)
_FREE_NUMBER: Final = re.compile(r"(?<![\w./-])\d[\d.,]*(?![\w/-])|\d%|:\d+")
_EARLIER: Final = re.compile(
    r"\b(?:at first|first (?:run|attempt)|initially|earlier|before (?:the|my|that)|to begin with|originally)\b",
    re.IGNORECASE,
)
_NUMBER: Final = re.compile(rf"\d|\b(?:{_NUMERALS})\b", re.IGNORECASE)


def terms(text: str) -> list[str]:
    """Return the words and numbers of meaning in a text, words by their stem, in their order, each once."""
    found: list[str] = []
    for match in _TERM.finditer(_SUBWORDS.sub(" ", text)):
        word = match[0].lower()
        if word not in _STOP and (len(word) > 1 or word.isdigit()):
            found.append(word.rstrip("%").replace(",", "") if word[0].isdigit() else stem(word))
    return list(dict.fromkeys(found))[:_MOST_TERMS]


class _Asked:
    """What is looked for: the claim's terms, what it counts, and whether it says how something went."""

    def __init__(self, claim: str) -> None:
        wanted = terms(claim)
        self.forms = {term: _forms(term) for term in wanted}
        self.kinds = frozenset(kind for kind, pattern in _KINDS.items() if pattern.search(claim))
        self.earlier = bool(_EARLIER.search(claim))
        self.numbers = bool(_NUMBER.search(claim))
        # What gives no number says how something is: that it went well, that it is there.
        self.outcome = not self.numbers or not _OUTCOME.isdisjoint(wanted)
        nouns = {term for term in wanted if not term[0].isdigit()} if self.numbers else set[str]()
        likes = {word for noun in nouns for group in _ALIKE if noun in group for word in group}
        words = "|".join(map(re.escape, sorted(nouns | likes)))
        self.counted = (
            re.compile(rf"(?<![\w.])\d[\d.,]*%?\s{{0,3}}(?:\w+ )?(?:{words})|(?:{words})\w*\s?[:=]\s*\d", re.IGNORECASE)
            if nouns
            else None
        )


@dataclass(frozen=True, slots=True)
class _Scored:
    """A line with what it shares with the claim: `hit` are the terms, `score` their weight and what else tells."""

    score: float
    place: tuple[int, int]
    hit: frozenset[str]
    text: str


class Output:
    """One tool result, as it is looked through: its lines, and where they begin."""

    def __init__(self, result: ToolResult) -> None:
        self.tool, self.exit_code, self.text = (result.tool or "").strip(), result.exit_code, result.content
        self.own_terms = frozenset(terms(self.tool))
        self.found: dict[str, set[int]] = {}  # the lines that have a term, kept for the next claim

    def has(self, term: str) -> bool:
        """True if the command or the name of the tool has a term."""
        return term in self.own_terms

    @cached_property
    def kinds(self) -> frozenset[ProofKind]:
        """The kinds of run that its command is known for."""
        return kinds_of_command(self.tool)

    @cached_property
    def telling(self) -> list[int]:
        """The lines that say how it ended, the last ones; every line of a short output."""
        if len(self.starts) <= _SHORT:
            return [number for number in range(len(self.starts)) if self.line(number).strip()]
        return sorted({self.line_of(found.start()) for found in _ENDED.finditer(self.text)})[-_MOST_TELLING:]

    @cached_property
    def lower(self) -> str:
        return self.text.lower()

    @cached_property
    def starts(self) -> list[int]:
        """The places where lines begin."""
        return [0, *(found.end() for found in re.finditer("\n", self.text))]

    def line_of(self, place: int) -> int:
        return bisect_right(self.starts, place) - 1

    def line(self, number: int) -> str:
        end = self.starts[number + 1] - 1 if number + 1 < len(self.starts) else len(self.text)
        return self.text[self.starts[number] : end]


class Evidence:
    """All tool results of a work, the latest last; of very long ones their start and their end."""

    def __init__(self, results: Sequence[ToolResult]) -> None:
        self.outputs = [Output(result) for result in clipped_results(results)]
        latest = {output.tool: place for place, output in enumerate(self.outputs) if output.tool}
        # A result without a command, or of a mere shell, is not known to be a repetition.
        self.replaced = frozenset(
            place for place, output in enumerate(self.outputs) if " " in output.tool and latest[output.tool] != place
        )

    def near(self, context: str) -> list[float]:
        """Return how near each result is to the whole work, 0 to 1: a claim alone seldom names its subject."""
        forms = {term: _forms(term, alike=False) for term in terms(context) if not term[0].isdigit()}
        found = [
            {term for term, form in forms.items() if output.has(term) or form.search(output.lower)}
            for output in self.outputs
        ]
        having = Counter(term for terms in found for term in terms)
        scores = [
            sum(math.log(1 + len(found) / having[term]) * (2 if output.has(term) else 1) for term in terms)
            / math.log(10 + len(output.text))
            for terms, output in zip(found, self.outputs, strict=True)
        ]
        most = max(scores, default=0.0) or 1.0
        return [score / most for score in scores]

    def lines_for(self, claim: str, near: Sequence[float], most: int = MOST_LINES) -> tuple[Line, ...]:
        """Return the lines that decide a claim, the most telling one first; none where no output speaks of it."""
        asked = _Asked(claim)
        if not asked.forms or not self.outputs:
            return ()
        hits = [self._hits(output, asked.forms) for output in self.outputs]
        weights = self._weights(hits, asked.forms)
        whole = sum(weights.values())
        of_kind = {place for place, output in enumerate(self.outputs) if not asked.kinds.isdisjoint(output.kinds)}
        shared = [
            self._rank(place, hits[place], weights, asked) / whole + _OF_KIND * (place in of_kind)
            for place in range(len(hits))
        ]
        if max(shared) < _LEAST:
            return ()
        ranks = {
            place: own + _NEAR * near[place]
            for place, own in enumerate(shared)
            if own >= _LEAST or near[place] >= _CLOSE
        }
        ranked = sorted(ranks, key=lambda place: (ranks[place], place), reverse=True)[:_BEST_RESULTS]
        stale = set[int]() if asked.earlier else set(self.replaced)
        if of_kind:  # "All checks passed!" of another kind of run does not speak of this one
            stale |= {place for place, output in enumerate(self.outputs) if output.kinds} - of_kind
        scored = [
            replace(line, score=(line.score + ranks[place]) * (_STALE if place in stale else 1))
            for place in ranked
            for line in self._scored(place, hits[place], weights, asked)
        ]
        return tuple(self._shown(line, asked.forms) for line in _covering(scored, weights, most))

    def _hits(self, output: Output, forms: dict[str, re.Pattern[str]]) -> dict[str, set[int]]:
        """Return the lines that have each term."""
        found: dict[str, set[int]] = {}
        for term, pattern in forms.items():
            if term not in output.found:
                likely = any(word in output.lower for word in _alike(term))
                matches = islice(pattern.finditer(output.lower), _MOST_HITS) if likely else ()
                output.found[term] = {output.line_of(match.start()) for match in matches}
            if places := output.found[term]:
                found[term] = places
        return found

    def _weights(self, hits: Sequence[dict[str, set[int]]], forms: dict[str, re.Pattern[str]]) -> dict[str, float]:
        """Weigh each term by how few results have it; a number by little, since a wrong one stands nowhere."""
        weights: dict[str, float] = {}
        for term in forms:
            having = sum(term in hits[place] or output.has(term) for place, output in enumerate(self.outputs))
            rare = math.log(1 + len(self.outputs) / having) if having else 0.7
            weights[term] = min(rare, 0.7) if term[0].isdigit() else rare
        return weights

    def _rank(self, place: int, hit: dict[str, set[int]], weights: dict[str, float], asked: "_Asked") -> float:
        """Return the weight of the terms that a result shares with the claim, those of its command above all."""
        output = self.outputs[place]
        score = sum(
            weight * (1.4 if output.has(term) else 1.0)
            for term, weight in weights.items()
            if term in hit or output.has(term)
        )
        return score * (1 + (-0.1 if asked.earlier else 0.1) * place / len(self.outputs))

    def _scored(
        self, place: int, hit: dict[str, set[int]], weights: dict[str, float], asked: "_Asked"
    ) -> Iterator[_Scored]:
        """Score the lines of a result: by shared terms, and by telling what the claim tells: a count, an outcome."""
        output, whole = self.outputs[place], sum(weights.values())
        by_line: dict[int, set[str]] = {}
        for term, lines in hit.items():
            for line in lines:
                by_line.setdefault(line, set()).add(term)
        for line in output.telling:
            by_line.setdefault(line, set())
        likely = nlargest(_MOST_SCORED, by_line.items(), key=lambda item: sum(weights[term] for term in item[1]))
        for line, own in likely:
            text = output.line(line)
            score = sum(weights[term] for term in own) / whole
            if asked.counted and asked.counted.search(text):
                score += 0.5
            elif asked.numbers and not _FREE_NUMBER.search(text):
                score -= 0.2
            if asked.outcome and _ENDED.search(text):
                score += _SUMS_UP if _SUMMARY.search(text) else _ENDS
            yield _Scored(score + 0.1 * line / len(output.starts), (place, line), frozenset(own), text)

    def _shown(self, line: _Scored, forms: dict[str, re.Pattern[str]]) -> Line:
        place, number = line.place
        output = self.outputs[place]
        text = output.line(number)
        if len(text) > LONGEST_LINE:
            lower = text.lower()
            first = next((m.start() for term in line.hit if (m := forms[term].search(lower))), 0) if line.hit else 0
            begin = max(0, min(first - LONGEST_LINE // 3, len(text) - LONGEST_LINE))
            text = text[begin : begin + LONGEST_LINE]
        return Line(
            text=text.strip(" \t=") or text, tool=output.tool or None, exit_code=output.exit_code, result=place + 1
        )


def _covering(lines: Sequence[_Scored], weights: dict[str, float], most: int) -> list[_Scored]:
    """Choose lines one by one: terms that a chosen line has shown count for less in the next one."""
    whole = sum(weights.values()) or 1.0
    chosen: list[_Scored] = []
    left: list[_Scored] = sorted(lines, key=lambda line: (line.score, line.place), reverse=True)[:60]
    shown: set[str] = set()
    while left and len(chosen) < most:
        best = max(
            left, key=lambda line: line.score - _COVERED * sum(weights[term] for term in line.hit & shown) / whole
        )
        chosen.append(best)
        left = [other for other in left if other.text != best.text]
        shown |= best.hit
    return chosen


def _alike(term: str) -> set[str]:
    """Return a term and those that programs use for it."""
    return {term, *(word for group in _ALIKE if term in group for word in group)}


def _forms(term: str, *, alike: bool = True) -> re.Pattern[str]:
    """Return the pattern of a term and the words like it: a number as a whole, a stem with its endings."""
    if term[0].isdigit():
        return re.compile(rf"(?<![\w.]){re.escape(term)}(?!\d|[.,]\d)")
    words = _alike(term) if alike else {term}
    forms = (
        re.escape(word) + ("" if len(word) > 3 else r"[^\W\d_]{0,4}(?![^\W\d_])" if len(word) > 2 else r"(?![^\W_])")
        for word in sorted(words)
    )
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(forms)})")
