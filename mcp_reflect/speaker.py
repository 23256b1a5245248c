"""Who is speaking: a person or an agent.

Only a person's word trusts a lesson, lets it refuse a call, changes or removes what a person keeps, or writes into a
project's files. These count as a person: whoever is logged in at the board, a terminal that no host's agent uses, a
token with the role of an admin, and a confirmation that a host showed. Everything else is an agent: a call of a tool,
whatever token it brings, a hook, a script, and a service that asks for no token.

This stops accidents and agents that do as they are told. It does not stop a process of the same user that forges a
terminal or writes into the bank's file.
"""

import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from typing import Final

from mcp_reflect.errors import NotAllowedError
from mcp_reflect.models.access import AccessRole, Principal

MARKS_OF_HOSTS: Final = frozenset(
    {
        # Claude Code 2.1.197
        *("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_CHILD_SESSION", "AI_AGENT"),
        # Codex 0.171
        *("CODEX_SESSION_ID", "CODEX_THREAD_ID", "CODEX_TOOL_CALL_ID", "CODEX_CI"),
        # Copilot CLI 1.0.102
        *("COPILOT_CLI", "COPILOT_AGENT_SESSION_ID"),
        # opencode 1.18
        *("OPENCODE", "OPENCODE_PID"),
        # Gemini CLI 0.61, Qwen Code 0.15
        *("GEMINI_CLI", "QWEN_CODE"),
        # pi 1.6, Cline CLI 3.0
        *("PI_CODING_AGENT", "PI_SESSION_ID", "CLINE_CONNECTOR_CLI_LAUNCH"),
        # By their source: Codex in a sandbox, goose, Crush, Cline and Roo Code in an editor
        *("CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "GOOSE_TERMINAL", "CRUSH"),
        *("CLINE_ACTIVE", "ROO_ACTIVE"),
        # By their pages, or by programs that tell agents apart: Cursor, Auggie, Amp, Antigravity
        *("CURSOR_AGENT", "AUGMENT_AGENT", "AMP_CURRENT_THREAD_ID", "ANTIGRAVITY_AGENT"),
    }
)
"""Variables that hosts set in the commands of their agents: with a version measured by `python -m tools.hosts.children`.

None of them is one that people set themselves, such as CODEX_HOME or COPILOT_MODEL, nor one that an editor sets in a
terminal of the person's, such as CURSOR_TRACE_ID.
"""

HEADER: Final = "Mcp-Reflect-Speaker"
"""By which our command line tells a service that an agent runs it, whatever its token allows."""


class Speaker(StrEnum):
    """Whose word a call is."""

    PERSON = "person"
    AGENT = "agent"


Confirm = Callable[[str], Awaitable[Speaker | None]]
"""Shows a question to the person at the host and returns whose word counts for the call that waits.

PERSON after a yes, AGENT after a no, None if the host cannot ask.
"""


def is_in_host(env: Mapping[str, str]) -> bool:
    """Return whether an agent of a host started this process, by the variables that hosts set."""
    return any(env.get(name) for name in MARKS_OF_HOSTS)


def speaker_of_process() -> Speaker:
    """Return who runs this process: a person where stdin and stdout are a terminal, and no host's agent started it."""
    has_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if has_terminal and not is_in_host(os.environ):
        return Speaker.PERSON
    return Speaker.AGENT


def speaker_to_service() -> Speaker:
    """Return what our command line sends a service as HEADER.

    AGENT where a host's agent started this process. PERSON claims nothing: the service then goes by the token.
    """
    if is_in_host(os.environ):
        return Speaker.AGENT
    return Speaker.PERSON


def speaker_of_request(principal: Principal, header: str | None = None) -> Speaker:
    """Return who makes a request to the board or a service: a person, if it brings the token of an admin.

    `header` is the value of HEADER, None without one: it can make a person an agent, never an agent a person.
    """
    if header == Speaker.AGENT:
        return Speaker.AGENT
    if principal.is_known and principal.may(AccessRole.ADMIN):
        return Speaker.PERSON
    return Speaker.AGENT


def speaker_of_answer(*, accepted: bool) -> Speaker:
    """Return whose word a call is after its host showed a question: its person's, if the answer was yes.

    After a no, the call goes on as the agent's own.
    """
    if accepted:
        return Speaker.PERSON
    return Speaker.AGENT


_IN_A_TERMINAL: Final = "Run it in a terminal of your own, or use `mcp-reflect board`."


def refuse_agent(speaker: Speaker, field: str, act: str, fix: str = _IN_A_TERMINAL) -> None:
    """Raise NotAllowedError unless a person speaks; `act` completes "only a person may ..."."""
    if speaker is not Speaker.PERSON:
        fault = f"only a person may {act}, and an agent or a script runs this command"
        raise NotAllowedError(field, fault, fix)


def refuse_in_host(field: str, act: str, fix: str = _IN_A_TERMINAL) -> None:
    """Raise NotAllowedError if an agent of a host runs this command.

    Unlike `refuse_agent` it lets scripts through, such as those that a person runs each night; `act` and `fix` as there.
    """
    if is_in_host(os.environ):
        refuse_agent(Speaker.AGENT, field, act, fix)
