"""The prompts, which hosts show as slash commands."""

from typing import TYPE_CHECKING, Any, Final

from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS, GetPromptResult, Prompt, PromptArgument, PromptMessage, TextContent

from mcp_reflect.errors import InputError, McpReflectError
from mcp_reflect.server.service import Service

if TYPE_CHECKING:
    from mcp_reflect.records.lesson import Recall

START_TASK: Final = "start_task"


def listed() -> list[Prompt]:
    """Every prompt with its arguments."""
    return [
        Prompt(
            name=START_TASK,
            title="Start a task",
            description="Start a task with the lessons and strategies that earlier runs left for it",
            arguments=[
                PromptArgument(name="task", description="What you are about to do", required=True),
                PromptArgument(name="task_type", description="Like debugging, search, deploy", required=False),
            ],
        )
    ]


async def get(service: Service, name: str, arguments: dict[str, Any]) -> GetPromptResult:
    """A prompt as messages. MCPError (invalid params) for an unknown name or a bad argument."""
    try:
        if name != START_TASK:
            raise InputError("name", f"there is no prompt '{name[:80]}'", f"Get {START_TASK}.")
        text = await _start_task(service, arguments)
    except McpReflectError as error:
        raise MCPError(code=INVALID_PARAMS, message=str(error)) from None
    message = PromptMessage(role="user", content=TextContent(type="text", text=text))
    return GetPromptResult(description=listed()[0].description, messages=[message])


async def complete(service: Service, prompt: str, argument: str, start: str) -> list[str]:
    """Values for an argument: the task types that lessons of this scope have, most frequent first."""
    if prompt != START_TASK or argument != "task_type":
        return []
    engine = service.engine()
    return [name for name in await engine.bank.task_types(engine.scopes.own) if name.startswith(start)][:100]


async def _start_task(service: Service, arguments: dict[str, Any]) -> str:
    """The task with its lessons as a checklist. Getting a prompt counts no lesson as applied."""
    unknown = sorted(set(arguments) - {"task", "task_type"})
    if unknown:
        raise InputError(unknown[0][:80], "start_task has no such argument", "Send task, and perhaps task_type.")
    from mcp_reflect.arguments.lessons import RecallShape, read  # noqa: PLC0415 - same
    from mcp_reflect.prompts import Prompts  # noqa: PLC0415 - nothing of ours at the start

    engine = service.engine()
    found = await engine.recall_for(read(RecallShape, arguments).ask(), applied=False)
    rendered = Prompts(engine.settings.prompts_dir).render(START_TASK, task=arguments["task"], lessons=checklist(found))
    return f"{rendered.system}\n\n{rendered.user}"


def checklist(found: "Recall") -> str:
    """Lessons and strategies as points to go through, or that there are none."""
    if not found.lessons:
        return "Earlier runs left nothing on this. There is nothing to go through."
    lines = [f"recall_id: {found.recall_id}"]
    for hit in found.lessons:
        lines.append(f"- [ ] {hit.kind} {hit.id} ({hit.why})")
        if hit.mistake and hit.correction:
            lines += [f"      avoid: {hit.mistake}", f"      instead: {hit.correction}"]
        else:
            lines.append(f"      {hit.text}")
    return "\n".join(lines)
