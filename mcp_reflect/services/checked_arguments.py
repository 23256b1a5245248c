"""The arguments of a call as its service reads them: checked, then redacted. The Engine sends every call through here."""

from collections.abc import Mapping
from typing import Any

from mcp_reflect.config import Settings
from mcp_reflect.security.gate import clean_arguments
from mcp_reflect.security.normal_form import normalize
from mcp_reflect.security.redact import cuts
from mcp_reflect.services.tool_functions import shape_of


def checked_arguments(
    tool: str, arguments: Mapping[str, Any], settings: Settings
) -> tuple[dict[str, Any], str]:
    """Return the arguments of a call without secrets, and the words that tell what was cut out of them.

    The order matters:

    1. A value that JSON cannot carry is an InputError that names its field. Redaction takes out invisible characters,
       so that the fault would be gone after it.
    2. Arguments that the tool does not have lose their values, which nobody reads.
    3. Secrets are redacted before the arguments are read: in parts, or in JSON, a secret would not be recognized.
    """
    from mcp_reflect.schemas.reading import without_unknown  # noqa: PLC0415 - the engine starts sooner
    from mcp_reflect.schemas.value_checks import CheckedArguments, check_values  # noqa: PLC0415 - same

    check_values(arguments, settings)
    _refuse_long_task(arguments, settings)
    tool_arguments = without_unknown(shape_of(tool), arguments)
    cleaned = clean_arguments(tool_arguments)
    return CheckedArguments(cleaned), cuts(tool_arguments, cleaned)


def _refuse_long_task(arguments: Mapping[str, Any], settings: Settings) -> None:
    """Raise InputError for a task of more than twice its limit: to redact 100 kB takes a second.

    A shorter one is measured after redaction, which may leave less than the limit.
    """
    task = arguments.get("task")
    most_chars = 2 * settings.max_task_chars
    if not isinstance(task, str) or len(task) <= most_chars:
        return
    task_chars = len(normalize(task))
    if task_chars > most_chars:
        settings.refuse_more("max_task_chars", "task", task_chars)
