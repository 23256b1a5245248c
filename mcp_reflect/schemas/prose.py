"""A reflection in prose: its sections by their headings, and its insights."""

import re
from dataclasses import dataclass
from typing import Final

from mcp_reflect.models.reflection import Insights
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.schemas.fields import normalized

TITLES: Final = (
    "reflection reflection_text reflections root_cause what_went_wrong what_happened what_went_right why diagnosis "
    "analysis summary strategy strategy_text strategies next_time next_strategy recommendation importance confidence "
    "tags tag mistake problem correction lesson lesson_learned lessons_learned fix prevention solution symptoms "
    "symptom keywords wrong_call right_call scores overview executive_summary tldr conclusion strengths what_went_well "
    "what_worked improvements areas_for_improvement weaknesses what_did_not_work what_could_be_better recommendations "
    "next_steps suggestions advice decision_appropriate execution_effective"
).split()
"""Names of sections that are known where nothing but a colon marks them as headings."""

_BULLET: Final = re.compile(r"^\s*(?:[-*+•‣◦–—·]|\(?\d{1,3}[.)]|[a-zA-Z][.)])\s+")
_FENCE: Final = re.compile(r"\s*(```|~~~)")
_HASH: Final = re.compile(r"\s{0,3}#+\s*(?P<title>[^#\s].*)$")
_BOLD: Final = re.compile(
    r"\s*(?P<mark>\*\*\*|\*\*|__)(?P<title>[^*_\n]{1,80}?)(?P=mark)\s*(?P<colon>[:：–—-]?)\s*(?P<rest>.*)$"
)
_LABELED: Final = re.compile(r"\s*(?P<title>[^\W\d_][^:：\n]{0,60}?)\s*[:：]\s*(?P<rest>.*)$")
# A known title inside of a line: after the end of a sentence or a mark, or with a capital after a small letter.
_INSIDE: Final = lazy_compile(
    r"(?:^|(?<=[^\W\d][.!?;,…。！？；])\s+|(?<=[*`)])\s+|(?<=[a-z])\s+(?=[A-Z*]))(?=(?:(?:[-*•|]|\d{1,2}[.)])\s+)?(?:\*\*|__)?"
    rf"(?i:({'|'.join(TITLES).replace('_', '[ _]')}))(?:\*\*|__)?\s*[:：])",
    re.MULTILINE,
)


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
    """Return a title in lower case with underscores, without its number and the signs around it."""
    words = re.sub(r"[^\w\s-]+", "", _BULLET.sub("", title.replace("’", "'")))
    return re.sub(r"_+", "_", normalized(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", words))).strip("_")


def split_sections(markdown: str) -> list[Section]:
    """Return the sections of a text in order.

    Headings are `## Title` and `**Title:** text`, and of the known `TITLES` also `Title: text` and a title in a list;
    inside of a line where the text has several of them.
    """
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
            parts.append((heading[0].strip("*_`:： \t"), [heading[1]]))
    sections = [Section(title, "\n".join(body).strip()) for title, body in parts]
    return [section for section in sections if section.title or section.body]


def _heading(line: str) -> tuple[str, str] | None:
    """Return the title that a line gives and the text after it; None where it gives none."""
    if match := _HASH.match(line):
        title, _, rest = match["title"].rstrip("# ").partition(":")
        return (title, rest.strip(" *_")) if field_name(title) in TITLES else (match["title"].rstrip("# "), "")
    bare = _BULLET.sub("", line, count=1)
    match = _BOLD.match(bare) or _LABELED.match(bare)
    if match is None:
        return (bare, "") if bare != line and field_name(bare) in TITLES else None
    bold = "mark" in match.re.groupindex
    colon = not bold or match["colon"] in (":", "：") or match["title"].rstrip().endswith((":", "："))
    named = field_name(match["title"]) in TITLES and (colon or bool(match["colon"]))
    return (
        (match["title"], match["rest"]) if named or (bold and bare == line and (colon or not match["rest"])) else None
    )


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
    "strengths": re.compile(r"strength|positive|went_well|worked_well|^(?:what_worked|successes|pros|good)$"),
    "improvements": re.compile(
        r"improve|weakness|limitation|went_wrong|could_be_better|did_?no?t_work|^(?:issues|problems?|mistakes|cons)$"
    ),
    "recommendation": re.compile(r"recommend|suggestion|next_step|next_time|action_item|^(?:strategy|advice)$"),
}


def read_insights(markdown: str) -> Insights:
    """Return the sections by meaning; a missing one is None or empty, and `raw_sections` has all by their headings.

    Text before any heading is the summary where no heading gives one.
    """
    raw: dict[str, str] = {}
    bodies: dict[str | None, list[str]] = {}
    for section in split_sections(markdown):
        if section.title:
            raw[section.title] = f"{raw.get(section.title, '')}\n\n{section.body}".strip()
        about = section.name.startswith(("reflection_on_", "decision_", "execution_"))  # it names a thing
        kind = next((kind for kind, stem in _STEMS.items() if not about and stem.search(section.name)), None)
        bodies.setdefault(kind if section.title else "intro", []).append(section.body)
    texts = {kind: "\n\n".join(filter(None, parts)) or None for kind, parts in bodies.items()}
    return Insights(
        summary=texts.get("summary") or texts.get("intro"),
        strengths=tuple(item for body in bodies.get("strengths", ()) for item in items(body)),
        improvements=tuple(item for body in bodies.get("improvements", ()) for item in items(body)),
        recommendation=texts.get("recommendation"),
        raw_sections=raw,
    )
