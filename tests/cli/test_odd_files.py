"""An entry goes into a host's file and out again, and every other byte of the file stays as it was."""

import json
import tomllib
from itertools import product
from typing import Any

import pytest

from mcp_reflect.cli.host_documents import set_entry
from mcp_reflect.cli.host_hooks import set_hooks
from mcp_reflect.cli.host_table import HOOK_SETTINGS
from mcp_reflect.cli.hosts import ServerCommand
from mcp_reflect.errors import InputError

ENTRY = {
    "command": "/opt/reflect/bin/python",
    "args": ["-E", "-P", "-m", "mcp_reflect"],
    "env": {"MCP_REFLECT_PROJECT": 'the "shop"\\1', "MCP_REFLECT_BANK": "/home/ä/b.db"},
}
SMALLER = {"command": "mcp-reflect"}
BLOCK, NAME = "mcp_servers", "mcp-reflect"

TOML = {
    "empty": "",
    "only comments": "# mine\n\n# all mine\n",
    "one value": 'model = "x"\n',
    "dotted keys": 'mcp_servers.other.command = "x"\nmodel = "y"\nsandbox_mode = "read-only"\n',
    "dotted keys of many levels": 'a.b.c = 1\na.b.d = 2\n"a"."e" = 3\n',
    "a parent of its own": '[mcp_servers]\n\n[mcp_servers.other]\ncommand = "x"\n',
    "a neighbor": '[mcp_servers.other]\ncommand = "x"\n\n[tui]\ntheme = "dark"\n',
    "a neighbor with a longer name": '[mcp_servers.mcp-reflect-2]\ncommand = "x" # ours? no\n',
    "a neighbor in quotes": '[mcp_servers."a.b]c"]\ncommand = "x"\n',
    "an inline neighbor": '[mcp_servers]\nother = { command = "x", args = ["]", "}"] }\n',
    "arrays of tables": "[[profiles]]\nname = 'a'\n[[profiles]]\nname = 'b'\n[profiles.sub]\nx = 1\n",
    "an array of many lines": 'notify = [\n  "a", # ]\n  "b",\n]\nmodel = "x"\n',
    "a header in a string": 's = """\n[mcp_servers.mcp-reflect]\ncommand = "no"\n"""\nb = 1\n',
    "a header in a literal": "s = '''\n[mcp_servers.mcp-reflect]\n'''\nb = 1\n",
    "quotes at the end of strings": 's = """a"""""\nt = \'\'\'b\'\'\'\'\'\nu = "\\\\"\n',
    "escapes": 's = "a \\" [x] # \\u00e9"\nt = \'C:\\no\\escape\'\n',
    "dates and numbers": "d = 1979-05-27T07:32:00Z\nn = 0xDEAD_BEEF\nf = nan\ni = -inf\nt = 07:32:00\n",
    "odd blanks": " \t[ a . b ] \t# why\n\t key\t=\t1   \n\n\n\n",
    "keys of all kinds": '"quoted key" = 1\n\'literal\' = 2\n1234 = 3\n"" = 4\nbare_key-1 = 5\n',
    "comments between": "# first\na = 1 # one\n\n# of b\n[b]\n# in b\nc = 2\n# last\n",
}  # fmt: skip

FORMS = [
    pytest.param(mark + text.rstrip("\n" * (not ends)).replace("\n", line_end), id=f"{name} {ends}{len(line_end)}{mark!r}")
    for (name, text), (ends, line_end, mark) in product(
        TOML.items(), [(True, "\n", ""), (False, "\n", ""), (True, "\r\n", ""), (True, "\r\n", "\ufeff")]
    )
]  # fmt: skip


def others(text: str) -> str:
    """What a TOML text says without our entry and an empty table of servers."""
    values = tomllib.loads(text.removeprefix("\ufeff"))
    values.get(BLOCK, {}).pop(NAME, None)
    return json.dumps({k: v for k, v in values.items() if k != BLOCK or v}, default=repr)


@pytest.mark.parametrize("text", FORMS)
def test_a_toml_file_is_byte_for_byte_what_it_was(text: str) -> None:
    installed = set_entry("toml", text, BLOCK, NAME, ENTRY)
    assert tomllib.loads(installed.removeprefix("\ufeff"))[BLOCK][NAME] == ENTRY
    assert others(installed) == others(text)
    assert installed.startswith(text)
    assert installed.count("\r\n") == (installed.count("\n") if "\r\n" in text else 0)
    assert set_entry("toml", installed, BLOCK, NAME, ENTRY) == installed
    updated = set_entry("toml", installed, BLOCK, NAME, SMALLER)
    assert tomllib.loads(updated.removeprefix("\ufeff"))[BLOCK][NAME] == SMALLER
    for changed in (installed, updated):
        without = set_entry("toml", changed, BLOCK, NAME, None)
        assert without == (text if text.strip("\ufeff\r\n") else "")


@pytest.mark.parametrize("text", FORMS)
def test_what_a_person_wrote_behind_our_table_stays(text: str) -> None:
    line_end = "\r\n" if "\r\n" in text else "\n"
    theirs = f"{line_end}# theirs{line_end}[later]{line_end}x = 1{line_end}"
    installed = set_entry("toml", text, BLOCK, NAME, ENTRY) + theirs
    without = set_entry("toml", installed, BLOCK, NAME, None)
    assert others(without) == others(text + theirs)
    assert without.endswith(theirs)
    assert without.startswith(text.rstrip("\r\n"))


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = { other = { command = "x" } }\nmodel = "y"\n',
        '[mcp_servers]\nmcp-reflect = { command = "old" }\nother.command = "x"\n',
        'model = "y"\n[mcp_servers . "mcp-reflect"] # by hand\n  command = "old"\n[z]\nb = 1\n',
        '[mcp_servers.mcp-reflect]\ncommand = "old"\n[mcp_servers.mcp-reflect.env]\nA = "1"\n[z]\n',
    ],
)
def test_an_entry_that_somebody_wrote_another_way_is_changed_and_removed(text: str) -> None:
    installed = set_entry("toml", text, BLOCK, NAME, ENTRY)
    assert tomllib.loads(installed)[BLOCK][NAME] == ENTRY
    assert others(installed) == others(text)
    without = set_entry("toml", installed, BLOCK, NAME, None)
    assert NAME not in tomllib.loads(without).get(BLOCK, {})
    assert others(without) == others(text)


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = "x"\n',
        "mcp_servers = []\n",
        "a = \n",
        "[a\n",
        'mcp_servers.mcp-reflect.command = "by hand"\nmcp_servers.other.command = "x"\n',
    ],
)
def test_a_toml_file_that_has_no_place_for_it_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        set_entry("toml", text, BLOCK, NAME, ENTRY)


JSON = {
    "two blanks": '{\n  "mcpServers": {\n    "other": {\n      "command": "x"\n    }\n  },\n  "z": [1, 2]\n}\n',
    "four blanks": '{\n    "a": 1,\n    "mcpServers": {"other": {"command": "x"}}\n}',
    "tabs": '{\n\t"b": {\n\t\t"c": [\n\t\t\t1\n\t\t]\n\t}\n}\n',
    "one line": '{"a": 1, "mcpServers": {"other": {"command": "x"}}, "b": "}"}',
    "no blanks": '{"a":1,"b":[{"c":"]"}],"mcpServers":{"o":{}}}\n',
    "numbers and escapes": '{\n  "a": 1.0e5,\n  "b": "\\u00e9\\/",\n  "c": -0.0,\n  "d": 12345678901234567890\n}\n',
    "inline lists": '{\n  "allow": ["a", "b"],\n  "deny": [],\n  "o": {}\n}\n',
    "odd blanks": '{ "a" : 1 ,\n\n\n  "b":\n 2 }\n\n',
    "a key twice": '{\n  "a": 1,\n  "a": 2\n}\n',
    "half a pair": '{\n  "a": "\\ud83d"\n}\n',
}  # fmt: skip
HOOK = ServerCommand("/opt/reflect/bin/python", ("-E", "-P", "-m", "mcp_reflect"))


def forms(text: str) -> list[str]:
    return [text, text.replace("\n", "\r\n"), "\ufeff" + text]


def values(text: str) -> Any:
    return json.loads(text.removeprefix("\ufeff"))


@pytest.mark.parametrize("text", [form for text in JSON.values() for form in forms(text)])
def test_a_json_file_is_byte_for_byte_what_it_was(text: str) -> None:
    installed = set_entry("json", text, "mcpServers", NAME, ENTRY)
    assert values(installed)["mcpServers"][NAME] == ENTRY
    assert ("\r\n" in text) == (installed.count("\r\n") == installed.count("\n") > 0)
    assert set_entry("json", installed, "mcpServers", NAME, None) == text
    hooked = set_hooks(text, HOOK_SETTINGS["claude-code"], HOOK)
    assert set(values(hooked)["hooks"]) == set(HOOK_SETTINGS["claude-code"].events)
    assert set_hooks(hooked, HOOK_SETTINGS["claude-code"], None) == text


def test_a_person_s_hooks_stay_as_they_are_written() -> None:
    text = (
        '{\r\n\t"hooks": {\r\n\t\t"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}],\r\n'
        '\t\t"PreToolUse": [\r\n\t\t\t{"matcher": "Bash", "hooks": []}\r\n\t\t]\r\n\t}\r\n}\r\n'
    )
    settings = HOOK_SETTINGS["claude-code"]
    hooked = set_hooks(text, settings, HOOK)
    assert '[{"hooks": [{"type": "command", "command": "mine"}]}, ' in hooked
    again = set_hooks(hooked, settings, ServerCommand("/elsewhere/mcp-reflect"))
    assert set_hooks(again, settings, ServerCommand("/elsewhere/mcp-reflect")) == again
    assert set_hooks(hooked, settings, None) == text
    assert set_hooks(again, settings, None) == text


def test_a_yaml_file_keeps_its_line_ends() -> None:
    text = "# mine\r\nextensions:\r\n  other:\r\n    cmd: x # why\r\nGOOSE_MODEL: y\r\n"
    installed = set_entry("yaml", text, "extensions", NAME, ENTRY)
    assert installed.count("\r\n") == installed.count("\n")
    assert set_entry("yaml", installed, "extensions", NAME, None) == text
