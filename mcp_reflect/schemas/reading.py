"""The lenient reading of a call's arguments: agents misspell names and send values in other forms.

Names are matched in any case and with known synonyms. An optional argument that cannot be read is left out and
reported in `ignored`. An InputError remains where a required argument is missing or unreadable, or a limit is exceeded.
"""

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any, Final, TypeVar, cast

from pydantic import ValidationError

from mcp_reflect.errors import InputError
from mcp_reflect.limits import DEFAULT, Limits
from mcp_reflect.schemas.faults import UNKNOWN, error_path, explain, with_notes
from mcp_reflect.schemas.fields import MOST_IGNORED, Arguments, ReadContext, normalized, parsed
from mcp_reflect.schemas.value_checks import CheckedArguments, check_values
from mcp_reflect.security.redact import quoted

_Arguments = TypeVar("_Arguments", bound=Arguments)

_TYPO_CUTOFF: Final = 0.84
"""The similarity (0..1, difflib's ratio) of a misspelled name to the field that it means."""

_WRAPPERS: Final = ("arguments", "args", "input", "params", "parameters", "kwargs", "payload")
"""Names under which agents send all arguments at once."""

_MOST_NAMES: Final = 200  # of a call; no shape has a third of that
_LONGEST_NAME: Final = 80  # characters of a name that are looked at
_LONGEST_PATH: Final = 120  # characters of a name in a note
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def read(shape: type[_Arguments], sent: Mapping[str, Any], limits: Limits = DEFAULT) -> _Arguments:
    """Read arguments into `shape`. InputError names the field, the fault and the fix."""
    if not isinstance(sent, CheckedArguments):
        check_values(sent, limits)
    context = ReadContext(limits)
    unwrapped = _few_names(shape, _unwrapped(shape, sent), context)
    values = named(shape, shape.gathered(unwrapped), context)
    while True:  # each repair takes an argument out or makes it valid, so that this ends
        try:
            return shape.model_validate(values, context=context).with_ignored(context.ignored)
        except ValidationError as error:
            errors = error.errors()
            if not _repaired(shape, values, errors[0], context):
                raise with_notes(explain(errors), context.ignored, MOST_IGNORED) from None
        except InputError as error:
            raise with_notes(error, context.ignored, MOST_IGNORED) from None


def _unwrapped(shape: type[Arguments], sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that are not None, out of the one object in which they may have been sent.

    {"arguments": {"task": "deploy"}} -> {"task": "deploy"}
    """
    values = {str(name): value for name, value in sent.items() if value is not None}
    if len(values) != 1:
        return values
    (name,) = values
    if name not in _WRAPPERS or name in shape.model_fields:
        return values
    inner = parsed(values[name])
    if not isinstance(inner, dict):
        return values
    return {str(name): value for name, value in cast("dict[Any, Any]", inner).items()}


def without_unknown(shape: type[Arguments], sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments with an empty text under the names that `read` will not know, so that nobody reads what is there.

    The names stay, since `read` notes them: {"task": "deploy", "mood": "calm"} -> {"task": "deploy", "mood": ""}.
    """
    values = {str(name): value for name, value in sent.items()}
    names_with_value = [name for name, value in values.items() if value is not None]
    names_to_read = _first_names(shape, names_with_value)
    known_names = {name for name in names_to_read if _is_known(shape, name)}
    for name in names_with_value:
        if name not in known_names:
            values[name] = ""
    return values


def _is_known(shape: type[Arguments], name: str) -> bool:
    """Return whether `read` knows a name: of a field, of all arguments at once, or of what moves into another argument."""
    is_of_others = name in _WRAPPERS or name in shape.GATHERED
    return is_of_others or field_of(shape, name) is not None


def _few_names(
    shape: type[Arguments], values: Mapping[str, Any], context: ReadContext, path: str = ""
) -> dict[str, Any]:
    """Return the arguments, of very many only the first: it takes time to find what each name may mean.

    Those whose names are fields of the shape come before others; `path` stands before the note on what was left out.
    """
    if len(values) <= _MOST_NAMES:
        return dict(values)
    names = _first_names(shape, values)
    context.ignored.append(f"{path}{len(values) - len(names)} more names{UNKNOWN}")
    return {name: values[name] for name in names}


def _first_names(shape: type[Arguments], names: Iterable[str]) -> list[str]:
    """Return the names that are looked at: those of fields first, then others, _MOST_NAMES at most."""
    return sorted(names, key=lambda name: name not in shape.model_fields)[:_MOST_NAMES]


def named(
    shape: type[Arguments], values: Mapping[str, Any], context: ReadContext, path: str = ""
) -> dict[str, Any]:
    """Return `values` under the names of `shape`'s fields, without those that are None.

    Names that the shape has come first, so that they win over synonyms. Unknown ones, and second ones for a field, are
    noted in `context.ignored`, with `path` before them.
    """
    by_field: dict[str, Any] = {}
    few = _few_names(shape, values, context, path)
    for name in sorted(few, key=lambda name: name not in shape.model_fields):
        value = few[name]
        if value is None:
            continue
        field_name = field_of(shape, name)
        if field_name is None:
            context.ignored.append(f"{quoted(path + name, _LONGEST_PATH)}{UNKNOWN}")
        elif field_name not in by_field:
            by_field[field_name] = value
        elif by_field[field_name] != value:
            note = f"{quoted(path + name, _LONGEST_PATH)}: {field_name} was sent too"
            context.ignored.append(note)
    return by_field


def field_of(shape: type[Arguments], name: str) -> str | None:
    """Return the field that a name means, also in another spelling or by a near miss; None for an unknown one.

    `lessonId`, `Lesson-IDs` and `leson_id` all mean `lesson_id`.
    """
    field_by_name = _field_by_name(shape)
    snake_case = normalized(_CAMEL.sub("_", name[:_LONGEST_NAME])).strip("_")
    for candidate in (name, snake_case, f"{snake_case}s", snake_case.removesuffix("s")):
        if candidate in field_by_name:
            return field_by_name[candidate]
    near = get_close_matches(snake_case, shape.model_fields, n=1, cutoff=_TYPO_CUTOFF)
    if near:
        return near[0]
    return None


@cache
def _field_by_name(shape: type[Arguments]) -> dict[str, str]:
    """Return the field of a shape that each known name means: the field's own, its synonyms and aliases."""
    field_by_name = {field_name: field_name for field_name in shape.model_fields}
    for field_name, words in shape.SYNONYMS.items():
        field_by_name |= dict.fromkeys(words.split(), field_name)
    return field_by_name | dict(shape.ALIASES)


def _repaired(
    shape: type[Arguments], values: dict[str, Any], error: Any, context: ReadContext
) -> bool:
    """Make an optional argument valid, note that, and return True; False if it must not be changed.

    | the fault                              | the argument                  |
    |----------------------------------------|-------------------------------|
    | a number is out of its bounds          | is the nearest bound          |
    | an item of a list cannot be read       | loses the item                |
    | any other                              | is left out                   |

    `error` is one of pydantic's, whose `loc` is the path to the value: ("limit",), or ("tags", 2) for an item.
    """
    location = (*error["loc"], None, None)
    name = str(location[0] or "")
    index = location[1]
    if name not in values or not _may_be_left_out(shape, name, error):
        return False
    fault = explain([error]).fault
    details = error.get("ctx", {})
    bound = details.get("le", details.get("ge"))
    if index is None and bound is not None:
        values[name] = bound
        context.ignored.append(f"{name}: {fault}, {bound:g} used")
    elif _has_item(values[name], index):
        values[name] = [item for number, item in enumerate(values[name]) if number != index]
        context.ignored.append(f"{error_path(error['loc'])}: {fault}")
    else:
        del values[name]
        context.ignored.append(f"{name}: {fault}")
    return True


def _may_be_left_out(shape: type[Arguments], name: str, error: Any) -> bool:
    """Return whether an argument is optional and not strict. What is too long is never left out in silence."""
    if name not in shape.model_fields or shape.model_fields[name].is_required():
        return False
    return name not in shape.STRICT and error["type"] not in ("over_limit", "string_too_long")


def _has_item(value: Any, index: object) -> bool:
    """Return whether the value is a list that has an item at an index."""
    if not isinstance(value, list | tuple) or not isinstance(index, int):
        return False
    return index < len(cast("list[Any]", value))
