"""List the prompt templates, or print one: `mcp-reflect prompts`."""

from argparse import Namespace
from typing import Any

from mcp_reflect.cli.commands import CliParser, add_actions
from mcp_reflect.cli.output import table, write_result
from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError


def add_prompts_arguments(parser: CliParser) -> None:
    """Add the actions of `mcp-reflect prompts`."""
    add = add_actions(parser)
    add("list", "the prompt templates", "")
    add("show", "print one", "critique").add_argument(
        "name", metavar="NAME", help="the template to show"
    )


def run_prompts(options: Namespace) -> None:
    """List the prompt templates, or show one.

    Copy one into the folder of MCP_REFLECT_PROMPTS_DIR to change it:
    mcp-reflect prompts show critique > FOLDER/critique.md
    `mcp-reflect doctor` says what is wrong with a template of yours.
    """
    from mcp_reflect.llm.prompts import Prompts, Template, described  # noqa: PLC0415 - a recall needs none

    def in_use(template: Template) -> str:
        """Return whether a template is the person's or the shipped one."""
        if template.overridden:
            return "yours"
        if template.problem:
            return "shipped, because yours is broken (see doctor)"
        return "shipped"

    prompts = Prompts(Settings.from_env().prompts_dir)
    templates = {name: prompts.load(name) for name in prompts.names()}
    if options.action == "show":
        if options.name not in templates:
            raise InputError(
                "name", "there is no such prompt", f"Give one of {', '.join(templates)}."
            )
        template = templates[options.name]
        write_result(options, described(template), template.text.rstrip("\n"))
        return
    rows: list[tuple[str, ...]] = []
    listing: list[dict[str, Any]] = []
    for template in templates.values():
        rows.append((template.name, str(template.version), template.role, in_use(template)))
        record = dict(described(template))
        del record["text"]
        listing.append(record)
    write_result(options, listing, table(rows, ("name", "version", "role", "in use"), 3))
