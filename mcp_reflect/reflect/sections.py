"""Markdown cut at its headings: `## Title`, `**Title:** text`, `1. Title`, a title underlined, `Title: text`.

What is no heading by its form alone (`Title: text`, a numbered or bulleted title) counts only where its name is
among the ones the caller knows; a bold line or label counts always.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass

_FENCE = re.compile(r"\s*(```|~~~)")
_HASH = re.compile(r"\s{0,3}#+\s*(?P<title>[^#\s].*)$")
_BULLET = re.compile(r"^\s*(?:[-*+•‣◦–—·]|\(?\d{1,3}[.)]|[a-zA-Z][.)])\s+")
_BOLD = re.compile(
    r"\s*(?P<mark>\*\*\*|\*\*|__)(?P<title>[^*_\n]{1,80}?)(?P=mark)\s*(?P<colon>[:：–—-]?)\s*(?P<rest>.*)$"
)
_LABEL = re.compile(r"\s*(?P<title>[^\W\d_][^:：\n]{0,60}?)\s*[:：]\s*(?P<rest>.*)$")
_UNDERLINE = re.compile(r"\s*(?:={3,}|-{3,})\s*$")
_NUMBERING = re.compile(r"^\s*(?:\(?\d{1,3}[.):]+|[ivxIVX]{1,4}[.)])\s*")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class Section:
    """A heading as it was written, without its marks, and the text under it. The first has no title."""

    title: str
    body: str

    @property
    def name(self) -> str:
        """The title as a field name: `2. What went wrong:` is `what_went_wrong`."""
        return field_name(self.title)


def field_name(title: str) -> str:
    """Lower case with underscores, without numbers before it and signs around it; camelCase is taken apart."""
    words = _CAMEL.sub("_", _NUMBERING.sub("", title))
    return re.sub(r"\W+", "_", words.replace("'", "").replace("’", "")).strip("_").lower()


def split_sections(markdown: str, known: Collection[str]) -> list[Section]:
    """The sections of a text in order; `known` holds the field names that make a weak form a heading."""
    found: list[tuple[str, list[str]]] = [("", [])]
    fenced = False
    lines = markdown.splitlines()
    for place, line in enumerate(lines):
        fenced ^= bool(_FENCE.match(line))
        heading = None if fenced else _heading(line, known)
        if heading is not None:
            found.append((heading[0], [heading[1]]))
        elif not fenced and _UNDERLINE.match(line) and _is_title(lines[place - 1 : place], known):
            found[-1][1].pop()
            found.append((lines[place - 1].strip(), []))
        else:
            found[-1][1].append(line)
    sections = [Section(title, "\n".join(body).strip()) for title, body in found]
    return [section for section in sections if section.title or section.body]


def _heading(line: str, known: Collection[str]) -> tuple[str, str] | None:
    """The title that a line gives and the text after it."""
    if match := _HASH.match(line):
        # The signs that close it are taken off here: a pattern for them would look at long lines again and again.
        whole = match["title"].rstrip().rstrip("#").rstrip()
        title, colon, rest = whole.partition(":")
        if colon and field_name(title) in known:
            return _clean(title), rest.strip(" *_")
        return _clean(whole), ""
    bare = _BULLET.sub("", line, count=1)
    return _bold(bare, known, bulleted=bare != line) or _plain(bare, known, bulleted=bare != line)


def _bold(bare: str, known: Collection[str], *, bulleted: bool) -> tuple[str, str] | None:
    match = _BOLD.match(bare)
    if match is None:
        return None
    labelled = match["title"].strip().endswith((":", "：")) or match["colon"] in {":", "："} or not match["rest"]
    named = field_name(match["title"]) in known and (labelled or match["colon"])
    return (_clean(match["title"]), match["rest"]) if named or (labelled and not bulleted) else None


def _plain(bare: str, known: Collection[str], *, bulleted: bool) -> tuple[str, str] | None:
    if (match := _LABEL.match(bare)) and field_name(match["title"]) in known:
        return _clean(match["title"]), match["rest"]
    return (_clean(bare), "") if bulleted and field_name(bare) in known else None


def _is_title(before: list[str], known: Collection[str]) -> bool:
    """Whether the line before an underline can be a title: short, not a list, or a known name."""
    line = before[0].strip() if before else ""
    return bool(line) and (
        field_name(line) in known or (len(line) <= 60 and not _BULLET.match(line) and line[-1] not in ".,;")
    )


def _clean(title: str) -> str:
    return title.strip().strip("*_`:： ").strip()


def items(body: str) -> list[str]:
    """The items of a list, at any depth and with any sign, each on one line; text without bullets is one item."""
    found: list[str] = []
    for line in body.splitlines():
        bullet = _BULLET.match(line)
        text = line[bullet.end() :].strip() if bullet else line.strip()
        if not text:
            continue
        if bullet or not found:
            found.append(text)
        else:
            found[-1] = f"{found[-1]} {text}"
    return found
