"""JSON and TOML, with the parsers of the standard library."""

import json
import re
import tomllib

from mcp_reflect.critique.checks.code.faults import Fault, is_partial

_COMMENT = re.compile(r"^\s{0,200}(?://|#|/\*)|\s//\s|,\s{0,20}//|,\s{0,20}#\s", re.MULTILINE)
_ENTRY = re.compile(r"^\s{0,200}\"[^\"\n]{0,200}\"\s{0,20}:")


def json_fault(body: str) -> Fault | bool | None:
    """The fault, None where it parses, True for comments, several values in lines, and pieces of an object."""
    if not body.strip():
        return True
    fault = _json(body)
    if fault is None:
        return None
    if is_partial(body) or _COMMENT.search(body) or _ENTRY.match(body):
        return True
    lines = [line for line in body.split("\n") if line.strip()]
    if len(lines) > 1 and all(_json(line) is None for line in lines):
        return True
    return fault


def _json(body: str) -> Fault | None:
    try:
        json.loads(body)
    except json.JSONDecodeError as error:
        return Fault(error.msg, error.lineno)
    except (ValueError, RecursionError):
        return None
    return None


# TOML 1.1 lets an inline table run over lines; the parser at hand knows 1.0.
_LATER = re.compile(r"\{[^}\n]{0,500}$|\\[ex]|,\s{0,20}\}", re.MULTILINE)
# The parser takes quadratic time over a dotted key.
_MOST_DOTS = 200
_LINE = re.compile(r"\(at line (\d+)")


def toml_fault(body: str) -> Fault | bool | None:
    """The fault, None where it parses, True for pieces and for what a later TOML allows."""
    if not body.strip() or any(line.count(".") > _MOST_DOTS for line in body.split("\n")):
        return True
    try:
        tomllib.loads(body)
    except tomllib.TOMLDecodeError as error:
        if is_partial(body) or _LATER.search(body):
            return True
        line = _LINE.search(str(error))
        return Fault(str(error).split(" (at ")[0], int(line[1]) if line else None)
    except (ValueError, RecursionError):
        return True
    return None
