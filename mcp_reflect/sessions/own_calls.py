"""The calls of this server's own tools in a session.

They are no work of the agent, so that no lesson is about them.
"""

from typing import Final

from mcp_reflect.guards.shell_tools import is_shell
from mcp_reflect.models.common import Json
from mcp_reflect.patterns import lazy_compile
from mcp_reflect.sessions.tools import command_of
from mcp_reflect.sessions.word_tables import word_set

_OWN_TOOLS: Final = word_set(
    "replan_search recall_lessons store_lesson record_outcome forget_lesson should_reflect"
)


def is_own_tool(tool: str, arguments: Json) -> bool:
    """Return whether a call is of this server: `mcp__mcp-reflect__reflect`, `recall_lessons`, a shell's `mcp-reflect learn`."""
    name = tool.lower().replace("-", "_")
    if "mcp_reflect" in name or name.rsplit("__", 1)[-1] in _OWN_TOOLS:
        return True
    return is_shell(tool) and "mcp-reflect" in (command_of(arguments) or "")


# How each text of ours opens; none goes on with a digit.
_OWN_WORDS: Final = lazy_compile(r"\bmcp-reflect: (?!\d)")
_MOST_REFUSAL: Final = 600  # characters of an answer in which our words stand


def is_own_refusal(answer: str) -> bool:
    """True for the answer of a call that a hook of this server refused: our own words teach nothing."""
    return bool(_OWN_WORDS.search(answer[:_MOST_REFUSAL]))


LESSON_ID: Final = lazy_compile(r"\bles_\w{10,40}")
"""The id of a lesson in an answer of this server."""

_TOOLS_WITH_LESSON: Final = ("store_lesson", "reflect")

_LESSON_FIELDS: Final = ("mistake", "correction", "lesson", "symptoms", "strategy", "reflection")


def lesson_text_in(tool: str, arguments: Json) -> str:
    """The text of the lesson that an agent sends to this server, empty for any other call.

    `store_lesson` has its fields as arguments, `reflect` has them in an analysis, which may be a text.
    """
    name = tool.replace(".", "__").rsplit("__", 1)[-1]
    if name not in _TOOLS_WITH_LESSON or not isinstance(arguments, dict):
        return ""
    sent = arguments.get("analysis", arguments)
    if not isinstance(sent, dict):
        return str(sent)
    return " ".join(str(sent[field]) for field in _LESSON_FIELDS if sent.get(field))
