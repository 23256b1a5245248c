"""How a decision is reflected on: its metrics against what they were before, in the bank or in the call."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mcp_reflect.analysis.decisions import ACCURACY, LATENCY, Written, decision_of, fallback, measures, others, write
from mcp_reflect.config import Settings
from mcp_reflect.context_ import Parts
from mcp_reflect.models.common import Json, Scope
from mcp_reflect.models.decision import Decision
from mcp_reflect.models.run import Diagnosis
from mcp_reflect.security.redact import clean

_FINDINGS = 2  # sentences on the events that stand beside the trends


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A decision that passed its checks, and what rules write about it."""

    decision: Decision
    metrics: Mapping[str, Json]
    written: Written

    def fallback(self, message: str) -> str:
        """What is kept where a language model was to reflect on it and failed."""
        return fallback(self.decision, self.metrics, message)


async def decided(parts: Parts, scope: Scope, run: Mapping[str, Any], seen: Diagnosis) -> Decided | None:
    """What rules write about the decision of a run; null where it has none."""
    if run.get("decision") is None:
        return None
    earlier = await parts.bank.reflections.metrics_before(scope, clean(decision_of(run["decision"]).component))
    return written(parts.settings, run, seen, earlier)


def written(settings: Settings, run: Mapping[str, Any], seen: Diagnosis, earlier: Mapping[str, Json]) -> Decided | None:
    """The same where what the metrics were before is known already; needs no bank."""
    if run.get("decision") is None:
        return None
    decision = decision_of(run["decision"])
    execution: Mapping[str, Any] = run.get("execution") or {}
    metrics: Mapping[str, Json] = execution.get("metrics") or {}
    found = measures(metrics, earlier, thresholds(settings))
    findings = [finding.text for finding in seen.findings[:_FINDINGS]]
    return Decided(decision=decision, metrics=metrics, written=write(decision, found, others(metrics), findings))


def thresholds(settings: Settings) -> dict[str, float]:
    """The marks that a person set, by metric."""
    latency = {} if settings.latency_threshold is None else {LATENCY: settings.latency_threshold}
    return {ACCURACY: settings.quality_threshold, **latency}
