"""The arguments of critique: a piece of work, and what tools printed as evidence for it."""

from typing import Annotated, Any, ClassVar, TypeAlias, cast

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from mcp_reflect.errors import InputError
from mcp_reflect.evidence.runs import MOST_RESULTS
from mcp_reflect.guards.shell_tools import is_shell
from mcp_reflect.limits import DEFAULT
from mcp_reflect.models.critique import NO_GOAL
from mcp_reflect.schemas import fields
from mcp_reflect.schemas.fields import Arguments, ReadContext, parsed
from mcp_reflect.schemas.reading import named
from mcp_reflect.security.redact import clean_text


class ResultArguments(Arguments):
    """Evidence: what a tool printed."""

    SYNONYMS: ClassVar = {
        "content": "output stdout result text response message stderr error",
        "tool": "tool_name name command cmd",
        "exit_code": "exitcode code status returncode return_code",
    }

    tool: Annotated[fields.Phrase, AfterValidator(clean_text)] | None = None
    content: Annotated[str, fields.most("max_result_chars"), BeforeValidator(fields.as_text)] = ""
    exit_code: fields.Count | None = None


# The names under which agents send a command, the arguments of a call, and its tool.
_COMMAND_NAMES = ("command", "cmd")
_ARGUMENTS_NAMES = ("arguments", "args", "input", "tool_input", "parameters")
_TOOL_NAMES = ("tool", "tool_name", "name")


def _with_command(item: dict[str, Any]) -> dict[str, Any]:
    """Return a result of a shell with its command in place of the tool: `pytest -q` says more than `bash`.

    | the result                                           | its tool                                   |
    |------------------------------------------------------|--------------------------------------------|
    | {"tool": "bash", "command": "pytest -q"}             | "pytest -q"                                |
    | {"tool": "bash", "input": {"command": "pytest -q"}}  | "pytest -q"                                |
    | {"command": "pytest -q"}                             | "pytest -q"                                |
    | {"tool": "edit", "command": "view"}                  | "edit": the command is a word of the tool's |
    """
    tools = [item[name] for name in _TOOL_NAMES if item.get(name)]
    if tools:
        tool = tools[0]
        if not isinstance(tool, str) or not is_shell(tool):
            return item
    command = _command_in(item)
    if command is None:
        return item
    of_call = {*_COMMAND_NAMES, *_ARGUMENTS_NAMES, *_TOOL_NAMES}
    others = {name: value for name, value in item.items() if name not in of_call}
    return {"tool": command[: DEFAULT.max_phrase_chars], **others}


def _command_in(item: dict[str, Any]) -> str | None:
    """Return the command of a result, from its own fields or from the arguments of its call; None if there is none."""
    arguments = [item[name] for name in _ARGUMENTS_NAMES if isinstance(item.get(name), dict)]
    for fields_of_result in (item, *arguments):
        for name in _COMMAND_NAMES:
            command = fields_of_result.get(name)
            if isinstance(command, str) and command.strip():
                return command
    return None


def _as_results(value: Any, info: ValidationInfo) -> Any:
    """Return tool results under our names; a text is a result.

    Of very many only the latest are read; the older ones are empty objects, so that they still count.
    """
    value = fields.as_objects(value, info)
    if not isinstance(value, list | tuple):
        return value
    items = [item for item in cast("list[Any]", value) if item is not None]
    context = ReadContext.of(info)
    context.limits.refuse_more("max_results", "tool_results", len(items), "items")
    unread = max(0, len(items) - MOST_RESULTS)
    older: list[dict[str, Any]] = [{} for _ in range(unread)]
    latest = [
        _as_result(item, context, f"tool_results[{index}].")
        for index, item in enumerate(items[unread:], start=unread)
    ]
    return older + latest


def _as_result(item: Any, context: ReadContext, path: str) -> dict[str, Any]:
    """Return a result under our names, a text as its content; `path` stands before the names in notes."""
    if not isinstance(item, dict):
        return {"content": item}
    sent = _with_command(cast("dict[str, Any]", item))
    return named(ResultArguments, sent, context, path)


Results: TypeAlias = Annotated[
    tuple[ResultArguments, ...],
    fields.most("max_results"),
    BeforeValidator(_as_results),
    # The description has the fields: a nested schema would cost every client 250 bytes more.
    WithJsonSchema(
        {
            "type": "array",
            "items": {"type": "object"},
            "description": "[{tool or command, content, exit_code}]",
        }
    ),
]


def _steps(value: Any, info: ValidationInfo) -> Any:
    """Return the steps of an answer as texts; one text is one step."""
    value = parsed(value, ReadContext.of(info))
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list | tuple):
        return value
    return [fields.as_text(item) for item in cast("list[Any]", value)]


class CritiqueArguments(Arguments):
    """Arguments of critique. With `critique_id` the work and its evidence are the stored ones."""

    ALIASES: ClassVar = {"query": "goal", "answer": "response"}
    SYNONYMS: ClassVar = {
        "goal": "task question purpose objective prompt task_description",
        "response": "work text content code plan draft output result claim",
        "tool_results": "evidence outputs tool_outputs tool_result results",
        "steps": "claims reasoning reasoning_steps",
        "max_iterations": "iterations",
    }

    goal: fields.Task | None = None
    response: Annotated[
        str | None,
        Field(description="The work to check, or send steps", min_length=1),
        fields.most("max_work_chars"),
        BeforeValidator(fields.as_text),
    ] = None
    steps: Annotated[tuple[str, ...], fields.most("max_steps"), BeforeValidator(_steps)] = ()
    step_description: fields.Phrase | None = None
    decided: Annotated[
        fields.Label | None, Field(description="The component or tool that was decided on")
    ] = None
    executed: Annotated[fields.Label | None, Field(description="The one that ran")] = None
    tool_results: Results = ()
    criteria: Annotated[
        fields.Labels, WithJsonSchema({"type": "array", "items": {"type": "string"}})
    ] = ()
    max_iterations: Annotated[fields.Count | None, Field(ge=0, le=5)] = None
    recall_id: fields.Label | None = None
    critique_id: fields.Label | None = None
    verdicts: Annotated[
        fields.Judgment,
        WithJsonSchema(
            {
                "type": "array",
                "items": {"type": "object"},
                "description": "[{claim, verdict, correction}]",
            }
        ),
    ] = None
    analysis: fields.Judgment = None
    trigger: fields.Label | None = None
    detail: fields.Detail = False
    project: fields.Label | None = None

    @model_validator(mode="before")
    @classmethod
    def _default_goal(cls, values: Any) -> Any:
        """Give work that was sent without a goal the one that says so: it is checked for its claims."""
        if "goal" in values or "critique_id" in values:
            return values
        return {**values, "goal": NO_GOAL}

    @model_validator(mode="after")
    def _has_work(self, info: ValidationInfo) -> "CritiqueArguments":
        """Refuse a first call without work to check, a later one that brings nothing, and work that is empty."""
        if self.response is not None and self.steps:
            raise InputError("steps", "response was sent too", "Send only one of them.")
        if self.critique_id is None:
            self._refuse_first_call()
        elif self.verdicts is None and self.analysis is None and not self.tool_results:
            fix = 'Send your verdicts: [{"claim": 1, "verdict": "holds"}].'
            raise InputError("verdicts", "it is missing beside critique_id", fix)
        if any(not step.strip() for step in self.steps):
            raise InputError("steps", "it is empty", "Send text.")
        if self.response is not None and not self.response.strip():
            raise InputError("response", "it is empty", "Send text.")
        ReadContext.of(info).limits.refuse_more(
            "max_work_chars", "steps", sum(map(len, self.steps))
        )
        return self

    def _refuse_first_call(self) -> None:
        """Raise InputError for a first call without work, or with verdicts on claims that nobody has listed yet."""
        if self.response is None and not self.steps:
            raise InputError(
                "response", "it is missing, and so is steps", "Send the work to check."
            )
        if self.verdicts is not None:
            fix = "Send the id that critique gave with the claims."
            raise InputError("critique_id", "it is missing beside verdicts", fix)
