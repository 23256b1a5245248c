"""Plain functions over graph state, for LangGraph and its like. They plan; searching stays the graph's."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from mcp_reflect.clock import Clock
from mcp_reflect.replan import planner
from mcp_reflect.replan.state import advance


def reflect_and_replan(state: Mapping[str, Any], clock: Clock | None = None) -> dict[str, Any]:
    """Think again about the queries that found nothing: relax, rewrite or pivot. See `replan.state` for the keys."""
    return advance(state, planner.plan, "reflect_and_replan", _now(clock))


def relax_and_retry(state: Mapping[str, Any], clock: Clock | None = None) -> dict[str, Any]:
    """The mechanical ladder alone: lower threshold and double limit first, later the widest mode."""
    return advance(state, planner.relax_only, "relax_and_retry", _now(clock))


def _now(clock: Clock | None) -> str:
    """The time as ISO 8601 in UTC."""
    return datetime.fromtimestamp((clock or Clock()).now(), UTC).isoformat()
