"""Percentages, ratios, parts and totals against the numbers beside them in the same sentence or table.

Percentages are compared as they are rounded, with one point of play where the text says "about". Words for a ratio
("half", "twice") allow 15 %. A total is contradicted only where it misses the sum of its parts by at most 15 %:
a number further off sums something else.
"""

import re
from collections.abc import Iterator
from typing import Final

from mcp_reflect.checkers.base import Finding, Work
from mcp_reflect.checkers.sentences import LONGEST, sentences
from mcp_reflect.models.critique import Status

_PLAY: Final = 0.15
_N: Final = r"(?:[$€£]\s?)?(\d{1,3}(?:[,'’]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)\s?(k|M|bn)?"
_UNIT: Final = r"(?:\s?(?:ms|s|min|h|[kKMGT]i?B|MB|GB|kB|%|€|EUR|USD|CHF|[a-z]+))?"
_PERCENT: Final = re.compile(r"(\d+(?:\.\d+)?)\s?(?:%|per ?cent)")
_ABOUT: Final = re.compile(
    r"\b(?:about|around|roughly|nearly|almost|some|approximately|over|under|just|ca)\W{0,2}$|[~≈]\s?$",
    re.IGNORECASE,
)
_SHARE: Final = re.compile(rf"\b{_N}(?:\s[a-z]+)?\s(?:of|out of)\s(?:the\s|all\s)?{_N}(?![\d%])")
_BETWEEN: Final = re.compile(r"^(?:\s\w+){0,3}\s?(?:\(|[,—–-]\s|is\s|are\s|=\s|makes\s|or\s)(?!and)[^\d;()]{0,30}$")
_CHANGE: Final = re.compile(
    rf"\bfrom\s{_N}({_UNIT})\s(?:down |up )?to\s{_N}({_UNIT})|(?<![\w.]){_N}({_UNIT})\s?(?:→|->)\s?{_N}({_UNIT})"
)
_CHANGED: Final = re.compile(
    r"(\d+(?:\.\d+)?)\s?(?:%|per ?cent)\s(?:\w+ )?(?:increase|decrease|reduction|drop|rise|growth|gain|more|less|fewer|"
    r"lower|higher|smaller|shorter|saved)\b|\b(?:increased?|decreased?|reduced|dropped|rose|grew|fell|up|down|cut)\s(?:by\s)?"
    r"(?:about\s)?(\d+(?:\.\d+)?)\s?%",
    re.IGNORECASE,
)
_YEARS: Final = re.compile(
    r"\bfrom (?:\w+ )?([12]\d{3}) (?:to|until) (?:\w+ )?([12]\d{3})\b[^.;]{0,20}?\b(\d{1,4}) years\b", re.IGNORECASE
)
_RATIO: Final = {
    "half": 0.5, "a third": 1 / 3, "a quarter": 0.25, "a fifth": 0.2, "a tenth": 0.1, "three quarters": 0.75,
    "two thirds": 2 / 3, "twice": 2.0, "double": 2.0, "three times": 3.0,
}  # fmt: skip
_PAIR: Final = re.compile(
    rf"(?<![\w.]){_N}\s?([kKMGT]i?B|ms|s|min|h)?\s(?:instead of|against|down from|up from|compared (?:to|with)|"
    rf"versus|vs\.?)\s{_N}\s?([kKMGT]i?B|ms|s|min|h)?\b"
)
_FACTOR: Final = {
    **{f"{prefix}{end}": 1e3**power for power, prefix in enumerate(("", "k", "M", "G", "T")) for end in ("B", "iB")},
    "KB": 1e3,
    "ms": 1e-3,
    "s": 1.0,
    "min": 60.0,
    "h": 3600.0,
}
_TOTAL: Final = re.compile(
    rf"(?<![\d.,]){_N}{_UNIT}\s(?:in all|altogether|in total|all told|together|insgesamt|zusammen)\b|"
    rf"\b(?:in all|altogether|in total|together|total(?:ling)?|zusammen)\b[^\d]{{0,12}}{_N}",
    re.IGNORECASE,
)
_HEX: Final = re.compile(r"\b0x([0-9a-fA-F]{1,12})\s?=\s?(\d{1,15})\b(?!\s?[-+*/×·x])")
_HEADING: Final = re.compile(r"\b(?:total|sum|summe|gesamt|altogether)\b", re.IGNORECASE)


class ProportionsChecker:
    """Percentages, ratios, totals and hexadecimal numbers that the text itself decides."""

    name = "proportions"

    def check(self, work: Work) -> Iterator[Finding]:
        """A finding for each that can be computed; what is open gets none."""
        for number, step in enumerate(work.steps[:400], start=1):
            if not any(char.isdigit() for char in step):
                continue
            for claim, holds, expected in (*_in_sentences(step), *_in_tables(step)):
                status = Status.PASS if holds else Status.FAIL
                yield Finding(step=number, status=status, claim=claim, expected=None if holds else expected)


def _in_sentences(step: str) -> Iterator[tuple[str, bool, str]]:
    for sentence in sentences(step):
        text = sentence.plain[:LONGEST]
        for rule in (_shares, _changes, _year_spans, _ratios, _totals, _hexadecimals):
            yield from rule(text)


def _value(number: str, suffix: str | None = "") -> float:
    return float(re.sub(r"[,'’]", "", number)) * {"k": 1e3, "M": 1e6, "bn": 1e9}.get(suffix or "", 1.0)


def _agrees(said: str, value: float, before: str) -> bool:
    places = len(said.partition(".")[2])
    play = max(0.5 * 10.0**-places, 1.0 if _ABOUT.search(before) else 0.0) + 1e-9
    return abs(float(said) - value) <= play


def _shares(text: str) -> Iterator[tuple[str, bool, str]]:
    """Check "11,640 of 12,000 (98.5 %)": one share and one percentage in the sentence."""
    shares, percents = list(_SHARE.finditer(text)), list(_PERCENT.finditer(text))
    if len(shares) != 1 or len(percents) != 1:
        return
    share, percent = shares[0], percents[0]
    part, whole = _value(share[1], share[2]), _value(share[3], share[4])
    between = text[share.end() : percent.start()]
    after = text[percent.end() :]
    if not whole or part > whole or not _BETWEEN.search(between) or re.match(r"\sof\b", after):
        return
    value = 100 * part / whole
    before = text[: percent.start()]
    holds = _agrees(percent[1], value, before) or _agrees(percent[1], 100 - value, before)
    yield text[min(share.start(), percent.start()) : max(share.end(), percent.end())], holds, f"{value:.4g} %"


def _changes(text: str) -> Iterator[tuple[str, bool, str]]:
    """Check "from 200k to 250k, a 20 % increase": one change and one percentage that names its kind."""
    changes, said = list(_CHANGE.finditer(text)), list(_CHANGED.finditer(text))
    if len(changes) != 1 or len(said) != 1 or len(_PERCENT.findall(text)) != 1:
        return
    groups = changes[0].groups()
    first, unit, second, other = groups[:2], groups[2], groups[3:5], groups[5]
    if first[0] is None:
        first, unit, second, other = groups[6:8], groups[8], groups[9:11], groups[11]
    units = [(text_unit or "").strip() for text_unit in (unit, other)]
    suffixes = [first[1] or second[1], second[1] or first[1]]
    scale = [_FACTOR.get(units[0] or units[1], 1.0), _FACTOR.get(units[1] or units[0], 1.0)]
    before = _value(first[0] or "0", suffixes[0]) * scale[0]
    after = _value(second[0] or "0", suffixes[1]) * scale[1]
    number = said[0][1] or said[0][2]
    if not before or "%" in "".join(units):
        return
    value = abs(100 * (after - before) / before)
    holds = _agrees(number, value, text[: said[0].start(1 if said[0][1] else 2)])
    start, end = min(changes[0].start(), said[0].start()), max(changes[0].end(), said[0].end())
    yield text[start:end], holds, f"{value:.4g} %"


def _year_spans(text: str) -> Iterator[tuple[str, bool, str]]:
    for found in _YEARS.finditer(text):
        span = abs(int(found[2]) - int(found[1]))
        yield found[0], int(found[3]) in (span, span + 1), f"{span} years"


def _ratios(text: str) -> Iterator[tuple[str, bool, str]]:
    """Check "312 MB instead of 1.25 GB: about half the size"."""
    pairs = list(_PAIR.finditer(text))
    words = [word for word in _RATIO if re.search(rf"\b{word}\b", text, re.IGNORECASE)]
    if len(pairs) != 1 or len(words) != 1:
        return
    pair = pairs[0]
    units = [pair[3] or pair[6] or "", pair[6] or pair[3] or ""]
    first = _value(pair[1], pair[2]) * _FACTOR.get(units[0], 1.0)
    second = _value(pair[4], pair[5]) * _FACTOR.get(units[1], 1.0)
    if not first or not second:
        return
    ratio = first / second
    word = _RATIO[words[0]]
    accepted = (word, 1 / word, 1 - word)
    holds = any(abs(ratio - value) <= _PLAY * value for value in accepted if value > 0)
    yield text[pair.start() :].strip(), holds, f"{ratio:.3g} times"


def _totals(text: str) -> Iterator[tuple[str, bool, str]]:
    """Check "3,904, 1,187 and 412 — 5,530 in all"."""
    totals = list(_TOTAL.finditer(text))
    if len(totals) != 1 or re.search(r"\b(?:each|per|times|x|every)\b|[=×*]", text):
        return
    number = totals[0][1] or totals[0][3]
    others = [
        found
        for found in re.finditer(rf"(?<![\w.-]){_N}", text[: totals[0].start()])
        if not re.match(r"\s?%", text[found.end() :])
    ]
    values = [_value(found[1], found[2]) for found in others]
    total = _value(number)
    if len(values) >= 2 and max(values) < total and abs(sum(values) - total) <= _PLAY * total:
        holds = abs(sum(values) - total) <= 0.5 * 10.0 ** -len(number.partition(".")[2])
        yield text[others[0].start() : totals[0].end()], holds, f"{sum(values):g}"


def _hexadecimals(text: str) -> Iterator[tuple[str, bool, str]]:
    for found in _HEX.finditer(text):
        yield found[0], int(found[1], 16) == int(found[2]), str(int(found[1], 16))


def _in_tables(step: str) -> Iterator[tuple[str, bool, str]]:
    """The last row of a markdown table, where it is called a total, against the sum of each column."""
    rows: list[list[str]] = []
    for line in [*step.split("\n"), ""]:
        if line.lstrip().startswith("|"):
            rows.append([cell.strip().strip("*") for cell in line.strip().strip("|").split("|")])
            continue
        if len(rows) > 3 and _HEADING.search(rows[-1][0]):
            for column in range(1, len(rows[-1])):
                cells = [row[column] for row in rows[2:] if len(row) > column]
                numbers = [re.fullmatch(_N, cell) for cell in cells]
                if len(cells) == len(rows) - 2 and all(numbers):
                    values = [_value(found[1], found[2]) for found in numbers if found]
                    total = sum(values[:-1])
                    yield cells[-1], abs(total - values[-1]) < 0.005, f"{total:,.10g}"
        rows = []
