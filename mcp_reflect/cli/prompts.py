"""List, show and check the prompt templates: `mcp-reflect prompts list | show NAME | check`."""

from argparse import Namespace
from collections.abc import Mapping

from mcp_reflect.cli.commands import CliParser
from mcp_reflect.cli.output import table, write_json, write_line
from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError
from mcp_reflect.llm.prompts import Prompts, described
from mcp_reflect.security.redact import quoted


def add_prompts_arguments(parser: CliParser) -> None:
    parser.add_argument("action", nargs="?", choices=("list", "show", "check"), default="list")
    parser.add_argument("name", nargs="?", help="the template to show")


def run_prompts(options: Namespace) -> int:
    """List, show or check the prompt templates. `check` exits with 1 if a template of yours cannot be used.

    Copy one into the folder of MCP_REFLECT_PROMPTS_DIR to change it:
    mcp-reflect prompts show critique > FOLDER/critique.md
    """
    if (options.name is not None) != (options.action == "show"):
        count = "one" if options.action == "show" else "none"
        raise InputError("name", f"{options.action} takes {count}", "Write prompts list, show NAME or check.")
    prompts = Prompts(Settings.from_env().prompts_folder)
    match options.action:
        case "show":
            return _show(prompts, options.name, as_json=options.json)
        case "check":
            return _check(prompts, as_json=options.json)
        case _:
            return _list(prompts, as_json=options.json)


def _list(prompts: Prompts, *, as_json: bool) -> int:
    descriptions = [described(prompts.load(name)) for name in prompts.names()]
    if as_json:
        write_json([{key: value for key, value in prompt.items() if key != "text"} for prompt in descriptions])
        return 0
    rows = [
        (str(prompt["name"]), str(prompt["version"]), str(prompt["role"]), _in_use(prompt)) for prompt in descriptions
    ]
    write_line(table(rows, ("name", "version", "role", "in use"), 3))
    return 0


def _in_use(prompt: Mapping[str, object]) -> str:
    if prompt["overridden"] is True:
        return "yours"
    return "shipped, because yours is broken (see check)" if prompt["problem"] else "shipped"


def _show(prompts: Prompts, name: str, *, as_json: bool) -> int:
    if name not in prompts.names():
        raise InputError("name", f"there is no prompt '{quoted(name)}'", f"Give one of {', '.join(prompts.names())}.")
    loaded = prompts.load(name)
    if as_json:
        write_json(described(loaded))
    else:
        write_line(loaded.text.rstrip("\n"))
    return 0


def _check(prompts: Prompts, *, as_json: bool) -> int:
    problems = prompts.check()
    if as_json:
        write_json([{"file": one.file, "line": one.line, "fault": one.fault, "fix": one.fix} for one in problems])
    else:
        for problem in problems:
            write_line(str(problem))
        if not problems:
            write_line(f"All is well in {prompts.overrides}." if prompts.overrides else "Nothing is overridden.")
    return 1 if problems else 0
