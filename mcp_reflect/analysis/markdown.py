"""Markdown split at its headings, and the insights in a reflection written so."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from mcp_reflect.models.reflection import Insights

# Markdown cut at its headings: `## Title`, `**Title:** text`, `1. Title`, a title underlined, `Title: text`.
#
# What is no heading by its form alone (`Title: text`, a numbered or bulleted title) counts only where its name is
# among the ones the caller knows; a bold line or label counts always.


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


# A reflection in markdown, read into what it sums up, praises, faults and recommends.


_SUMMARY = {
    "summary",
    "overview",
    "executive_summary",
    "tl_dr",
    "tldr",
    "abstract",
    "reflection",
    "analysis",
    "conclusion",
}
_STRENGTHS = {
    "strengths", "strength", "what_went_well", "what_worked", "what_worked_well", "positives", "successes", "pros",
    "went_well", "key_strengths", "good",
}  # fmt: skip
_IMPROVEMENTS = {
    "improvements", "improvement", "areas_for_improvement", "areas_to_improve", "weaknesses", "weakness",
    "what_went_wrong", "what_could_be_improved", "what_to_improve", "what_did_not_work", "what_didnt_work", "issues",
    "problems", "mistakes", "cons", "could_be_improved", "negatives",
}  # fmt: skip
_RECOMMENDATION = {
    "recommendation", "recommendations", "next_steps", "next_step", "next_time", "strategy", "suggestion",
    "suggestions", "action_items", "advice",
}  # fmt: skip
# What the names of headings share that are none of the above: "Key strengths of the run".
_STEMS = {
    "strengths": re.compile(r"strength|positive|went_well|worked_well"),
    "improvements": re.compile(r"improve|weakness|shortcoming|limitation|went_wrong|pitfall"),
    "recommendation": re.compile(r"recommend|next_step|next_time|action_item|going_forward"),
    "summary": re.compile(r"summary|overview|conclusion"),
}
_NAMES = {
    "summary": _SUMMARY,
    "strengths": _STRENGTHS,
    "improvements": _IMPROVEMENTS,
    "recommendation": _RECOMMENDATION,
}
_KNOWN = _SUMMARY | _STRENGTHS | _IMPROVEMENTS | _RECOMMENDATION


def read_insights(markdown: str) -> Insights:
    """What each heading says; a section that is missing is null or empty.

    Text before any heading is the summary where no heading gives one. `raw_sections` holds every
    section by its heading as written.
    """
    sections = split_sections(markdown, _KNOWN)
    intro = next((section.body for section in sections if not section.title), None)
    return Insights(
        summary=_text(sections, "summary") or intro,
        strengths=_items(sections, "strengths"),
        improvements=_items(sections, "improvements"),
        recommendation=_text(sections, "recommendation"),
        raw_sections=raw_sections([section for section in sections if section.title]),
    )


def raw_sections(sections: Sequence[Section]) -> dict[str, str]:
    """Bodies by heading; two sections with the same heading are joined."""
    found: dict[str, str] = {}
    for section in sections:
        before = found.get(section.title)
        found[section.title] = f"{before}\n\n{section.body}".strip() if before else section.body
    return found


def _kind(name: str) -> str | None:
    """What a section is, by the name of its heading; null for one of its own. A title that names a thing is none."""
    for kind, names in _NAMES.items():
        if name in names:
            return kind
    if name.startswith(("reflection_on_", "decision_", "execution_")):
        return None
    return next((kind for kind, stem in _STEMS.items() if stem.search(name)), None)


def _text(sections: Sequence[Section], kind: str) -> str | None:
    return "\n\n".join(section.body for section in sections if _kind(section.name) == kind and section.body) or None


def _items(sections: Sequence[Section], kind: str) -> tuple[str, ...]:
    return tuple(item for section in sections if _kind(section.name) == kind for item in items(section.body))
