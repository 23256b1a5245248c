"""Parses each fenced block whose language is known and that means to be whole."""

import re
from collections.abc import Callable, Iterator

from mcp_reflect.critique.checks.checker import Finding, Work
from mcp_reflect.critique.checks.code.data import json_fault, toml_fault
from mcp_reflect.critique.checks.code.faults import LONGEST, Fault, too_deep
from mcp_reflect.critique.checks.code.fences import Block, blocks
from mcp_reflect.critique.checks.code.python import python_fault
from mcp_reflect.critique.checks.code.sql import sql_fault
from mcp_reflect.critique.checks.code.yaml import yaml_fault
from mcp_reflect.models.critique import Status

Reader = Callable[[str], Fault | bool | None]

_READERS: dict[str, Reader] = {
    **dict.fromkeys(("python", "py", "python3"), python_fault),
    "json": json_fault,
    "toml": toml_fault,
    **dict.fromkeys(("yaml", "yml"), yaml_fault),
    **dict.fromkeys(("sql", "postgresql", "mysql", "sqlite"), sql_fault),
}
_MOST_READ = 60_000
# No parser stands behind these: sound brackets and quotes are not yet a pass.
_STRUCTURE_ONLY = (yaml_fault, sql_fault)

# The line before a block that is meant to be wrong, unless it says that this is the repair.
_SHOWN_AS_WRONG = re.compile(
    r"\b(?:does not|doesn't|do not|don't|won't|will not|cannot|can't) (?:parse|compile|work|run|write|use)|"
    r"\b(?:invalid|broken|"
    r"wrong|incorrect|malformed|bad|faulty|syntax ?errors?|typo|mistake|buggy|original|pseudo-?code|python 2|"
    r"snippet|fragment|"
    r"excerpt)\b|❌|✗",
    re.IGNORECASE,
)
_REPAIR = re.compile(r"\b(?:fix(?:ed|es)?|correct(?:ed|ion)?|repaired|now)\b", re.IGNORECASE)
_WRONG_AFTER = re.compile(
    r"\bSyntaxError|\b(?:does not|doesn't|will not|won't) (?:parse|compile)|\binvalid\b", re.IGNORECASE
)


class CodeChecker:
    """Python, JSON and TOML that parse pass; YAML and SQL can only fail or stay unchecked."""

    name = "code"

    def check(self, work: Work) -> Iterator[Finding]:
        """One finding a block that we can judge."""
        left = _MOST_READ
        for number, step in enumerate(work.steps, start=1):
            if "```" not in step and "~~~" not in step:
                continue
            for block in blocks(step):
                left -= len(block.body)
                if left < 0:
                    return
                finding = _finding(number, block)
                if finding is not None:
                    yield finding


def _finding(number: int, block: Block) -> Finding | None:
    read = _READERS.get(block.language)
    if read is None or len(block.body) > LONGEST or too_deep(block.body):
        return None
    fault = read(block.body)
    if fault is True or fault is False:
        return None
    claim = f"{block.language} block: {block.body.strip().split(chr(10), 1)[0][:80]}"
    if fault is None:
        structure = read in _STRUCTURE_ONLY
        status = Status.UNCHECKED if structure else Status.PASS
        return Finding(
            step=number,
            status=status,
            claim=claim,
            detail="only brackets and quotes were checked" if structure else None,
        )
    if _meant_wrong(block):
        return None
    where = f"line {fault.line}: " if fault.line else ""
    return Finding(
        step=number,
        status=Status.FAIL,
        claim=claim,
        expected=f"{block.language} that parses",
        detail=where + fault.message,
    )


def _meant_wrong(block: Block) -> bool:
    leading = block.before.strip().rsplit("\n", 1)[-1]
    if _SHOWN_AS_WRONG.search(leading) and not _REPAIR.search(leading):
        return True
    return bool(_WRONG_AFTER.search(block.after))
