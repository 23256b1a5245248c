"""`mcp-reflect prompts list | show NAME | check`."""

from mcp_reflect.cli.common import parser, say, say_json, table
from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError, PromptError
from mcp_reflect.llm.prompts import Prompts, described
from mcp_reflect.security.redact import quoted


def run(arguments: list[str]) -> int:
    """List, show or check the templates. `check` returns 1 where an override does not serve."""
    words = parser(
        "prompts",
        "The prompt templates. Copy one into the folder of MCP_REFLECT_PROMPTS_DIR to change it: "
        "`mcp-reflect prompts show critique > FOLDER/critique.md`.",
    )
    words.add_argument("action", nargs="?", choices=("list", "show", "check"), default="list")
    words.add_argument("name", nargs="?", help="the template to show")
    given = words.parse_args(arguments)
    if (given.name is not None) != (given.action == "show"):
        raise InputError(
            "name",
            f"{given.action} takes {'one' if given.action == 'show' else 'none'}",
            "Write prompts list, show NAME or check.",
        )
    prompts = Prompts(Settings.from_env().prompts_folder)
    match given.action:
        case "show":
            return _show(prompts, given.name, as_json=given.json)
        case "check":
            return _check(prompts, as_json=given.json)
        case _:
            return _list(prompts, as_json=given.json)


def _list(prompts: Prompts, *, as_json: bool) -> int:
    found = [described(prompts.load(name)) for name in prompts.names()]
    if as_json:
        say_json([{name: value for name, value in one.items() if name != "text"} for one in found])
        return 0
    rows = [
        [str(one["name"]), str(one["version"]), str(one["role"]), _serves(one["overridden"] is True, one["problem"])]
        for one in found
    ]
    say(table(rows, ("name", "version", "role", "serves"), 100))
    return 0


def _serves(overridden: bool, problem: object) -> str:
    return "yours" if overridden else "shipped, for yours is broken (see check)" if problem else "shipped"


def _show(prompts: Prompts, name: str, *, as_json: bool) -> int:
    if name not in prompts.names():
        raise InputError("name", f"there is no prompt '{quoted(name)}'", f"Give one of {', '.join(prompts.names())}.")
    loaded = prompts.load(name)
    if as_json:
        say_json(described(loaded))
    else:
        say(loaded.template.text.rstrip("\n"))
    return 0


def _check(prompts: Prompts, *, as_json: bool) -> int:
    problems = prompts.check()
    if as_json:
        say_json([_plain(problem) for problem in problems])
    else:
        for problem in problems:
            say(str(problem))
        if not problems:
            say(f"All as it should be in {prompts.overrides}." if prompts.overrides else "Nothing is overridden.")
    return 1 if problems else 0


def _plain(problem: PromptError) -> dict[str, object]:
    return {"file": problem.file, "line": problem.line, "fault": problem.fault, "fix": problem.fix}
