"""List, show and check the prompt templates: `mcp-reflect prompts list | show NAME | check`."""

from argparse import Namespace

from mcp_reflect.cli.commands import CliParser
from mcp_reflect.cli.output import table, write_result
from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError
from mcp_reflect.llm.prompts import Prompts, Template, described
from mcp_reflect.security.redact import quoted


def add_prompts_arguments(parser: CliParser) -> None:
    parser.add_argument("action", nargs="?", choices=("list", "show", "check"), default="list")
    parser.add_argument("name", nargs="?", help="the template to show")


def run_prompts(options: Namespace) -> int | None:
    """List, show or check the prompt templates. `check` exits with 1 if a template of yours cannot be used.

    Copy one into the folder of MCP_REFLECT_PROMPTS_DIR to change it:
    mcp-reflect prompts show critique > FOLDER/critique.md
    """
    if (options.name is not None) != (options.action == "show"):
        count = "one" if options.action == "show" else "none"
        raise InputError("name", f"{options.action} takes {count}", "Write prompts list, show NAME or check.")
    prompts = Prompts(Settings.from_env().prompts_folder)
    return {"show": _show, "check": _check, "list": _list}[options.action](prompts, options)


def _list(prompts: Prompts, options: Namespace) -> None:
    templates = [prompts.load(name) for name in prompts.names()]
    rows = [(template.name, str(template.version), template.role, _in_use(template)) for template in templates]
    listing = [{key: value for key, value in described(item).items() if key != "text"} for item in templates]
    write_result(options, listing, table(rows, ("name", "version", "role", "in use"), 3))


def _in_use(template: Template) -> str:
    if template.overridden:
        return "yours"
    return "shipped, because yours is broken (see check)" if template.problem else "shipped"


def _show(prompts: Prompts, options: Namespace) -> None:
    names = prompts.names()
    if options.name not in names:
        fault = f"there is no prompt '{quoted(options.name)}'"
        raise InputError("name", fault, f"Give one of {', '.join(names)}.")
    template = prompts.load(options.name)
    write_result(options, described(template), template.text.rstrip("\n"))


def _check(prompts: Prompts, options: Namespace) -> int:
    problems = prompts.check()
    well = f"All is well in {prompts.overrides}." if prompts.overrides else "Nothing is overridden."
    errors = [{name: getattr(problem, name) for name in ("file", "line", "fault", "fix")} for problem in problems]
    write_result(options, errors, "\n".join(map(str, problems)) or well)
    return 1 if problems else 0
