"""Reading the arguments of a call: all that can be understood is used, the rest is reported or refused.

Names are matched in any case and with known synonyms. An optional argument that cannot be read is left out and
reported in `ignored`. An InputError remains where a required argument is missing or unreadable, or a limit is exceeded.
"""

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, ClassVar, Final, Self, TypeVar

from pydantic import BaseModel, ConfigDict, PrivateAttr, ValidationError, ValidationInfo

from mcp_reflect.config import DEFAULT, Limits
from mcp_reflect.errors import InputError
from mcp_reflect.schemas.values import check_values
from mcp_reflect.security.redact import quoted

_Arguments = TypeVar("_Arguments", bound="Arguments")

_TYPO_CUTOFF: Final = 0.84
_PARSED_CHARS: Final = 1_000_000
_WRAPPERS: Final = ("arguments", "args", "input", "params", "parameters", "kwargs", "payload")
_MOST_IGNORED: Final = 5
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_PLAIN_WORD: Final = re.compile(r"[A-Za-z _-]{1,40}|\w{1,5}")
_KINDS: Final[dict[type, str]] = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "an object",
}


@dataclass(frozen=True, slots=True)
class ReadContext:
    """The limits of a call, and the notes on what was left out of it."""

    limits: Limits = DEFAULT
    ignored: list[str] = field(default_factory=list[str])

    @classmethod
    def of(cls, info: ValidationInfo) -> "ReadContext":
        """The context of the current `read`."""
        return info.context if isinstance(info.context, ReadContext) else cls()


class Arguments(BaseModel):
    """A frozen set of arguments.

    `ALIASES` are names of older engines, which docs/tools.md lists; `SYNONYMS` are understood and not listed. The
    fields in `STRICT` are refused where they cannot be read, though they are optional.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, coerce_numbers_to_str=True)

    ALIASES: ClassVar[Mapping[str, str]] = {}
    SYNONYMS: ClassVar[Mapping[str, str]] = {}
    STRICT: ClassVar[frozenset[str]] = frozenset()

    _ignored: tuple[str, ...] = PrivateAttr(default=())

    @property
    def ignored(self) -> tuple[str, ...]:
        """What was left out of the call, and why."""
        return self._ignored

    @classmethod
    def gathered(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Move arguments that belong elsewhere to their place. Called before names are matched."""
        return values

    def with_ignored(self, ignored: Sequence[str]) -> Self:
        """Set the notes on what was left out, each once."""
        notes = list(dict.fromkeys(ignored))
        more = [f"and {len(notes) - _MOST_IGNORED} more"] if len(notes) > _MOST_IGNORED else []
        self._ignored = (*notes[:_MOST_IGNORED], *more)
        return self


def read(shape: type[_Arguments], sent: Mapping[str, Any], limits: Limits = DEFAULT) -> _Arguments:
    """Read arguments into `shape`. InputError names the field, the fault and the fix."""
    check_values(sent, limits)
    context = ReadContext(limits)
    values = named(shape, shape.gathered(_unwrapped(shape, sent)), context)
    for _ in range(len(values) + 1):
        try:
            return shape.model_validate(values, context=context).with_ignored(context.ignored)
        except ValidationError as error:
            errors = error.errors(include_url=False)
            if not _repaired(shape, values, errors[0], context):
                raise explain(errors) from None
    raise InputError("arguments", "they cannot be read", "Send the tool's arguments.")


def named(shape: type[Arguments], values: Mapping[str, Any], context: ReadContext, path: str = "") -> dict[str, Any]:
    """`values` under the names of `shape`'s fields, without those that are None; unknown ones are noted."""
    result: dict[str, Any] = {}
    for name, value in sorted(values.items(), key=lambda item: item[0] not in shape.model_fields):
        if value is None:
            continue
        own = field_of(shape, name)
        if own is None:
            context.ignored.append(f"{quoted(path + name, 120)}: no such argument")
        elif own not in result:
            result[own] = value
        elif result[own] != value:
            context.ignored.append(f"{quoted(path + name, 120)}: {own} was sent too")
    return result


def field_of(shape: type[Arguments], name: str) -> str | None:
    """The field that a name means: itself, an alias, another spelling or a near miss. None for an unknown one."""
    known: dict[str, str] = {own: own for own in shape.model_fields} | dict(shape.SYNONYMS) | dict(shape.ALIASES)
    plain = _CAMEL.sub("_", name[:80]).replace("-", "_").replace(" ", "_").lower().strip("_")
    for candidate in (name, plain, f"{plain}s", plain.removesuffix("s")):
        if candidate in known:
            return known[candidate]
    near = get_close_matches(plain, shape.model_fields, n=1, cutoff=_TYPO_CUTOFF)
    return near[0] if near else None


def parsed(value: Any, context: ReadContext | None = None) -> Any:
    """The value that a text of JSON or of a Python literal stands for; anything else as it is."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{", "(") or len(value) > _PARSED_CHARS:
        return value
    try:
        result = json.loads(value)
    except (ValueError, RecursionError):
        try:
            result = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return value
        if not isinstance(result, dict | list | tuple):
            return value
    check_values({"arguments": result}, context.limits if context else DEFAULT)
    return result  # pyright: ignore[reportUnknownVariableType] - JSON of any form


def _unwrapped(shape: type[Arguments], sent: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments in `{"arguments": {...}}`, also as JSON text."""
    values = {str(name): value for name, value in sent.items() if value is not None}
    if len(values) == 1:
        ((name, value),) = values.items()
        inner = parsed(value)
        if name in _WRAPPERS and name not in shape.model_fields and isinstance(inner, dict):
            return {str(key): item for key, item in inner.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return values


def _repaired(shape: type[Arguments], values: dict[str, Any], error: Any, context: ReadContext) -> bool:
    """Take out, or put within its bounds, an optional argument that cannot be read. False where it must stay."""
    name = str(error["loc"][0]) if error["loc"] else ""
    if name not in values or name not in shape.model_fields or shape.model_fields[name].is_required():
        return False
    kind, details = error["type"], error.get("ctx", {})
    if name in shape.STRICT or kind in ("over_limit", "string_too_long"):
        return False
    fault = explain([error]).fault
    bound = details.get("le", details.get("ge", details.get("bound")))
    if len(error["loc"]) == 1 and bound is not None:
        values[name] = bound
        context.ignored.append(f"{name}: {fault}, {bound:g} used")
        return True
    value = values[name]
    if len(error["loc"]) > 1 and isinstance(value, list | tuple) and isinstance(error["loc"][1], int):
        items: list[Any] = [*value]  # pyright: ignore[reportUnknownArgumentType]
        if error["loc"][1] < len(items):
            del items[error["loc"][1]]
            values[name] = items
            context.ignored.append(f"{_path(error['loc'])}: {fault}")
            return True
    del values[name]
    context.ignored.append(f"{name}: {fault}")
    return True


# Pydantic's errors as InputError.


def explain(errors: Sequence[Any]) -> InputError:
    """The first of pydantic's errors as an InputError, with the number of the others."""
    first = errors[0]
    fault, fix = _explained(first)
    more = f" ({len(errors) - 1} more to correct after this one)" if len(errors) > 1 else ""
    return InputError(_path(first["loc"]), fault, f"{fix}{more}")


def _explained(error: Any) -> tuple[str, str]:  # noqa: C901, PLR0912 - one case for each kind of error
    kind, value, details = error["type"], error["input"], error.get("ctx", {})
    match kind:
        case "missing":
            return "it is missing", "Send it."
        case "enum" | "literal_error":
            return _choice(value, str(details.get("expected", "")))
        case "value_error":  # raised by a validator of ours as `fault|fix`
            fault, _, fix = str(details["error"]).partition("|")
            return fault, fix
        case "greater_than_equal":
            return f"{value} is too small", f"Send {details['ge']} or more."
        case "less_than_equal":
            return f"{value} is too large", f"Send {details['le']} or less."
        case "over_bound":
            return f"{value} is too large", f"Send {details['bound']} or less."
        case "over_limit":
            return f"it has {details['count']} {details['what']}", f"Send at most {details['bound']}."
        case "string_too_short":
            return "it is empty", "Send text."
        case "string_too_long":
            return f"it has {len(value)} characters", f"Send at most {details['max_length']}."
        case "too_long":
            count = details["actual_length"] or "too many"
            return f"it has {count} items", f"Send at most {details['max_length']}."
        case "finite_number":
            return f"{value} is not a number", "Send a finite number."
        case "int_from_float":
            return f"{value} is not a whole number", "Send a whole number."
        case _ if kind.endswith(("_type", "_parsing")):
            wanted = _wanted(kind)
            is_now = "null" if value is None else _KINDS.get(type(value), "something else")  # pyright: ignore[reportUnknownArgumentType]
            return f"it is {is_now}, not {wanted}", f"Send {wanted}."
        case _:
            return quoted(error["msg"], 200), "Send a value that the tool's schema allows."


def _wanted(kind: str) -> str:
    names = {"string": "text", "int": "a whole number", "float": "a number", "bool": "true or false"}
    return names.get(kind.rsplit("_", 1)[0], "a list" if "list" in kind or "tuple" in kind else "an object")


def _choice(value: object, expected: str) -> tuple[str, str]:
    names = [part.strip().strip("'") for part in expected.replace(" or ", ", ").split(",")]
    near = get_close_matches(str(value)[:80].lower(), names, n=1, cutoff=0.5)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    # A validator may have changed its case, by which a secret is known: only a plain word is repeated.
    shown = f"'{quoted(value)}'" if _PLAIN_WORD.fullmatch(str(value)) else "this"
    return f"{shown} is not one of its values", f"Send one of {', '.join(names)}.{hint}"


def _path(loc: Sequence[str | int]) -> str:
    """`("events", 2, "type")` as `events[2].type`; the names of union members are left out."""
    path = ""
    for part in loc:
        if isinstance(part, int):
            path += f"[{part}]"
        elif part.isidentifier() or not path:
            path += f".{part}" if path else part
    return quoted(path, 120) or "arguments"
