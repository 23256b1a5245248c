"""Our hooks in the settings of each host."""

from typing import Any

from mcp_reflect.cli.hosts.hook_settings import HOOK_SETTINGS, add_hooks, hook_line, remove_hooks
from mcp_reflect.cli.hosts.registry import Command
from mcp_reflect.errors import InputError

OLD = (
    '{"hooks": {"%s": [{"hooks": [{"type": "command", "command": "/old/mcp-reflect hook X"}]}, {"command": "theirs"}]}}'
)


def hooks_of_hosts() -> dict[str, Any]:
    """The settings of each host with our hooks and without them, and the command lines of shells."""
    recording: dict[str, Any] = {}
    command = Command("/x y/mcp-reflect", ("--flag",), {"MCP_REFLECT_PROJECT": "a b", "MCP_REFLECT_BANK": "/b.db"})
    for name, settings in HOOK_SETTINGS.items():
        for at, text in enumerate(
            ("", '{\n  "mine": 1\n}\n', OLD % settings.events[0], '{"hooks": 1}', '{"version": 1}')
        ):
            for distil in (None, "claude-code")[: 2 if at == 1 else 1]:
                put = _after(
                    lambda text=text, settings=settings, distil=distil: add_hooks(text, settings, command, distil)
                )
                recording[f"{name} {at} {distil}"] = put
                twice = _after(
                    lambda put=put, settings=settings, distil=distil: add_hooks(put, settings, command, distil)
                )
                taken = _after(lambda put=put, settings=settings: remove_hooks(put, settings))
                recording[f"{name} {at} {distil} again"] = [twice == put, taken]
    for event in ("Stop", "SessionEnd", "sessionEnd"):
        for windows in (True, False):
            recording[f"{event} {windows}"] = hook_line(command, event, "codex", windows=windows)
    return recording


def _after(change: Any) -> str:
    try:
        return change()
    except InputError as error:
        return str(error)
