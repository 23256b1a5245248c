"""The one table of hosts: their files, hooks, switches, processes, and what they do at each moment.

A host is added by a row here, a fixture of its sessions (tests/sessions) and, where it has a form of its own, a reader in
`sessions.hosts`. `install --help` and the table in docs/hosts.md come from it. Paths and forms come from the hosts' own
documentation and from the programs, read and tried in November 2026.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcp_reflect.cli.host_hooks import HookSettings
from mcp_reflect.cli.hosts import HostConfig
from mcp_reflect.errors import InputError

_NEW_SESSIONS: Final = "Sessions that start from now on have it."


@dataclass(frozen=True, slots=True, kw_only=True)
class HostMoments:
    """What a host does at each moment, in the words of docs/hosts.md.

    `prompts` are those of the server as slash commands, `lessons` what is shown before the work, `hooked` if a call
    against a lesson is refused, failures are noted and lessons asked for, `last_word` what is done about
    a last message. `tried` says with which versions, or that only the host's pages were read.
    """

    prompts: str = "no"
    lessons: str = "no"
    hooked: str = "no"
    last_word: str = "no"
    tried: str = "files alone"


@dataclass(frozen=True, slots=True, kw_only=True)
class HooksOff:
    """What keeps the hooks of a host from running.

    `entries` with their values switch all hooks off, in any of its `files` (`./` is the project's). Where `instead` has
    hooks for an event, the host reads those and not ours.
    """

    files: tuple[str, ...]
    entries: tuple[tuple[tuple[str, ...], bool], ...]
    instead: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A host.

    `program` is its command in a terminal, if it has one. `hooks` is None where none of its hooks can tell its model
    anything, or none that we write. `processes` matches the names of its programs. `note` is what a person is told who
    registers the server there.
    """

    config: HostConfig
    program: str | None = None
    hooks: HookSettings | None = None
    off: HooksOff | None = None
    processes: re.Pattern[str] | None = None
    moments: HostMoments = HostMoments()
    note: str = ""


_CALLS: Final = ("PreToolUse", "PostToolUse", "PostToolUseFailure")
_ALL_OF_CLAUDE: Final = (
    *("SessionStart", "UserPromptSubmit", *_CALLS),
    *("Stop", "SubagentStop", "SessionEnd"),
)
_ASKED_BY_CLAUDE: Final = (*_CALLS, "Stop", "SubagentStop")
"""The events at which Claude Code asks the running server instead of starting a process."""

_START_AND_PROMPT: Final = "start, prompt"
_OF_COPILOT: Final[Mapping[str, Any]] = {
    # VS Code and Copilot CLI both read this folder, so that one file serves both.
    "file": ".copilot/hooks/mcp-reflect.json",
    "project_file": ".github/hooks/mcp-reflect.json",
    "events": _ALL_OF_CLAUDE,
    "flat": True,
    "typed": True,
    "fails_closed": True,
}

_SHOWN_FROM_START: Final = (
    *("recall_lessons", "store_lesson", "reflect"),
    *("record_outcome", "critique"),
)
"""The tools that a host shows its model without a search, as the server asks Claude Code to do."""

ROWS: Final[Mapping[str, Host]] = {
    "claude-code": Host(
        program="claude",
        config=HostConfig(
            title="Claude Code", language="json", block="mcpServers", place="~/.claude.json",
            project=".mcp.json", type="stdio", variable="${NAME}", kind="http", restart=_NEW_SESSIONS,
        ),
        hooks=HookSettings(
            ".claude/settings.json", _ALL_OF_CLAUDE, asked=_ASKED_BY_CLAUDE, names_agents=True,
        ),
        off=HooksOff(
            files=(
                ".claude/settings.json", "./.claude/settings.json", "./.claude/settings.local.json",
            ),
            entries=((("disableAllHooks",), True),),
        ),
        processes=re.compile(r"claude|claude\.exe"),
        moments=HostMoments(
            prompts="yes", lessons=_START_AND_PROMPT, hooked="yes",
            last_word="held", tried="2.1.197, 2.1.330",
        ),
    ),
    "claude-desktop": Host(
        config=HostConfig(
            title="Claude Desktop", language="json", block="mcpServers",
            place="@/Claude/claude_desktop_config.json",
        ),
        processes=re.compile(r"Claude|claude-desktop|Claude\.exe"),
        moments=HostMoments(prompts="yes"),
    ),
    "vscode": Host(
        config=HostConfig(
            title="VS Code", language="json", block="servers", place="@/Code/User/mcp.json",
            project=".vscode/mcp.json", type="stdio", variable="${env:NAME}", kind="http",
            restart="It asks once whether you trust the server.",
        ),
        hooks=HookSettings(
            **_OF_COPILOT, note="Hooks of VS Code are in preview: an organization can forbid them.",
        ),
        processes=re.compile(r"code|Code|Code\.exe|Electron"),
        moments=HostMoments(
            prompts="yes", lessons=_START_AND_PROMPT, hooked="yes", last_word="held",
        ),
    ),
    "cursor": Host(
        config=HostConfig(
            title="Cursor", language="json", block="mcpServers", place="~/.cursor/mcp.json",
            project=".cursor/mcp.json", variable="${env:NAME}",
        ),
        hooks=HookSettings(
            ".cursor/hooks.json",
            (
                "sessionStart", "preToolUse", "postToolUse", "postToolUseFailure", "stop",
                "sessionEnd",
            ),
            flat=True, version=1,
        ),
        processes=re.compile(r"cursor|Cursor|Cursor\.exe"),
        moments=HostMoments(
            prompts="yes", lessons="start", hooked="yes",
            last_word="follow-up",
        ),
    ),
    "codex": Host(
        program="codex",
        config=HostConfig(
            title="Codex", language="toml", block="mcp_servers", place="~/.codex/config.toml",
            restart=_NEW_SESSIONS,
        ),
        hooks=HookSettings(
            ".codex/hooks.json",
            (
                "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop",
                "SessionEnd",
            ),
            asked=("PreToolUse", "PostToolUse"), end_seconds=3,
            note="Codex asks you to trust its hooks once: /hooks.",
        ),
        off=HooksOff(
            files=(".codex/config.toml", "./.codex/config.toml"),
            entries=((("features", "hooks"), False), (("features", "codex_hooks"), False)),
        ),
        processes=re.compile(r"codex|codex\.exe"),
        moments=HostMoments(
            lessons=_START_AND_PROMPT, hooked="yes", last_word="held",
            tried="0.169.0",
        ),
    ),
    "gemini": Host(
        program="gemini",
        config=HostConfig(
            title="Gemini CLI", language="json", block="mcpServers", place="~/.gemini/settings.json",
            project=".gemini/settings.json", variable="${NAME}", url="httpUrl",
            restart=_NEW_SESSIONS,
        ),
        hooks=HookSettings(
            ".gemini/settings.json",
            (
                "SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent",
                "SessionEnd",
            ),
            units_per_second=1000,
        ),
        off=HooksOff(
            files=(".gemini/settings.json", "./.gemini/settings.json"),
            entries=((("hooksConfig", "enabled"), False), (("tools", "enableHooks"), False)),
        ),
        processes=re.compile(r"gemini"),
        moments=HostMoments(
            prompts="yes", lessons=_START_AND_PROMPT, hooked="yes",
            last_word="held", tried="0.61.0",
        ),
        note="Gemini CLI serves few accounts since June 2026; `install antigravity` is for its successor.",
    ),
    "goose": Host(
        config=HostConfig(
            title="goose", language="yaml", block="extensions", place="@/goose/config.yaml",
            mac="~/.config/goose/config.yaml", windows="@/Block/goose/config/config.yaml",
            variable="${NAME}", url="uri", kind="streamable_http", restart=_NEW_SESSIONS,
        ),
        processes=re.compile(r"goose|goosed"),
        moments=HostMoments(prompts="yes"),
    ),
    "copilot": Host(
        program="copilot",
        config=HostConfig(
            title="Copilot CLI", language="json", block="mcpServers",
            place="~/.copilot/mcp-config.json", project=".github/mcp.json", type="local",
            variable="${NAME}", kind="http", more={"tools": ["*"]}, restart=_NEW_SESSIONS,
        ),
        hooks=HookSettings(**_OF_COPILOT),
        off=HooksOff(
            # The same entry in its settings does not reach this file (1.0.102).
            files=(".copilot/hooks/mcp-reflect.json", "./.github/hooks/mcp-reflect.json"),
            entries=((("disableAllHooks",), True),),
        ),
        processes=re.compile(r"copilot|copilot\.exe"),
        moments=HostMoments(
            lessons=_START_AND_PROMPT, hooked="yes", last_word="held",
            tried="1.0.102",
        ),
    ),
    "qwen": Host(
        program="qwen",
        config=HostConfig(
            title="Qwen Code", language="json", block="mcpServers", place="~/.qwen/settings.json",
            project=".qwen/settings.json", variable="${NAME}", url="httpUrl",
            restart=_NEW_SESSIONS,
        ),
        hooks=HookSettings(".qwen/settings.json", _ALL_OF_CLAUDE, units_per_second=1000),
        off=HooksOff(
            files=(".qwen/settings.json", "./.qwen/settings.json"),
            entries=((("disableAllHooks",), True),),
        ),
        processes=re.compile(r"qwen|qwen\.exe"),
        moments=HostMoments(
            prompts="yes", lessons=_START_AND_PROMPT, hooked="yes",
            last_word="held", tried="0.24.4",
        ),
    ),
    "opencode": Host(
        program="opencode",
        config=HostConfig(
            title="opencode", language="json", block="mcp",
            place="~/.config/opencode/opencode.json", project="opencode.json", type="local",
            variable="{env:NAME}", kind="remote", more={"enabled": True}, one_list=True,
            restart=_NEW_SESSIONS,
        ),
        hooks=HookSettings(
            ".config/opencode/plugins/mcp-reflect.js", script="opencode",
            project_file=".opencode/plugins/mcp-reflect.js",
        ),
        processes=re.compile(r"opencode|opencode\.exe"),
        moments=HostMoments(
            lessons=_START_AND_PROMPT, hooked="yes", tried="1.18.33",
        ),
    ),
    "cline": Host(
        program="cline",
        config=HostConfig(
            title="Cline", language="json", block="mcpServers",
            place="~/.cline/data/settings/cline_mcp_settings.json", variable="${env:NAME}",
            kind="streamableHttp", more={"timeout": 60}, restart=_NEW_SESSIONS,
        ),
        hooks=HookSettings(".cline/plugins/mcp-reflect.js", script="cline"),
        processes=re.compile(r"cline|cline\.exe"),
        moments=HostMoments(
            lessons=_START_AND_PROMPT, hooked="yes", tried="CLI 3.0.65",
        ),
    ),
    "pi": Host(
        program="pi",
        config=HostConfig(
            title="pi", language="json", block="mcpServers", place="~/.pi/agent/mcp.json",
            project=".pi/mcp.json", variable="${NAME}", restart=_NEW_SESSIONS,
            more={
                "exposure": "deferred", "toolExposure": dict.fromkeys(_SHOWN_FROM_START, "direct"),
            },
        ),
        hooks=HookSettings(
            ".pi/agent/extensions/mcp-reflect.js", script="pi",
            project_file=".pi/extensions/mcp-reflect.js",
        ),
        processes=re.compile(r"pi"),
        moments=HostMoments(
            lessons=_START_AND_PROMPT, hooked="yes", last_word="held",
            tried="1.6.0",
        ),
    ),
    "droid": Host(
        program="droid",
        config=HostConfig(
            title="Droid", language="json", block="mcpServers", place="~/.factory/mcp.json",
            project=".factory/mcp.json", type="stdio", variable="${NAME}", kind="http",
            restart=_NEW_SESSIONS,
        ),
        hooks=HookSettings(".factory/settings.json", _ALL_OF_CLAUDE),
        off=HooksOff(
            files=(
                ".factory/settings.json", "./.factory/settings.json",
                ".factory/hooks.json", "./.factory/hooks.json",
            ),
            entries=((("hooks", "hooksDisabled"), True), (("hooksDisabled",), True)),
            instead=".factory/hooks.json",
        ),
        processes=re.compile(r"droid|droid\.exe"),
        moments=HostMoments(
            lessons=_START_AND_PROMPT, hooked="yes", last_word="held",
            tried="0.215.0: list of servers; hooks only read",
        ),
    ),
    "antigravity": Host(
        program="agy",
        config=HostConfig(
            title="Antigravity", language="json", block="mcpServers",
            place="~/.gemini/config/mcp_config.json", url="serverUrl",
        ),
        processes=re.compile(r"agy|antigravity|Antigravity"),
        moments=HostMoments(tried="only read"),
        note="Its hooks refuse every call after a malformed answer, so none are written.",
    ),
    "devin": Host(
        config=HostConfig(
            title="Devin Desktop", language="json", block="mcpServers",
            place="~/.config/devin/config.json",
        ),
        processes=re.compile(r"devin|Devin"),
        moments=HostMoments(tried="only read"),
    ),
    "windsurf": Host(
        config=HostConfig(
            title="Windsurf", language="json", block="mcpServers",
            place="~/.codeium/windsurf/mcp_config.json", variable="${env:NAME}", url="serverUrl",
        ),
        processes=re.compile(r"windsurf|Windsurf"),
        note="Windsurf is Devin Desktop since June 2026: this reaches its Cascade agent alone, "
        "`install devin` the others.",
    ),
}  # fmt: skip
"""The hosts, by the name that `install` takes."""

HOSTS: Final[Mapping[str, HostConfig]] = {name: row.config for name, row in ROWS.items()}

HOOK_SETTINGS: Final[Mapping[str, HookSettings]] = {
    name: row.hooks for name, row in ROWS.items() if row.hooks is not None
}
"""The hosts whose hooks can give text to the model."""


def find_hooks(name: str) -> HookSettings:
    """Return the hook settings of a host. Raises InputError if it has none that we write."""
    if name not in HOOK_SETTINGS:
        fix = "Leave it out; `mcp-reflect install rules` prints what to tell its agent."
        fault = f"{HOSTS[name].title} has no hooks that we write"
        raise InputError("--hooks", fault, f"{fix} {ROWS[name].note}".strip())
    return HOOK_SETTINGS[name]


def find_program(name: str) -> str:
    """Return the model that runs a host's own agent program. Raises InputError if it has none."""
    if name not in ("claude-code", "codex", "gemini"):
        fix = "Leave it out, and set MCP_REFLECT_LLM to a model."
        fault = f"{HOSTS[name].title} has no program that can answer without a window"
        raise InputError("--distil", fault, fix)
    return name


def table_of_hosts() -> str:
    """Return the table of docs/hosts.md: what works where, and with which versions it was tried."""
    head = (
        "host",
        "`install`",
        "prompts",
        "lessons",
        "a call against a lesson is refused, a failure noted",
        "last message",
        "tried with",
    )
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for name, row in ROWS.items():
        moments = row.moments
        cells = [row.config.title, f"`{name}`", moments.prompts, moments.lessons]
        cells += [moments.hooked, moments.last_word, moments.tried]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
