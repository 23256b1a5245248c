"""The outputs that bear on a work, each by its few telling lines, within some 2,500 bytes.

An output bears on a work where it shares rare words with it, or is a run of the kind that the work speaks of. Of the
runs of one command the newest counts. Nothing is said of what the lines mean: the reader judges.
"""

import heapq
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from mcp_reflect.models.critique import Claim, Shown, ToolResult
from mcp_reflect.text.stemmer import STOP_WORDS, stem

MOST_BYTES: Final = 2_400
"""Of a digest, the line about what is left out included."""

_MOST_SHOWN: Final = 7  # outputs
_MOST_LINES: Final = (10, 8, 6, 4, 3, 3)  # of each output, the first one first
_LONGEST_LINE: Final = 120
_LONGEST_TOOL: Final = 70
_MOST_READ: Final = 24_000  # characters of an output: a third from its start, the rest from its end
_MOST_READ_IN_ALL: Final = 600_000
_MOST_RESULTS: Final = 400  # the latest
_LONG_PAGE: Final = 3_000  # characters
_MOST_WORK: Final = 20_000

_TERM: Final = re.compile(r"\d+(?:[.,:]\d+)*|[A-Z]?[^\W\dA-Z_]+|[A-Z]+(?![^\W\dA-Z_])")
_COLOR: Final = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
# A line that sums a run up.
_SUMMARY: Final = re.compile(
    r"\b\d+ (?:\w+ )?(?:passed|failed|passing|failing|errors?|warnings?|problems?|rows?|files?|tests?|issues?)\b"
    r"|^\W{0,4}(?:error|fail|fatal|passed|success|found \d)|^\W{0,2}HTTP/|^[A-Z]{2,} \d+$|^\(\d+ rows?\)"
    r"|\b(?:exit code|status)\b.{0,12}\d",
    re.IGNORECASE,
)
# A line that says how something ended, what it counts, or which file it changes.
_TELLING: Final = re.compile(
    r"(?i:\b(?:passed|failed|passing|failing|errors?|exception|fatal|denied|refused|rejected|not found|panic|warnings?|"
    r"success\w*|timed? ?out|no such|up to date|unchanged|changed|clean|total|rows?|affected|coverage|started|"
    r"listening|deployed|pushed|created|skipped)\b)|\w(?:Error|Exception)\b|[✓✔✖✗❌]|^[+-]{3} [ab]/|^diff --git"
    r"|^Traceback|^\(?\d+ \w+\)?|: \d+$"
)


def terms_of(text: str) -> set[str]:
    """Return the words of a text by their stems, and its numbers, without the words of every text."""
    words = {word.lower() for word in _TERM.findall(text)} - STOP_WORDS
    return {
        word.replace(",", "") if word[0].isdigit() else stem(word)
        for word in words
        if len(word) > 1 or word.isdigit()
    }


def _tells(number: str) -> bool:
    """True for a number that stands for itself: of three digits, or with a fraction."""
    return sum(map(str.isdigit, number)) >= 3


@dataclass(frozen=True)
class _Output:
    """An output as far as it is read. `number` counts from 1, over all that were sent."""

    number: int
    result: ToolResult
    content: str

    @cached_property
    def lines(self) -> list[str]:
        """Its lines without indents and colors, each once, in their order."""
        text = _COLOR.sub("", self.content) if "\x1b" in self.content else self.content
        found = dict.fromkeys(line.strip(" \t=─│") for line in text.replace("\r", "\n").split("\n"))
        found.pop("", None)
        return list(found)

    @cached_property
    def terms(self) -> set[str]:
        return terms_of(f"{self.result.tool or ''} {self.content}")

    @cached_property
    def tool_terms(self) -> set[str]:
        return terms_of(self.result.tool or "")


@dataclass(frozen=True, slots=True)
class Digest:
    """The outputs that are shown, and how many others there are."""

    shown: tuple[Shown, ...] = ()
    left_out: int = 0


class Outputs:
    """The outputs that were sent with a work, read once."""

    def __init__(self, results: Sequence[ToolResult]) -> None:
        self.count = len(results)
        self._outputs = _as_read(results)
        self._frequency = Counter(term for output in self._outputs for term in output.terms)

    def digest(self, claims: Sequence[Claim]) -> Digest:
        """Return the outputs that bear on the claims, the newest of each command first."""
        sentences = [claim.text[:_MOST_WORK] for claim in claims[:200]]
        wanted = self._weights(sentences)
        if not wanted:
            return Digest(left_out=self.count)
        scored = [(self._bearing(output, wanted), output) for output in self._outputs]
        bearing = [(score, output) for score, output in scored if score > 0]
        chosen = _newest_of_each(sorted(bearing, key=lambda pair: -pair[0]))[:_MOST_SHOWN]
        pairs = zip(chosen, _MOST_LINES, strict=False)
        shown = _within_bytes([_shown(output, wanted, most) for output, most in pairs])
        return Digest(shown=tuple(shown), left_out=self.count - len(shown))

    def _weights(self, sentences: Iterable[str]) -> dict[str, float]:
        """Return the words of the work that outputs share, each by how rare it is among them, up to 1."""
        count = len(self._outputs)
        weights = {
            term: math.log(1 + count / self._frequency[term])
            for sentence in sentences
            for term in terms_of(sentence)
            if self._frequency[term]
        }
        largest = max(weights.values(), default=1.0)
        return {term: weight / largest for term, weight in weights.items()}

    def _bearing(self, output: _Output, wanted: Mapping[str, float]) -> float:
        """Return how much an output bears on the work; 0 where it shares nothing but a number."""
        shared = output.terms & wanted.keys()
        words = {term for term in shared if not term[0].isdigit() or _tells(term)}
        if not words:
            return 0.0
        counted = {term: wanted[term] * (1.0 if term in words else 0.5) for term in shared}
        weight = _weight_of(output, counted)
        length = math.log(10 + len(output.content) / 200)
        names_it = 0.6 if output.tool_terms & words else 0.0
        sums_up = 0.3 if _SUMMARY.search(output.content[-400:]) else 0.0
        return weight / length + names_it + sums_up + 0.02 * output.number / max(1, self.count) * 20


def _weight_of(output: _Output, counted: Mapping[str, float]) -> float:
    """Return what the shared words of an output weigh: of a long page those of its tool and its two best lines alone.

    A page that speaks of everything shares many words with any work, each on a line of its own.
    """
    if len(output.content) <= _LONG_PAGE:
        return sum(counted.values())
    by_line = (terms_of(line[:2_000]) & counted.keys() for line in output.lines)
    best = heapq.nlargest(2, by_line, key=lambda terms: sum(counted[term] for term in terms))
    together = set(output.tool_terms & counted.keys()).union(*best)
    return sum(counted[term] for term in together)


def _as_read(results: Sequence[ToolResult]) -> list[_Output]:
    """Return the latest outputs, oldest first, as far as they are read."""
    left = _MOST_READ_IN_ALL
    outputs: list[_Output] = []
    for number in range(len(results), max(0, len(results) - _MOST_RESULTS), -1):
        result = results[number - 1]
        content = _ends_of(result.content, min(left, _MOST_READ))
        left -= len(content)
        if content.strip():
            outputs.append(_Output(number, result, content))
    return outputs[::-1]


def _ends_of(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    head = most // 3
    return f"{text[:head]}\n{text[len(text) - (most - head) :]}" if most > 0 else ""


def _newest_of_each(outputs: Iterable[tuple[float, _Output]]) -> list[_Output]:
    """Return the outputs by their weight, of those of one command the newest alone."""
    newest: dict[str, _Output] = {}
    for _, output in outputs:
        key = " ".join((output.result.tool or f"output {output.number}").split())
        known = newest.get(key)
        if known is None or known.number < output.number:
            newest[key] = output
    return list(newest.values())


def _shown(output: _Output, wanted: Mapping[str, float], most: int) -> Shown:
    return Shown(
        result=output.number,
        tool=_short_tool(output.result.tool or f"output {output.number}"),
        exit_code=output.result.exit_code,
        lines=tuple(_telling_lines(output.lines, wanted, most)),
    )


def _telling_lines(lines: Sequence[str], wanted: Mapping[str, float], most: int) -> list[str]:
    """Return the few lines that tell most, in their order; the last one that sums the run up is among them.

    A line counts for what those before it do not say: a word that was shown counts for half the next time.
    """
    last = len(lines) - 1
    left = dict(wanted)
    terms = [terms_of(line[:2_000]) & wanted.keys() for line in lines]
    facts = [_fact(line, at, last) for at, line in enumerate(lines)]
    chosen: list[int] = []
    summary = next((at for at in range(last, -1, -1) if _SUMMARY.search(lines[at][:300])), None)
    if summary is not None:
        chosen.append(summary)
    while len(chosen) < min(most, len(lines)):
        repeated = 0.6 ** len(chosen)
        scores = {
            at: sum(left[term] for term in terms[at]) + facts[at] * repeated
            for at in range(len(lines))
            if at not in chosen
        }
        best = max(scores, key=lambda at: (scores[at], -at))
        if not scores[best] and chosen:
            break
        chosen.append(best)
        for term in terms[best]:
            left[term] *= 0.5
    return [_cut(lines[at], _LONGEST_LINE, wanted) for at in sorted(chosen)]


def _fact(line: str, at: int, last: int) -> float:
    """Return how much a line tells by its form and its place alone."""
    score = 0.8 if _SUMMARY.search(line[:300]) else 0.0
    score += 0.35 if _TELLING.search(line[:300]) else 0.0
    score += 0.3 if at == last else 0.1 if at >= last - 4 else 0.0
    return score + (0.15 if at == 0 else 0.0)


def _cut(line: str, most: int, wanted: Mapping[str, float]) -> str:
    """Return a line, or of a long one the part around the first word that the work shares."""
    if len(line) <= most:
        return line
    place = next(
        (
            found.start()
            for found in _TERM.finditer(line[:20_000])
            if terms_of(found[0]) & wanted.keys()
        ),
        0,
    )
    start = max(0, min(place - most // 3, len(line) - most))
    piece = line[start : start + most - 2]
    return f"{'…' if start else ''}{piece}{'…' if start + most < len(line) else ''}"


def _short_tool(name: str) -> str:
    """Return the start of a command without `cd FOLDER &&`, or the end of a path."""
    name = re.sub(r"^(?:\(?\s*+cd\s[^;&|\n]{1,300}(?:&&|;)\s*+)+(?=\S)", "", " ".join(name.split()))
    if len(name) <= _LONGEST_TOOL:
        return name
    if " " not in name and "/" in name:
        return f"…{name[1 - _LONGEST_TOOL :]}"
    return f"{name[: _LONGEST_TOOL - 1]}…"


def _within_bytes(shown: Sequence[Shown]) -> list[Shown]:
    """Return the first of them that fit."""
    found: list[Shown] = []
    left = MOST_BYTES - 80
    for one in shown:
        size = len(one.text.encode()) + 6
        if size > left and found:
            break
        found.append(one)
        left -= size
    return found
