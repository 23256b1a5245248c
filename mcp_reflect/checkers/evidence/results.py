"""Tool results as read: how each ended, and its rows."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, cast

from mcp_reflect.checkers.evidence.rows import Kind, Row
from mcp_reflect.checkers.evidence.runners import FAILS, PASSES, read_runs
from mcp_reflect.checkers.evidence.tables import parsed_json, read_tables
from mcp_reflect.models.critique import ToolResult

# Summaries stand at the end of an output and its name at the start: of a long one we read both ends.
_HEAD: Final = 15_000
_TAIL: Final = 45_000
_TOTAL: Final = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One tool result as read. `ended_well` is None where nothing says how it ended.

    `runs` are the rows of runs and their tests, `rows` those of lines, tables and objects.
    """

    tool: str
    text: str
    exit_code: int | None
    runs: tuple[Row, ...]
    rows: tuple[Row, ...]
    ended_well: bool | None


def read_results(results: Sequence[ToolResult]) -> tuple[Result, ...]:
    """Each result in order, clipped so that all of it stays within bounds; the latest ones are clipped least."""
    left = _TOTAL
    read: list[Result] = []
    for index in range(len(results) - 1, -1, -1):
        text = _clipped(results[index].content, min(left, _HEAD + _TAIL))
        left -= len(text)
        tool, code = (results[index].tool or "").lower()[:200], results[index].exit_code
        runs = tuple(read_runs(tool, text, code))
        rows = tuple(read_tables(text, index, tested=any(run.kind is Kind.TESTS for run in runs)))
        ended = _ended_well(text, code, runs)
        read.append(Result(tool=tool, text=text, exit_code=code, runs=runs, rows=rows, ended_well=ended))
    return tuple(reversed(read))


def _clipped(text: str, space: int) -> str:
    if len(text) > space:
        head = space // 4
        text = f"{text[:head]}\n{text[len(text) - (space - head) :]}" if space > 0 else ""
    return re.sub(r"\x1b\[[0-9;]{0,20}[A-Za-z]", "", text).replace("\r\n", "\n")


_BAD_START: Final = re.compile(
    r"^\s{0,40}(?:error\b|fatal: |traceback \(most recent|exception in thread |panic: )", re.IGNORECASE
)
_GOOD_WORDS: Final = frozenset("ok success succeeded sent done completed created updated deleted".split())
_BAD_WORDS: Final = frozenset("failed failure error rejected denied timeout".split())


def _ended_well(text: str, exit_code: int | None, rows: tuple[Row, ...]) -> bool | None:
    states = [run.state for run in rows if run.kind]
    if FAILS in states:
        return False
    if exit_code is not None:
        return exit_code == 0
    parsed = parsed_json(text)
    if isinstance(parsed, dict):
        value = cast("dict[str, object]", parsed)
        for key in ("success", "ok"):
            if isinstance(value.get(key), bool):
                return bool(value[key])
        word = str(value.get("status", "")).lower()
        if word in _BAD_WORDS or value.get("error"):
            return False
        if word in _GOOD_WORDS:
            return True
    if states and all(state == PASSES for state in states):
        return True
    return False if _BAD_START.match(text) else None
