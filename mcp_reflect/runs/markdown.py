"""Markdown split at its headings, and the insights in a reflection written so."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from mcp_reflect.models.reflection import Insights
from mcp_reflect.runs.text import word_set

_FENCE: Final = re.compile(r"\s*(```|~~~)")
_HASH: Final = re.compile(r"\s{0,3}#+\s*(?P<title>[^#\s].*)$")
_BULLET: Final = re.compile(r"^\s*(?:[-*+•‣◦–—·]|\(?\d{1,3}[.)]|[a-zA-Z][.)])\s+")
_BOLD: Final = re.compile(
    r"\s*(?P<mark>\*\*\*|\*\*|__)(?P<title>[^*_\n]{1,80}?)(?P=mark)\s*(?P<colon>[:：–—-]?)\s*(?P<rest>.*)$"
)
_LABEL: Final = re.compile(r"\s*(?P<title>[^\W\d_][^:：\n]{0,60}?)\s*[:：]\s*(?P<rest>.*)$")
_INSIDE: Final = re.compile(
    r"(?<!\S)(?:(?:[-*+•‣◦–—·|]|\(?\d{1,3}[.)])\s+)?(?=(?P<title>[^\s:：][^:：\n]{0,50})[:：])\S"
)
_NUMBERING: Final = re.compile(r"^\s*(?:\(?\d{1,3}[.):]+|[ivxIVX]{1,4}[.)])\s*")


@dataclass(frozen=True, slots=True)
class Section:
    """A heading without its marks, and the text under it. Text before the first heading has an empty title."""

    title: str
    body: str

    @property
    def name(self) -> str:
        """The title as a field name: `2. What went wrong:` is `what_went_wrong`."""
        return field_name(self.title)


def field_name(title: str) -> str:
    """Lower case with underscores, without numbers before it and signs around it; camelCase is taken apart."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", _NUMBERING.sub("", title))
    return re.sub(r"\W+", "_", words.replace("'", "").replace("’", "")).strip("_").lower()


def split_sections(markdown: str, known: Collection[str]) -> list[Section]:
    """The sections of a text in order.

    Headings are `## Title` and `**Title:** text`; and `Title: text` or a numbered or bulleted title
    where its field name is in `known`, also inside of a line where the text has several of them.
    """
    parts: list[tuple[str, list[str]]] = [("", [])]
    fenced = False
    several = len({field_name(match["title"]) for match in _INSIDE.finditer(markdown)}.intersection(known)) > 1
    for line in markdown.splitlines():
        fenced ^= bool(_FENCE.match(line))
        for piece in _pieces(line, known) if several and not fenced else (line,):
            heading = None if fenced else _heading(piece, known)
            if heading is not None:
                parts.append((heading[0], [heading[1]]))
            else:
                parts[-1][1].append(piece)
    sections = [Section(title, "\n".join(body).strip()) for title, body in parts]
    return [section for section in sections if section.title or section.body]


def _pieces(line: str, known: Collection[str]) -> list[str]:
    """A line parted before the known titles in it: in bold, after a sign, or with a capital after a small letter."""
    cuts = [0]
    for match in _INSIDE.finditer(line):
        title, before = match["title"], line[: match.start()][-80:].split()[-1:]
        if before and field_name(title) in known:
            begins = title.startswith(("**", "__")) or (title[0].isupper() and before[0][0].islower())
            cuts += [match.start()] if begins or before[0][-1] in ".!?;,…。！？；*`)" else []
    return [line[start:end].strip() for start, end in pairwise((*cuts, len(line)))] if cuts[1:] else [line]


def _heading(line: str, known: Collection[str]) -> tuple[str, str] | None:
    """The title that a line gives and the text after it."""
    if match := _HASH.match(line):
        # The signs that close it are taken off here: a pattern for them would look at long lines again and again.
        title, colon, rest = match["title"].rstrip().rstrip("#").rstrip().partition(":")
        labels = bool(colon) and field_name(title) in known
        return (_clean(title), rest.strip(" *_")) if labels else (_clean(f"{title}{colon}{rest}"), "")
    bare = _BULLET.sub("", line, count=1)
    bulleted = bare != line
    if match := _BOLD.match(bare):
        label = match["title"].strip().endswith((":", "：")) or match["colon"] in {":", "："} or not match["rest"]
        named = field_name(match["title"]) in known and (label or match["colon"])
        if named or (label and not bulleted):
            return _clean(match["title"]), match["rest"]
    if (match := _LABEL.match(bare)) and field_name(match["title"]) in known:
        return _clean(match["title"]), match["rest"]
    return (_clean(bare), "") if bulleted and field_name(bare) in known else None


def _clean(title: str) -> str:
    return title.strip("*_`:： \t")


def items(body: str) -> list[str]:
    """The items of a list, at any depth and with any sign, each on one line; text without bullets is one item."""
    listed: list[str] = []
    for line in body.splitlines():
        bullet = _BULLET.match(line)
        text = line[bullet.end() :].strip() if bullet else line.strip()
        if text and (bullet or not listed):
            listed.append(text)
        elif text:
            listed[-1] = f"{listed[-1]} {text}"
    return listed


# The meaning of a heading by a part of its name ("Key strengths of the run"), and names that count as weak headings.
_STEMS: Final = {
    "summary": re.compile(r"summary|overview|conclusion|^tl_?dr$|^abstract$|^reflection$|^analysis$"),
    "strengths": re.compile(r"strength|positive|went_well|worked_well|^what_worked$|^successes$|^pros$|^good$"),
    "improvements": re.compile(
        r"improve|weakness|shortcoming|limitation|went_wrong|could_be_better|pitfall|did_?no?t_work|^(?:issues|problems|mistakes|cons)$"
    ),
    "recommendation": re.compile(
        r"recommend|suggestion|next_step|next_time|action_item|going_forward|^strategy$|^advice$"
    ),
}
_KNOWN: Final = word_set("""
    summary overview executive_summary tldr reflection analysis conclusion strengths what_went_well what_worked
    successes pros improvements areas_for_improvement weaknesses what_went_wrong what_did_not_work what_didnt_work
    what_could_be_better issues problems mistakes cons recommendation recommendations next_steps next_time strategy
    suggestions advice action_items
""")


def read_insights(markdown: str) -> Insights:
    """The sections by meaning; a missing one is None or empty, and `raw_sections` has all by their headings.

    Text before any heading is the summary where no heading gives one.
    """
    raw: dict[str, str] = {}
    bodies: dict[str | None, list[str]] = {}
    for section in split_sections(markdown, _KNOWN):
        if section.title:
            raw[section.title] = f"{raw.get(section.title, '')}\n\n{section.body}".strip()
        bodies.setdefault(_kind(section), []).append(section.body)
    texts = {kind: "\n\n".join(filter(None, parts)) or None for kind, parts in bodies.items()}
    return Insights(
        summary=texts.get("summary") or texts.get("intro"),
        strengths=tuple(item for body in bodies.get("strengths", ()) for item in items(body)),
        improvements=tuple(item for body in bodies.get("improvements", ()) for item in items(body)),
        recommendation=texts.get("recommendation"),
        raw_sections=raw,
    )


def _kind(section: Section) -> str | None:
    """The meaning of a section by its heading; None for another, such as the title of a decision."""
    if section.name.startswith(("reflection_on_", "decision_", "execution_")):
        return None
    kind = next((kind for kind, stem in _STEMS.items() if stem.search(section.name)), None)
    return kind if section.title else "intro"
