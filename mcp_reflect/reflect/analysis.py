"""The judgement of an agent or a model on a run: an object, text that holds one, or markdown with headings."""

import difflib
from collections.abc import Collection, Mapping
from dataclasses import replace

from mcp_reflect.config import DEFAULT, Limits
from mcp_reflect.errors import InputError
from mcp_reflect.llm.json_replies import read_json, read_object, without_thinking
from mcp_reflect.models.common import Json
from mcp_reflect.models.reflection import Analysis, Assessment
from mcp_reflect.reflect import fields
from mcp_reflect.reflect.assessing.assessment import read_assessment
from mcp_reflect.reflect.citations import check_listed, cited_in
from mcp_reflect.reflect.insights import read_insights
from mcp_reflect.reflect.sections import field_name, split_sections

SYNONYMS: Mapping[str, frozenset[str]] = {
    "reflection": frozenset({
        "reflection_text", "reflections", "root_cause", "what_went_wrong", "what_happened", "what_went_right", "why",
        "diagnosis", "analysis", "summary",
    }),
    "strategy": frozenset({"strategy_text", "strategies", "next_time", "next_strategy", "recommendation"}),
    "importance": frozenset({"importance_score"}),
    "confidence": frozenset({"confidence_score"}),
    "tags": frozenset({"tag", "labels"}),
    "mistake": frozenset({"the_mistake", "key_mistake"}),
    "correction": frozenset({"lesson", "lesson_text", "lesson_learned", "lessons_learned", "fix", "prevention"}),
    "symptoms": frozenset({"symptom"}),
    "keywords": frozenset({"keyword"}),
    "scores": frozenset({"evaluation", "criteria", "ratings"}),
    "source_event_ids": frozenset({"event_ids", "source_events", "cited_events"}),
}  # fmt: skip
_FIELDS = {name: name for name in SYNONYMS} | {other: name for name, others in SYNONYMS.items() for other in others}
_WRAPPERS = {"analysis", "result", "output", "response", "reflection", "data", "answer"}
_FIX = 'Send an object with at least "reflection", or markdown with a Reflection heading.'


def read_analysis(value: Json, event_ids: Collection[str] = (), limits: Limits = DEFAULT) -> Analysis:
    """What was judged, checked field by field; `event_ids` are the trace's, which citations must name.

    Raises InputError naming the field (`analysis.importance`), the fault and the fix.
    """
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, str):
        return _from_text(value, event_ids, limits)
    if not isinstance(value, dict):
        raise InputError("analysis", f"is {fields.kind(value)}", _FIX)
    return _of_object(_checked(_named(_unwrapped(value)), event_ids, limits))


def _of_object(analysis: Analysis) -> Analysis:
    """An object's reflection may itself be markdown."""
    return _of_prose(analysis, analysis.reflection)


def _from_text(text: str, event_ids: Collection[str], limits: Limits) -> Analysis:
    limits.refuse_more("max_analysis_chars", "analysis", len(text))
    if not text.strip():
        raise InputError("analysis", "is empty", _FIX)
    found = read_object(text, _FIELDS.keys())
    plain = without_thinking(text).strip()
    if found is None and plain.startswith("{"):  # keys of another spelling, or none that is known
        whole = read_json(text)
        found = whole if isinstance(whole, dict) else None
    if found is not None and (_holds_reflection(found) or plain.startswith(("{", "[", "```"))):
        return _of_object(_checked(_named(_unwrapped(found)), event_ids, limits))
    return _from_markdown(plain, event_ids, limits)


def _holds_reflection(found: Mapping[str, Json]) -> bool:
    return any(_FIELDS.get(field_name(key)) == "reflection" for key in found)


def _from_markdown(text: str, event_ids: Collection[str], limits: Limits) -> Analysis:
    """Known headings are fields, the others are kept; without a known one the whole text is the reflection."""
    sections = split_sections(text, _FIELDS.keys())
    if not any(section.name in _FIELDS for section in sections):
        return _of_prose(_checked({"reflection": text}, event_ids, limits), text)
    bodies: dict[str, Json] = {}
    other: dict[str, str] = {}
    for section in sections:
        name = _FIELDS.get(section.name)
        if name is None:
            other[section.title] = _joined(other.get(section.title), section.body)
        elif section.body:
            before = bodies.get(name)
            bodies[name] = _joined(before if isinstance(before, str) else None, section.body)
    if "reflection" not in bodies and "" in other:
        bodies["reflection"] = other.pop("")
    if "reflection" not in bodies and any(other.values()):
        bodies["reflection"] = text
    raw = {title or "preamble": body for title, body in other.items()}
    found = _of_prose(_checked(bodies, event_ids, limits, raw, prose=True), text)
    return found if raw else replace(found, insights=None)  # its headings are the fields


def _of_prose(analysis: Analysis, text: str) -> Analysis:
    """With what the text says under headings, and what it makes of the decision and its execution."""
    insights = read_insights(text)
    assessment = read_assessment(text)
    return replace(
        analysis,
        insights=insights if insights.raw_sections else None,
        assessment=None if assessment == Assessment() else assessment,
    )


def _joined(before: str | None, after: str) -> str:
    return f"{before}\n\n{after}" if before else after


def _unwrapped(value: dict[str, Json]) -> dict[str, Json]:
    """The object in `{"analysis": {...}}`."""
    if len(value) == 1:
        ((key, inner),) = value.items()
        if isinstance(inner, list) and len(inner) == 1:
            inner = inner[0]
        known = isinstance(inner, dict) and any(field_name(name) in _FIELDS for name in inner)
        if isinstance(inner, dict) and (known or field_name(key) not in _FIELDS) and field_name(key) in _WRAPPERS:
            return inner
    return value


def _named(value: Mapping[str, Json]) -> dict[str, Json]:
    """The values by field. Two names of the same field are one where only one says something."""
    lesson = value.get("lesson")
    if isinstance(lesson, dict):  # {"lesson": {"mistake": ..., "correction": ...}}
        value = {key: inner for key, inner in value.items() if key != "lesson"} | lesson
    named: dict[str, Json] = {}
    for key, inner in value.items():
        name = _FIELDS.get(field_name(key[:100]))
        if name is None:
            raise _unknown(key)
        before = named.get(name)
        if before in (None, "", []) or before is inner:
            named[name] = inner
        elif name == "reflection" and isinstance(before, str) and isinstance(inner, str):
            named[name] = _joined(before, inner) if inner not in before else before
        elif inner not in (None, "", []):
            raise InputError(
                f"analysis.{name}", f"is given twice, the second time as {fields.quoted(key)}", "Send it once."
            )
    return named


def _unknown(key: str) -> InputError:
    near = difflib.get_close_matches(field_name(key[:100]), _FIELDS, 1, 0.6)
    known = f"The fields are {', '.join(SYNONYMS)}."
    fix = f'Did you mean "{_FIELDS[near[0]]}"? {known}' if near else known
    return InputError("analysis", f"has an unknown field {fields.quoted(key)}", fix)


def _checked(
    named: Mapping[str, Json],
    event_ids: Collection[str],
    limits: Limits,
    other: Mapping[str, str] | None = None,
    *,
    prose: bool = False,
) -> Analysis:
    reflection = fields.text("analysis.reflection", named.get("reflection"), limits, "max_judgement_chars")
    if reflection is None:
        raise InputError(
            "analysis.reflection", "is missing or empty", "Say in two or three sentences what happened and why."
        )
    mistake = fields.text("analysis.mistake", named.get("mistake"), limits)
    sources = fields.texts("analysis.source_event_ids", named.get("source_event_ids"), limits)
    check_listed("analysis.source_event_ids", sources, event_ids)
    cited = cited_in("analysis.reflection", reflection, event_ids) + cited_in("analysis.mistake", mistake, event_ids)
    tags = fields.texts("analysis.tags", named.get("tags"), limits, "max_list_items")
    return Analysis(
        reflection=reflection,
        strategy=fields.text("analysis.strategy", _one(named.get("strategy")), limits),
        importance=fields.score("analysis.importance", named.get("importance"), prose=prose),
        confidence=fields.score("analysis.confidence", named.get("confidence"), prose=prose),
        tags=tuple(dict.fromkeys(tag.lstrip("#") for tag in tags if tag.strip("#"))),
        mistake=mistake,
        correction=fields.text("analysis.correction", _one(named.get("correction")), limits),
        symptoms=fields.texts("analysis.symptoms", named.get("symptoms"), limits, commas=False),
        keywords=fields.texts("analysis.keywords", named.get("keywords"), limits),
        source_event_ids=tuple(dict.fromkeys(sources + cited)),
        scores=fields.scores("analysis.scores", named.get("scores"), limits),
        raw_sections=dict(other or {}),
    )


def _one(value: Json) -> Json:
    """The text in a list of one, as models like to send `strategies` and `lessons_learned`."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value
