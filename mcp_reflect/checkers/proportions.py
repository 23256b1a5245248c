"""Percentages, ratios, parts and totals against the numbers beside them in the same sentence or table.

Percentages are compared as they are rounded, with one point of play where the text says "about". Words for a ratio
("half", "twice") allow 15 %. A total is contradicted only where it misses the sum of its parts by at most 15 %:
a number further off sums something else.
"""

import re
from collections.abc import Iterator
from typing import Final

from mcp_reflect.checkers.base import Finding, Work
from mcp_reflect.checkers.evidence.rows import NUMBERS, amount
from mcp_reflect.checkers.sentences import LONGEST, sentences
from mcp_reflect.models.critique import Status

_PLAY: Final = 0.15
_N: Final = r"(?:[$€£]\s?)?(\d{1,3}(?:[,'’]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?:\s?(k|M|bn)(?![a-zA-Z]))?"
_UNIT: Final = r"(?:\s?(ms|s|min|h|[kKMGT]i?B|%|€|EUR|USD|CHF|[a-z]+))?"
_PERCENT: Final = re.compile(r"(\d+(?:\.\d+)?)\s?(?:%|per ?cent)")
_ABOUT: Final = re.compile(
    r"\b(?:about|around|roughly|nearly|almost|some|approximately|over|under|just|ca)\W{0,2}$|[~≈]\s?$", re.IGNORECASE
)
_SHARE: Final = re.compile(rf"\b{_N}(?:\s[a-z]+)?\s(?:of|out of)\s(?:the\s|all\s)?{_N}(?![\d%])")
_BETWEEN: Final = re.compile(r"^(?:\s\w+){0,3}\s?(?:\(|[,:—–-]\s|is\s|are\s|=\s|makes\s|or\s)(?!and)[^\d;()]{0,30}$")
_CHANGES: Final = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\bfrom\s{_N}{_UNIT}\s(?:down |up )?to\s{_N}{_UNIT}",
        rf"(?<![\w.]){_N}{_UNIT}\s?(?:→|->)\s?{_N}{_UNIT}",
        rf"(?<![\w.]){_N}{_UNIT}\s(?:instead of|against|down from|up from|compared (?:to|with)|vs\.?)\s{_N}{_UNIT}",
    )
)
_CHANGED: Final = re.compile(
    r"(\d+(?:\.\d+)?)\s?(?:%|per ?cent)\s(?:\w+ )?(?:increase|decrease|reduction|drop|rise|growth|gain|more|less|fewer|"
    r"lower|higher|smaller|shorter|saved)\b|\b(?:increased?|decreased?|reduced|dropped|rose|grew|fell|up|down|cut|"
    r"(?:increase|decrease|reduction|drop|rise|growth|gain)\sof)\s(?:by\s)?(?:about\s)?(\d+(?:\.\d+)?)\s?%",
    re.IGNORECASE,
)
_RATIO: Final = {
    "half": 0.5, "a third": 1 / 3, "a quarter": 0.25, "a fifth": 0.2, "a tenth": 0.1, "three quarters": 0.75,
    "two thirds": 2 / 3, "twice": 2.0, "double": 2.0, "three times": 3.0,
}  # fmt: skip
_FACTOR: Final = {
    **{f"{prefix}{end}": 1e3**power for power, prefix in enumerate(("", "k", "M", "G", "T")) for end in ("B", "iB")},
    **dict(zip(("KB", "ms", "min", "h"), (1e3, 1e-3, 60.0, 3600.0), strict=True)),
}
_COUNT: Final = rf"(\d+|{'|'.join(NUMBERS)})"
_LIST: Final = re.compile(rf"\b{_COUNT} \w+(?: \w+)?: ([^.;:]+)", re.IGNORECASE)
_PART: Final = re.compile(rf"{_COUNT} [a-z]\w+", re.IGNORECASE)
_HEX: Final = re.compile(r"\b0x([0-9a-fA-F]{1,12})\s?=\s?(\d{1,15})\b(?!\s?[-+*/×·x])")
_YEARS: Final = re.compile(
    r"\b([12]\d{3})\s?(?:to|until|–)\s?([12]\d{3})(?:, | \(|: )(?:that is |which is |makes )?"
    rf"{_COUNT} years\b"
)
_HEADING: Final = re.compile(r"\b(?:total|sum|summe|gesamt|altogether)\b", re.IGNORECASE)


class ProportionsChecker:
    """Percentages, ratios, totals and hexadecimal numbers that the text itself decides."""

    name = "proportions"

    def check(self, work: Work) -> Iterator[Finding]:
        """A finding for each that can be computed; what is open gets none."""
        for number, step in enumerate(work.steps[:400], start=1):
            if not any(char.isdigit() for char in step):
                continue
            found = [each for sentence in sentences(step) for each in _in_sentence(sentence.plain[:LONGEST])]
            for claim, holds, expected in (*found, *_in_tables(step)):
                status = Status.PASS if holds else Status.FAIL
                yield Finding(step=number, status=status, claim=claim, expected=None if holds else expected)


_Judged = tuple[str, bool, str]
"""A claim, if it holds, and what would."""


def _in_sentence(text: str) -> Iterator[_Judged]:
    yield from _shares(text)
    yield from _changes(text)
    yield from _lists(text)
    for found in _YEARS.finditer(text):
        years = int(found[2]) - int(found[1])
        yield found[0], amount(found[3]) in {years, years + 1}, f"{years} years"  # both ends may be counted
    for found in _HEX.finditer(text):
        yield found[0], int(found[1], 16) == int(found[2]), str(int(found[1], 16))


def _value(number: str, suffix: str | None = "") -> float:
    return float(re.sub(r"[,'’]", "", number)) * {"k": 1e3, "M": 1e6, "bn": 1e9}.get(suffix or "", 1.0)


def _agrees(said: str, value: float, before: str) -> bool:
    play = max(0.5 * 10.0 ** -len(said.partition(".")[2]), 1.0 if _ABOUT.search(before) else 0.0) + 1e-9
    return abs(float(said) - value) <= play


def _shares(text: str) -> Iterator[_Judged]:
    """Check "11,640 of 12,000 (98.5 %)": one share and one percentage in the sentence."""
    shares, percents = list(_SHARE.finditer(text)), list(_PERCENT.finditer(text))
    if len(shares) != 1 or len(percents) != 1:
        return
    share, percent = shares[0], percents[0]
    part, whole = _value(share[1], share[2]), _value(share[3], share[4])
    between = text[share.end() : percent.start()]
    if not whole or part > whole or not _BETWEEN.search(between) or re.match(r"\sof\b", text[percent.end() :]):
        return
    value, before = 100 * part / whole, text[: percent.start()]
    holds = _agrees(percent[1], value, before) or _agrees(percent[1], 100 - value, before)
    yield text[min(share.start(), percent.start()) : max(share.end(), percent.end())], holds, f"{value:.4g} %"


def _changes(text: str) -> Iterator[_Judged]:
    """Check one change of a number: "200k → 250k, a 20 % increase", "312 MB instead of 1.25 GB: half of it"."""
    changes = [(found, form) for form, pattern in enumerate(_CHANGES) for found in pattern.finditer(text)]
    percents = list(_CHANGED.finditer(text))
    words = [word for word in _RATIO if re.search(rf"\b{word}\b", text)] if changes and changes[0][1] == 2 else []
    if len(changes) != 1 or len(percents) + len(words) != 1 or len(_PERCENT.findall(text)) != len(percents):
        return
    found, form = changes[0]
    first, suffix, unit, second, suffix2, unit2 = found.groups()
    before = _value(first, suffix or suffix2) * _FACTOR.get(unit or unit2 or "", 1.0)
    after = _value(second, suffix2 or suffix) * _FACTOR.get(unit2 or unit or "", 1.0)
    if form == 2:
        before, after = after, before
    if not before or not after or "%" in (unit, unit2):
        return
    if words:
        ratio, stated = after / before, _RATIO[words[0]]
        accepted = (value for value in (stated, 1 / stated, 1 - stated) if value > 0)
        holds = any(abs(ratio - value) <= _PLAY * value for value in accepted)
        yield text[found.start() :].strip(), holds, f"{ratio:.3g} times"
        return
    said = percents[0]
    number, place = (said[1], said.start(1)) if said[1] else (said[2], said.start(2))
    value = abs(100 * (after - before) / before)
    claim = text[min(found.start(), said.start()) : max(found.end(), said.end())]
    yield claim, _agrees(number, value, text[:place]), f"{value:.4g} %"


def _lists(text: str) -> Iterator[_Judged]:
    """Check "18 people: ten from engineering, five from sales and three from support"."""
    for found in _LIST.finditer(text):
        parts = [_PART.match(part) for part in re.split(r",? and |, ", found[2].strip())]
        values = [amount(part[1]) for part in parts if part]
        total = amount(found[1])
        if len(parts) > 1 and len(values) == len(parts) and abs(sum(values) - total) <= _PLAY * total:
            yield found[0], sum(values) == total, f"{sum(values):g}"


def _in_tables(step: str) -> Iterator[_Judged]:
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
