"""The assessment that a reflection in markdown gives: of the decision, of its execution, and how surely."""

import re
from collections.abc import Mapping
from typing import Final

from mcp_reflect.models.reflection import Assessment
from mcp_reflect.reflect.assessing.reader import Judged, Subject, read_sentences
from mcp_reflect.reflect.sections import Section, field_name, split_sections

_LABEL = re.compile(
    r"\b(?P<what>decision[ _](?:was[ _])?appropriate|execution[ _](?:was[ _])?effective|confidence)"
    r"(?:[ _](?:in|level|score|that)\b[^.\n:=]{0,60}?)?[\W_]{0,4}?(?::|=|\bis\b|\bwas\b|\bof\b)[\s*_`\"']*"
    r"(?P<value>yes|no|true|false|high|medium|moderate|low|null|unknown|unclear|[01]?\.\d+|[01]\b|\d{1,3}\s*%)",
    re.IGNORECASE,
)
_TRUTH: Final[Mapping[str, bool]] = {"yes": True, "true": True, "no": False, "false": False}
# A confidence in 0..1 as a word: the upper quarter is high, below two fifths is low.
HIGH: Final = 0.75
MEDIUM: Final = 0.4
_ABOUT: Final[dict[str, Subject]] = {"decision": "decision", "execution": "execution"}
_SKIPPED = re.compile(r"recommend|next|suggest|action_item|advice|strateg|todo|plan|improvement|strength|question")


def read_assessment(markdown: str) -> Assessment:
    """What a text says of the decision and its execution; null where it does not say.

    What it states as a label (`Execution effective: no`) goes before what its sentences say.
    """
    stated: dict[str, str] = {}
    for match in _LABEL.finditer(markdown):
        stated.setdefault(field_name(match["what"]).split("_")[0], match["value"].lower())
    judged = [one for section in split_sections(markdown, _ABOUT) for one in _read(section)]
    decision = _TRUTH.get(stated.get("decision", ""), _most([one.decision for one in judged]))
    execution = _TRUTH.get(stated.get("execution", ""), _most([one.execution for one in judged]))
    said = decision is not None or execution is not None
    return Assessment(
        decision_appropriate=decision,
        execution_effective=execution,
        confidence=_level(stated["confidence"]) if said and "confidence" in stated else _sure(judged),
    )


def _read(section: Section) -> list[Judged]:
    if _SKIPPED.search(section.name):
        return []
    about: Subject | None = next((subject for word, subject in _ABOUT.items() if word in section.name), None)
    return read_sentences(_LABEL.sub(" ", section.body), about)


def _most(said: list[bool | None]) -> bool | None:
    """What more sentences say; null where none says anything, or they are even."""
    balance = said.count(True) - said.count(False)
    return None if balance == 0 else balance > 0


def _sure(judged: list[Judged]) -> str | None:
    """Low where any judgement is hedged, high where one is emphatic and none hedged, else medium."""
    levels = {one.sure for one in judged}
    return next((level for level in ("low", "high", "medium") if level in levels), None)


def _level(value: str) -> str | None:
    if value in ("high", "medium", "low"):
        return value
    if value == "moderate":
        return "medium"
    number = value.rstrip("% ")
    if not re.fullmatch(r"[\d.]+", number):
        return None
    return level_of(float(number) / (100 if "%" in value else 1))


def level_of(share: float) -> str:
    """A confidence in 0..1 as a word."""
    return "high" if share >= HIGH else "medium" if share >= MEDIUM else "low"
