"""The command `settings`: what is in force here, and from where."""

import os
from argparse import Namespace
from dataclasses import Field, asdict, dataclass
from typing import Any, Final, Literal

from mcp_reflect.cli.commands import CliParser
from mcp_reflect.cli.output import table, write_result
from mcp_reflect.config import PREFIX, Settings, readable
from mcp_reflect.security.redact import clean_text

Origin = Literal["environment", "default"]

_HEADS: Final = ("setting", "value", "from", "meaning")
_MEANING: Final = 3  # the column that a narrow terminal cuts


@dataclass(frozen=True, slots=True)
class SettingInForce:
    """A setting in force: its variable, its value as text, where that comes from, and what it means.

    With `fades` the variable still works in this version, and goes in a later one.
    """

    name: str
    value: str
    origin: Origin
    meaning: str
    fades: bool


def add_settings_arguments(parser: CliParser) -> None:
    """Add the options of `settings`."""
    parser.add_argument("--all", action="store_true", help="those that nobody set, too")


def run_settings(options: Namespace) -> None:
    """Show the settings that this terminal's environment sets; --all shows the defaults too.

    A host starts its server with the variables of its own registration (mcp-reflect install HOST --print shows them),
    so that the server may have others.
    """
    settings = Settings.from_env()
    in_force = [_setting_in_force(item, settings) for item in readable()]
    wanted = [setting for setting in in_force if _is_wanted(setting, everything=options.all)]
    rows = [(setting.name, setting.value, setting.origin, setting.meaning) for setting in wanted]
    problems = [*settings.misspelled(), *settings.fading()]
    lines = ["No setting is set here: all have their defaults."]
    if rows:
        lines = [table(rows, _HEADS, _MEANING)]
    lines += problems
    if not options.all:
        lines.append("mcp-reflect settings --all shows the defaults too.")
    result = {"settings": [asdict(setting) for setting in wanted], "problems": problems}
    write_result(options, result, "\n".join(lines))


def _setting_in_force(item: Field[Any], settings: Settings) -> SettingInForce:
    """Return the setting of a field, without secrets in its value."""
    name = PREFIX + item.name.upper()
    origin: Origin = "default"
    if os.environ.get(name, "").strip():
        origin = "environment"
    value = _as_text(getattr(settings, item.name))
    return SettingInForce(
        name, clean_text(value), origin, item.metadata["meaning"], item.metadata["fades"]
    )


def _is_wanted(setting: SettingInForce, *, everything: bool) -> bool:
    """Return whether to show a setting: it is set, or `everything` is asked for and the setting has a future."""
    if setting.origin == "environment":
        return True
    return everything and not setting.fades


def _as_text(value: object) -> str:
    """Return a value as the variable would have it; a list with commas, nothing for none."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(str(part) for part in value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return str(value)
