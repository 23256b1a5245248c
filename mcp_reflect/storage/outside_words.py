"""The words from outside that a new lesson is compared with: outputs of tools, and records in quarantine.

An agent that types an order from a web page into a lesson would make it look like its own words (`screening.py`).
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mcp_reflect.clock import DAY
from mcp_reflect.models.common import Scope
from mcp_reflect.models.lesson import Lesson
from mcp_reflect.storage import screening
from mcp_reflect.storage.repository import Reading
from mcp_reflect.storage.values import scoped

_MOST_RUNS: Final = 5
"""The latest runs, with whose tool outputs a new lesson is compared."""

_MOST_CALLS: Final = 400
"""The latest calls that hooks saw in sessions of the last day."""

_MAX_OUTPUT_CHARS: Final = 400_000
"""Characters of the outputs of runs."""


@dataclass(frozen=True, slots=True)
class OutsideWords:
    """Words from outside, which a new lesson may repeat."""

    runs: Sequence[str]  # as JSON
    calls: Sequence[str]  # as JSON
    quarantined: Sequence[Lesson]

    def outputs(self) -> str:
        """Return the outputs of tools in the runs as one text."""
        outputs: list[str] = []
        for run in self.runs:
            outputs += screening.tool_outputs(json.loads(run))
        return "\n".join(outputs)[:_MAX_OUTPUT_CHARS]

    def phrases(self) -> list[frozenset[int]]:
        """Return the hashes of the words that hooks saw in the answer of each call; the words are not stored."""
        answers = (json.loads(call).get("phrases") for call in self.calls)
        return [frozenset(phrases) for phrases in answers if phrases]


def outside_words_for(reading: Reading, scope: Scope, now: float) -> OutsideWords:
    """Return the words from outside that a new lesson of a scope is compared with; a global one with all projects'."""
    is_global = not scope.project
    runs_query = "latest_runs_of_all" if is_global else "latest_runs"
    runs = reading.rows(runs_query, scoped(scope, limit=_MOST_RUNS))
    values = scoped(scope, every=int(is_global), since=now - DAY, limit=_MOST_CALLS)
    calls = reading.rows("calls_seen", values)
    return OutsideWords(
        runs=[row["trace"] for row in runs],
        calls=[row["call"] for row in calls],
        quarantined=screening.waiting_records(reading, scope),
    )
