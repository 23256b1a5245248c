"""What the server lists: tools from their generated file, resources, and prompts, which hosts show as commands."""

import json
from functools import cache
from pathlib import Path
from typing import Any, Final

from mcp.types import Prompt, PromptArgument, Resource, ResourceTemplate

JSON: Final = "application/json"
APP: Final = "text/html;profile=mcp-app"
"""A page that a host may show in a conversation (the MCP extension io.modelcontextprotocol/ui, 2026-01-26)."""
BOARD: Final = "ui://mcp-reflect/board"
TASK_TYPE: Final = "Like debugging, search, deploy"


@cache
def tools() -> list[dict[str, Any]]:
    """Return the tools as the generated file lists them."""
    return json.loads((Path(__file__).parent / "tools.json").read_text(encoding="utf-8"))


def _prompt(name: str, title: str, description: str, needed: tuple[str, ...] = (), **arguments: str) -> Prompt:
    return Prompt(
        name=name,
        title=title,
        description=description,
        arguments=[
            PromptArgument(name=argument, description=about, required=argument in needed)
            for argument, about in arguments.items()
        ],
    )


PROMPTS: Final = {
    prompt.name: prompt
    for prompt in (
        _prompt(
            "start_task",
            "Start a task",
            "Start a task with the lessons and strategies that earlier runs left for it",
            ("task",),
            task="What you are about to do",
            task_type=TASK_TYPE,
        ),
        _prompt(
            "review_task",
            "Review a task",
            "Look back at a task that ended: what went wrong or right, why, and what to do next time",
            task="What the task was; the agent knows it if you leave it out",
            outcome="success, failure, partial, timeout or error",
            reflection_id="A stored reflection to add the agent's judgment to",
        ),
        _prompt(
            "critique_answer",
            "Critique an answer",
            "Check an answer against evidence before it is handed over, and correct only what is wrong",
            goal="What the answer is for; the last question if you leave it out",
            answer="The answer to check; the agent's last one if you leave it out",
            task_type=TASK_TYPE,
        ),
        _prompt(
            "replan_search",
            "Replan a search",
            "Search again in another way after a search came back empty",
            user_message="What is looked for; the last question if you leave it out",
            tried="What was searched for so far; the agent knows it if you leave it out",
        ),
        _prompt(
            "distill_lessons",
            "Distill lessons",
            "Look over stored reflections for causes that come again, and keep a lesson for each",
            task_type=TASK_TYPE,
            reflection_id="Only this reflection",
            lesson_id="Only this lesson: does it still hold?",
        ),
    )
}

_PROMPT_ABOUT: Final = "The template as it serves now, and whether it is overridden"
RESOURCES: Final = [
    Resource(uri=uri, name=name, title=title, description=description, mime_type=APP if uri == BOARD else JSON)
    for uri, name, title, description in (
        ("bank://stats", "stats", "Bank statistics", "Counts of the records in the bank"),
        ("bank://lessons", "lessons", "Lessons", "The newest lessons of this project and global ones"),
        ("bank://reflections", "reflections", "Reflections", "The newest reflections of this project"),
        (BOARD, "board", "Board", "A page for a person: lessons, their evidence and their effect over time"),
        *((f"prompt://{name}", name, f"Prompt {name}", _PROMPT_ABOUT) for name in PROMPTS),
    )
]
TEMPLATES: Final = [
    ResourceTemplate(uri_template=uri, name=name, title=title, description=description, mime_type=JSON)
    for uri, name, title, description in (
        ("lesson://{id}", "lesson", "Lesson", "A lesson with its effectiveness, versions and links"),
        ("lesson://{id}/neighbours", "neighbours", "Neighbours", "The records one step from a lesson, and why"),
        ("graph://{kind}/{name}", "graph", "Graph", "The records of a tool, file, failure or error_code"),
        ("reflection://{id}", "reflection", "Reflection", "A reflection with its redacted trace and versions"),
        ("prompt://{name}", "prompt", "Prompt template", "A prompt template as it serves now, and its file"),
    )
]
