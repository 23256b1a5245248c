"""What tools printed, as evidence that an argument brings."""

from typing import Annotated, Any, ClassVar, TypeAlias, cast

from pydantic import BeforeValidator, ValidationInfo, WithJsonSchema

from mcp_reflect.schemas import fields


class ResultArguments(fields.Arguments):
    """Evidence: what a tool printed."""

    SYNONYMS: ClassVar = {
        "content": "output stdout result text response message stderr error",
        "tool": "tool_name name command cmd",
        "exit_code": "exitcode code status returncode return_code",
    }

    tool: fields.Label | None = None
    content: Annotated[str, fields.most("max_result_chars"), BeforeValidator(fields.as_text)] = ""
    exit_code: fields.Count | None = None


def _results(value: Any, info: ValidationInfo) -> Any:
    """Return tool results under our names; a text is a result."""
    value = fields.as_objects(value, info)
    if not isinstance(value, list | tuple):
        return value
    items = [item for item in cast("list[Any]", value) if item is not None]
    context = fields.ReadContext.of(info)
    context.limits.refuse_more("max_results", "tool_results", len(items), "items")  # before each is looked at
    return [
        fields.named(ResultArguments, cast("dict[str, Any]", item), context, f"tool_results[{place}].")
        if isinstance(item, dict)
        else {"content": item}
        for place, item in enumerate(items)
    ]


Results: TypeAlias = Annotated[
    tuple[ResultArguments, ...],
    fields.most("max_results"),
    BeforeValidator(_results),
    # The description has the fields: a nested schema would cost every client 250 bytes more.
    WithJsonSchema({"type": "array", "items": {"type": "object"}, "description": "[{tool, content, exit_code}]"}),
]
