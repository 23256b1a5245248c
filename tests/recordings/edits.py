"""How the settings of hosts are changed: JSON that people edit by hand, TOML and YAML, and our hooks in each host."""

from functools import partial
from typing import Any

from mcp_reflect.cli.hosts.document_edits import Language, remove_entry, set_entry
from mcp_reflect.cli.hosts.hook_settings import HOOK_SETTINGS, add_hooks, hook_line, remove_hooks
from mcp_reflect.cli.hosts.json_edits import append_item, remove_items, remove_member, set_member
from mcp_reflect.cli.hosts.registry import Command
from mcp_reflect.errors import InputError

DOCUMENTS: tuple[str, ...] = (
    "", "\n", "// nothing yet", "{}", "{}\n", "{ }", '{"a": 1}', '{"a": 1,}', '{"a": 1, // one\n}', '{\n  "a": 1\n}\n',
    '{\n\t"a": {\n\t\t"b": [1, 2],\n\t},\n}\n', '{"s": {}}', '{"s": {"o": 1}}', '{"s": {"o": 1, "x": 2}}', '{"s": [1]}',
    '{\n  "s": {\n    "x": 2, /* two */\n    "o": 1 // ours\n  } // end\n}\n',
    '{"s": {"x": 1,\n"o": {"d": [3]}}, "b": 2}',
    '{"l": []}', '{"l": [\n  1,\n  2\n]}', '{"l": [{"a": 1}, {"a": 2},]}',
    '{\n    "l": [ 1 ],\n    "z": "// no comment"\n}',
    "[]", "1", "{", '{"a" 1}', '{"a": }', '{"a": 1 "b": 2}', '{"a": 1, "a": 2}', '{"a": tru}', '{"a": 1} x', "{a: 1}",
    "[" * 99 + "]" * 99, "[" * 101 + "]" * 101, "[" * 102 + "]" * 102, '{"a": "x\ny"}', "/* open",
    '{"l": [1, 1, 2, 1]}',
)  # fmt: skip
TEXTS: tuple[str, ...] = (
    "", "# mine\n", "[servers]\n", "[servers.x]\na = 1 # one\n", "servers = 1\n", "[servers.ours]\nold = true\n",
    "a = [",
    "servers:\n  x:\n    a: 1  # one\n", "servers:\n", "servers: 1\n", "a: [",
    "l:\n  - 1\n  - 2\nservers:\n  ours: {}\n",
    "l:\n- 'a'\n", "- 1\n",
)  # fmt: skip
LANGUAGES: tuple[Language, ...] = ("toml", "yaml")
OURS: dict[str, Any] = {"command": "/x/mcp-reflect", "args": ["serve"]}
OLD = (
    '{"hooks": {"%s": [{"hooks": [{"type": "command", "command": "/old/mcp-reflect hook X"}]}, {"command": "theirs"}]}}'
)


def edits() -> dict[str, Any]:
    """Each document after each change, or why it is refused."""
    recording: dict[str, Any] = {}
    for document in DOCUMENTS:
        changes: dict[str, Any] = {
            "set": lambda text=document: set_member(text, ("s", "o"), OURS),
            "set deep": lambda text=document: set_member(text, ("n", "m", "o"), 1),
            "remove": lambda text=document: remove_member(text, ("s", "o")),
            "remove first": lambda text=document: remove_member(text, ("a",)),
            "append": lambda text=document: append_item(text, ("l",), {"b": 3}),
            "remove items": lambda text=document: remove_items(text, ("l",), lambda item: item in (1, {"a": 2})),
        }
        for name, change in changes.items():
            after = _after(change)
            if after != document:
                recording[f"{name} {document[:60]!r} {len(document)}"] = after
    for text in TEXTS:
        for language in LANGUAGES:
            changed = partial(set_entry, language, text, "servers", "ours", OURS)
            removed = partial(remove_entry, language, text, "servers", "ours")
            for name, after in (("set", _after(changed)), ("remove", _after(removed))):
                recording[f"{name} {language} {text!r}"] = after.split(":")[0] if "it is not " in after else after
    return recording


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
