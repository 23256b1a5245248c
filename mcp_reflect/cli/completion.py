"""Generate a shell's completions from the commands' own parsers."""

import argparse
import sys
from typing import Final

from mcp_reflect.cli.commands import COMMANDS, CliParser, load_command

SHELLS: Final = ("bash", "zsh", "fish", "powershell", "tcsh")
_FILE_ARGUMENTS: Final = ("file", "bank", "analysis", "rescue", "out")


def add_completion_arguments(parser: CliParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="your shell")


def run_completion(options: argparse.Namespace) -> None:
    """Print what a shell needs to complete the commands of mcp-reflect, their options and their values.

    how to switch it on:
      bash        mcp-reflect completion bash >> ~/.bash_completion
      zsh         mcp-reflect completion zsh > ~/.zfunc/_mcp-reflect      (~/.zfunc in fpath, before compinit)
      fish        mcp-reflect completion fish > ~/.config/fish/completions/mcp-reflect.fish
      powershell  mcp-reflect completion powershell >> $PROFILE
      tcsh        mcp-reflect completion tcsh >> ~/.tcshrc
    """
    import shtab  # noqa: PLC0415 - only this command needs it

    root = argparse.ArgumentParser(prog="mcp-reflect")
    root.add_argument("-V", "--version", action="store_true", help="print the version")
    commands = root.add_subparsers(dest="command")
    for name, info in COMMANDS.items():
        command = commands.add_parser(name, help=info.purpose, parents=[load_command(name)[0]], add_help=False)
        for action in command._actions:  # noqa: SLF001 - argparse has no public list of them
            if action.dest in _FILE_ARGUMENTS and action.nargs != 0:
                action.complete = shtab.FILE  # type: ignore[attr-defined]
    sys.stdout.write(shtab.complete(root, shell=options.shell))
