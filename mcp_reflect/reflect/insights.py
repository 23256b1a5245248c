"""A reflection in markdown, read into what it sums up, praises, faults and recommends."""

import re
from collections.abc import Sequence

from mcp_reflect.models.reflection import Insights
from mcp_reflect.reflect.sections import Section, items, split_sections

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
