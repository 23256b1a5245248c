"""Looking back: what the agent or a model judged, and what a stored reflection says."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """A judgement that came from the host or a model, validated. Scores are in 0..1, null where not given."""

    reflection: str
    strategy: str | None = None
    importance: float | None = None
    confidence: float | None = None
    tags: tuple[str, ...] = ()
    mistake: str | None = None
    correction: str | None = None
    symptoms: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    source_event_ids: tuple[str, ...] = ()
    raw_sections: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Insights:
    """What a reflection says, by heading. `raw_sections` keeps the headings as they were written."""

    summary: str | None = None
    strengths: tuple[str, ...] = ()
    improvements: tuple[str, ...] = ()
    recommendation: str | None = None
    raw_sections: Mapping[str, str] = field(default_factory=dict[str, str])
