"""The forms in which hosts write down their sessions: a module for each, and one table.

To read another host, add its module and a row here, a row in docs/sessions.md, and a session in tests/sessions.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from mcp_reflect.sessions.hosts.claude_code import (
    ClaudeCodeReader,
    is_of_claude_code,
    record_id,
)
from mcp_reflect.sessions.hosts.cline import ClineReader, is_of_cline
from mcp_reflect.sessions.hosts.codex import CodexReader, is_of_codex, record_key
from mcp_reflect.sessions.hosts.copilot import CopilotReader, event_id, is_of_copilot
from mcp_reflect.sessions.hosts.gemini import GeminiReader, is_of_gemini, message_id
from mcp_reflect.sessions.hosts.messages import MessagesReader, is_record
from mcp_reflect.sessions.hosts.opencode import OpencodeReader, is_of_opencode, part_id
from mcp_reflect.sessions.hosts.qwen import QwenReader, is_of_qwen, line_id
from mcp_reflect.sessions.records import Listener, Record, RecordReader


@dataclass(frozen=True, slots=True)
class SessionForm:
    """A form of sessions.

    `reader` takes the keys of records that were read in another session. `key` gives the key of a record, the same in
    each copy of it. `rewrites`: later records change what earlier ones said, so that all are read anew.
    """

    name: str
    is_of: Callable[[Record], bool]
    reader: Callable[[Listener, frozenset[str]], RecordReader]
    key: Callable[[Record], str]
    rewrites: bool = False


def _is_of_messages(record: Record) -> bool:
    """True for a message of an API, and for the line with which pi opens a session."""
    return is_record(record) or record.get("type") == "session"


def _no_key(_: Record) -> str:
    """The key of a record in a form whose records have none: empty, so that no two are taken for copies."""
    return ""


FORMS: Final = (
    SessionForm("opencode", is_of_opencode, OpencodeReader, part_id),
    SessionForm("qwen", is_of_qwen, QwenReader, line_id),
    SessionForm("cline", is_of_cline, ClineReader, _no_key),
    SessionForm("copilot", is_of_copilot, CopilotReader, event_id),
    SessionForm("claude-code", is_of_claude_code, ClaudeCodeReader, record_id),
    SessionForm("codex", is_of_codex, CodexReader, record_key),
    SessionForm("gemini", is_of_gemini, GeminiReader, message_id, rewrites=True),
    SessionForm("messages", _is_of_messages, MessagesReader, _no_key),
)


def form_of(record: Record) -> SessionForm | None:
    """Return the form that a record shows; None for one that is of no session."""
    return next((form for form in FORMS if form.is_of(record)), None)
