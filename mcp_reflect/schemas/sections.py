"""The sections of a text by their headings: split, their items, and what they mean."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from mcp_reflect.models.reflection import Insights
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.schemas.analysis_fields import KNOWN_FIELDS
from mcp_reflect.schemas.fields import normalized

_LONGEST_TITLE: Final = 80


def _read_titles() -> Mapping[str, str]:
    """The meaning of each title in section_titles.txt."""
    titles: dict[str, str] = {}
    path = Path(__file__).with_name("section_titles.txt")
    for line in path.read_text(encoding="utf-8").splitlines():
        kind, _, names = line.partition(":")
        if names and not line.startswith("#"):
            titles |= dict.fromkeys(names.split(), kind)
    return titles


_TITLES_BY_NAME: Final = _read_titles()
_TITLES: Final = KNOWN_FIELDS.union(
    _TITLES_BY_NAME,
    "overview executive_summary tldr conclusion strengths what_went_well what_worked improvements weaknesses "
    "areas_for_improvement what_did_not_work what_could_be_better recommendations next_steps suggestions advice".split(),
)
"""Names of sections that are known where nothing but a colon marks them as headings."""

_BULLET: Final = re.compile(r"^\s*(?:[-*+•‣◦–—·]|\(?\d{1,3}[.)]|[a-zA-Z][.)])\s+")
_FENCE: Final = re.compile(r"\s*(```|~~~)")
_COLON: Final = re.compile(r"[:：]|(?:\*\*|__) ?[–—-]")
# A known title inside of a line: after the end of a sentence or a mark, or with a capital after a small letter.
_INSIDE: Final = lazy_compile(
    r"(?:^|(?<=[^\W\d][.!?;,…。！？；])\s+|(?<=[*`)])\s+|(?<=[a-z])\s+(?=[A-Z*]))(?=(?:(?:[-*•|]|\d{1,2}[.)])\s+)?(?:\*\*|__)?"
    rf"(?i:({'|'.join(_TITLES).replace('_', '[ _]')}))(?:\*\*|__)?\s*[:：])",
    re.MULTILINE,
)


def field_name(title: str) -> str:
    """Return a title in lower case with underscores, without its number and the signs around it."""
    words = re.sub(r"[^\w\s-]+", "", _BULLET.sub("", title.replace("’", "'")))
    return re.sub(r"_+", "_", normalized(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", words))).strip("_")


def split_sections(markdown: str) -> list[tuple[str, str]]:
    """Return the sections of a text in order, titles without their marks; that before the first heading has none.

    Headings are `## Title` and `**Title:** text`, and of the known `_TITLES` also `Title: text` and a title in a list;
    inside of a line where the text has several of them.
    """
    return [(section.title, section.body) for section in _sections_of(markdown)]


class _Section(NamedTuple):
    """A section; `is_inline`: its text begins on the line of its title."""

    title: str
    body: str
    is_inline: bool

    @property
    def advice(self) -> str:
        """The body without a paragraph that follows a title's own line: it is about something else."""
        paragraphs = re.split(r"\n\s*\n", self.body)
        if not self.is_inline:
            return self.body
        listed = [part for part in paragraphs[1:] if _BULLET.match(part)]
        return "\n\n".join((paragraphs[0], *listed))


def _sections_of(markdown: str) -> list[_Section]:
    if len({title.lower() for title in _INSIDE.findall(markdown)}) > 1:
        markdown = _INSIDE.sub("\n", markdown)
    parts: list[tuple[str, list[str]]] = [("", [])]
    fenced = False
    for line in markdown.splitlines():
        fenced ^= bool(_FENCE.match(line))
        heading = None if fenced else _heading(line)
        if heading is None:
            parts[-1][1].append(line)
        else:
            parts.append((heading[0], [heading[1]]))
    sections = [
        _Section(title, "\n".join(body).strip(), bool(title and body[0])) for title, body in parts
    ]
    return [section for section in sections if section.title or section.body]


def _heading(line: str) -> tuple[str, str] | None:
    """Return the title that a line gives and the text after it; None if it gives none."""
    bare = _BULLET.sub("", line, count=1).strip()
    title, *rest = (part.strip(" #*_") for part in _COLON.split(bare, maxsplit=1))
    is_hash, is_bold, is_item = (
        bare.startswith("#"),
        bare.startswith(("**", "__")),
        bare != line.strip(),
    )
    if field_name(title) in _TITLES:
        return (title, "".join(rest)) if rest or is_hash or is_bold or is_item else None
    if is_hash:
        return bare.strip(" #*_"), ""
    is_title = is_bold and not is_item and len(title) <= _LONGEST_TITLE and "**" not in title
    return (title, "".join(rest)) if is_title else None


def items(body: str) -> list[str]:
    """Return the items of a list, at any depth and with any sign, each on one line; other text is one item."""
    listed: list[str] = []
    for line in filter(str.strip, body.splitlines()):
        text = _BULLET.sub("", line, count=1)
        if text != line or not listed:
            listed.append(text.strip())
        else:
            listed[-1] = f"{listed[-1]} {text.strip()}"
    return listed


# The meaning of a heading by a part of its name ("Key strengths of the run").
_STEMS: Final = {
    "summary": re.compile(r"summary|overview|conclusion|^(?:tldr|abstract|reflection|analysis)$"),
    "strengths": re.compile(
        r"strength|positive|went_well|worked_well|^(?:what_worked|successes|pros|good)$"
    ),
    "improvements": re.compile(
        r"improve|weakness|limitation|went_wrong|could_be_better|did_?no?t_work|^(?:issues|problems?|mistakes|cons)$"
    ),
    "recommendation": re.compile(
        r"recommend|suggestion|next_step|next_time|action_item|^(?:strategy|advice)$"
    ),
}


def read_insights(markdown: str) -> Insights:
    """Return the sections by meaning; a missing one is None or empty, and `raw_sections` has all by their headings.

    Text before any heading is the summary where no heading gives one.
    """
    raw: dict[str, str] = {}
    bodies: dict[str | None, list[str]] = {}
    for section in _sections_of(markdown):
        title, body = section.title, section.body
        if title:
            raw[title] = f"{raw.get(title, '')}\n\n{body}".strip()
        name = field_name(title)
        about = name.startswith(("reflection_on_", "decision_", "execution_"))  # it names a thing
        stems = (kind for kind, stem in _STEMS.items() if not about and stem.search(name))
        kind = _TITLES_BY_NAME.get(name) or next(stems, None)
        body = section.advice if kind == "recommendation" else body
        bodies.setdefault(kind if title else "intro", []).append(body)
    texts = {kind: "\n\n".join(filter(None, parts)) or None for kind, parts in bodies.items()}
    return Insights(
        summary=texts.get("summary") or texts.get("intro"),
        strengths=tuple(item for body in bodies.get("strengths", ()) for item in items(body)),
        improvements=tuple(item for body in bodies.get("improvements", ()) for item in items(body)),
        recommendation=texts.get("recommendation"),
        raw_sections=raw,
    )
