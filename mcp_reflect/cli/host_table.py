"""The one table of hosts: a row for each, with all that differs from host to host.

A host is added by a row here, a fixture of its sessions (tests/sessions) and, where it has a form of its own, a reader in
`sessions.hosts`. `install --help` and the table in docs/hosts.md come from it. Paths and forms come from the hosts' own
documentation and from the programs, read and tried in November 2026.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from mcp_reflect.cli.host_hooks import HookSettings
from mcp_reflect.cli.host_rows import HooksOff, Host, HostMoments, OffSwitch
from mcp_reflect.cli.hosts import HostConfig
from mcp_reflect.errors import InputError

_NEW_SESSIONS: Final = "Sessions that start from now on have it."


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
            title="Claude Code", language="json", block="mcpServers", path="~/.claude.json",
            project=".mcp.json", type="stdio", variable_form="${NAME}", service_type="http", restart=_NEW_SESSIONS,
        ),
        hooks=HookSettings(
            ".claude/settings.json", _ALL_OF_CLAUDE, asked=_ASKED_BY_CLAUDE, names_agents=True,
        ),
        off=HooksOff(
            files=(
                ".claude/settings.json", "./.claude/settings.json", "./.claude/settings.local.json",
            ),
            switches=(OffSwitch(("disableAllHooks",), off=True),),
        ),
        processes=re.compile(r"claude|claude\.exe"),
        moments=HostMoments(
            prompts="yes", lessons=_START_AND_PROMPT, at_calls="yes",
            last_word="held", tried="2.1.197, 2.1.330",
        ),
    ),
    "claude-desktop": Host(
        config=HostConfig(
            title="Claude Desktop", language="json", block="mcpServers",
            path="@/Claude/claude_desktop_config.json",
        ),
        processes=re.compile(r"Claude|claude-desktop|Claude\.exe"),
        moments=HostMoments(prompts="yes"),
    ),
    "vscode": Host(
        config=HostConfig(
            title="VS Code", language="json", block="servers", path="@/Code/User/mcp.json",
            project=".vscode/mcp.json", type="stdio", variable_form="${env:NAME}", service_type="http",
            restart="It asks once whether you trust the server.",
        ),
        hooks=HookSettings(
            **_OF_COPILOT, note="Hooks of VS Code are in preview: an organization can forbid them.",
        ),
        processes=re.compile(r"code|Code|Code\.exe|Electron"),
        moments=HostMoments(
            prompts="yes", lessons=_START_AND_PROMPT, at_calls="yes", last_word="held",
        ),
    ),
    "cursor": Host(
        config=HostConfig(
            title="Cursor", language="json", block="mcpServers", path="~/.cursor/mcp.json",
            project=".cursor/mcp.json", variable_form="${env:NAME}",
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
            prompts="yes", lessons="start", at_calls="yes",
            last_word="follow-up",
        ),
    ),
    "codex": Host(
        program="codex",
        config=HostConfig(
            title="Codex", language="toml", block="mcp_servers", path="~/.codex/config.toml",
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
            switches=(OffSwitch(("features", "hooks"), off=False), OffSwitch(("features", "codex_hooks"), off=False)),
        ),
        processes=re.compile(r"codex|codex\.exe"),
        moments=HostMoments(
            lessons=_START_AND_PROMPT, at_calls="yes", last_word="held",
            tried="0.169.0",
        ),
    ),
    "gemini": Host(
        program="gemini",
        config=HostConfig(
            title="Gemini CLI", language="json", block="mcpServers", path="~/.gemini/settings.json",
            project=".gemini/settings.json", variable_form="${NAME}", url_key="httpUrl",
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
            switches=(OffSwitch(("hooksConfig", "enabled"), off=False), OffSwitch(("tools", "enableHooks"), off=False)),
        ),
        processes=re.compile(r"gemini"),
        moments=HostMoments(
            prompts="yes", lessons=_START_AND_PROMPT, at_calls="yes",
            last_word="held", tried="0.61.0",
        ),
        note="Gemini CLI serves few accounts since June 2026; `install antigravity` is for its successor.",
    ),
    "goose": Host(
        config=HostConfig(
            title="goose", language="yaml", block="extensions", path="@/goose/config.yaml",
            mac="~/.config/goose/config.yaml", windows="@/Block/goose/config/config.yaml",
            variable_form="${NAME}", url_key="uri", service_type="streamable_http", restart=_NEW_SESSIONS,
        ),
        processes=re.compile(r"goose|goosed"),
        moments=HostMoments(prompts="yes"),
    ),
    "copilot": Host(
        program="copilot",
        config=HostConfig(
            title="Copilot CLI", language="json", block="mcpServers",
            path="~/.copilot/mcp-config.json", project=".github/mcp.json", type="local",
            variable_form="${NAME}", service_type="http", extra={"tools": ["*"]}, restart=_NEW_SESSIONS,
        ),
        hooks=HookSettings(**_OF_COPILOT),
        off=HooksOff(
            # The same entry in its settings does not reach this file (1.0.102).
            files=(".copilot/hooks/mcp-reflect.json", "./.github/hooks/mcp-reflect.json"),
            switches=(OffSwitch(("disableAllHooks",), off=True),),
        ),
        processes=re.compile(r"copilot|copilot\.exe"),
        moments=HostMoments(
            lessons=_START_AND_PROMPT, at_calls="yes", last_word="held",
            tried="1.0.102",
        ),
    ),
    "qwen": Host(
        program="qwen",
        config=HostConfig(
            title="Qwen Code", language="json", block="mcpServers", path="~/.qwen/settings.json",
            project=".qwen/settings.json", variable_form="${NAME}", url_key="httpUrl",
            restart=_NEW_SESSIONS,
        ),
        hooks=HookSettings(".qwen/settings.json", _ALL_OF_CLAUDE, units_per_second=1000),
        off=HooksOff(
            files=(".qwen/settings.json", "./.qwen/settings.json"),
            switches=(OffSwitch(("disableAllHooks",), off=True),),
        ),
        processes=re.compile(r"qwen|qwen\.exe"),
        moments=HostMoments(
            prompts="yes", lessons=_START_AND_PROMPT, at_calls="yes",
            last_word="held", tried="0.24.4",
        ),
    ),
    "opencode": Host(
        program="opencode",
        config=HostConfig(
            title="opencode", language="json", block="mcp",
            path="~/.config/opencode/opencode.json", project="opencode.json", type="local",
            variable_form="{env:NAME}", service_type="remote", extra={"enabled": True}, one_list=True,
            restart=_NEW_SESSIONS,
        ),
        hooks=HookSettings(
            ".config/opencode/plugins/mcp-reflect.js", script="opencode",
            project_file=".opencode/plugins/mcp-reflect.js",
        ),
        processes=re.compile(r"opencode|opencode\.exe"),
        moments=HostMoments(
            lessons=_START_AND_PROMPT, at_calls="yes", tried="1.18.33",
        ),
    ),
    "cline": Host(
        program="cline",
        config=HostConfig(
            title="Cline", language="json", block="mcpServers",
            path="~/.cline/data/settings/cline_mcp_settings.json", variable_form="${env:NAME}",
            service_type="streamableHttp", extra={"timeout": 60}, restart=_NEW_SESSIONS,
        ),
        hooks=HookSettings(".cline/plugins/mcp-reflect.js", script="cline"),
        processes=re.compile(r"cline|cline\.exe"),
        moments=HostMoments(
            lessons=_START_AND_PROMPT, at_calls="yes", tried="CLI 3.0.65",
        ),
    ),
    "pi": Host(
        program="pi",
        config=HostConfig(
            title="pi", language="json", block="mcpServers", path="~/.pi/agent/mcp.json",
            project=".pi/mcp.json", variable_form="${NAME}", restart=_NEW_SESSIONS,
            extra={
                "exposure": "deferred", "toolExposure": dict.fromkeys(_SHOWN_FROM_START, "direct"),
            },
        ),
        hooks=HookSettings(
            ".pi/agent/extensions/mcp-reflect.js", script="pi",
            project_file=".pi/extensions/mcp-reflect.js",
        ),
        processes=re.compile(r"pi"),
        moments=HostMoments(
            lessons=_START_AND_PROMPT, at_calls="yes", last_word="held",
            tried="1.6.0",
        ),
    ),
    "droid": Host(
        program="droid",
        config=HostConfig(
            title="Droid", language="json", block="mcpServers", path="~/.factory/mcp.json",
            project=".factory/mcp.json", type="stdio", variable_form="${NAME}", service_type="http",
            restart=_NEW_SESSIONS,
        ),
        hooks=HookSettings(".factory/settings.json", _ALL_OF_CLAUDE),
        off=HooksOff(
            files=(
                ".factory/settings.json", "./.factory/settings.json",
                ".factory/hooks.json", "./.factory/hooks.json",
            ),
            switches=(OffSwitch(("hooks", "hooksDisabled"), off=True), OffSwitch(("hooksDisabled",), off=True)),
            instead=".factory/hooks.json",
        ),
        processes=re.compile(r"droid|droid\.exe"),
        moments=HostMoments(
            lessons=_START_AND_PROMPT, at_calls="yes", last_word="held",
            tried="0.215.0: list of servers; hooks only read",
        ),
    ),
    "antigravity": Host(
        program="agy",
        config=HostConfig(
            title="Antigravity", language="json", block="mcpServers",
            path="~/.gemini/config/mcp_config.json", url_key="serverUrl",
        ),
        processes=re.compile(r"agy|antigravity|Antigravity"),
        moments=HostMoments(tried="only read"),
        note="Its hooks refuse every call after a malformed answer, so none are written.",
    ),
    "devin": Host(
        config=HostConfig(
            title="Devin Desktop", language="json", block="mcpServers",
            path="~/.config/devin/config.json",
        ),
        processes=re.compile(r"devin|Devin"),
        moments=HostMoments(tried="only read"),
    ),
    "windsurf": Host(
        config=HostConfig(
            title="Windsurf", language="json", block="mcpServers",
            path="~/.codeium/windsurf/mcp_config.json", variable_form="${env:NAME}", url_key="serverUrl",
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
        cells += [moments.at_calls, moments.last_word, moments.tried]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
