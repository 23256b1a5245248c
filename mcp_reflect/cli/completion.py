"""`mcp-reflect completion SHELL`."""

import argparse
import sys
from pathlib import Path
from typing import Final

from mcp_reflect.cli.parser import CliParser, shown

SHELLS: Final = ("bash", "zsh", "fish", "powershell")
_WHERE: Final = """\
how to switch it on:
  bash        mcp-reflect completion bash >> ~/.bash_completion
  zsh         mcp-reflect completion zsh > ~/.zfunc/_mcp-reflect      (~/.zfunc in fpath, before compinit)
  fish        mcp-reflect completion fish > ~/.config/fish/completions/mcp-reflect.fish
  powershell  mcp-reflect completion powershell >> $PROFILE
"""


def run(arguments: list[str]) -> int:
    """Print what a shell needs to complete our commands; it was made beforehand (packaging/completions.py)."""
    words = CliParser(
        prog="mcp-reflect completion",
        description="What a shell needs to complete the commands of mcp-reflect, their options and their values.",
        epilog=f"{_WHERE}\n{shown('completion')}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    words.add_argument("shell", choices=SHELLS, help="your shell")
    given = words.parse_args(arguments)
    sys.stdout.write((Path(__file__).parent / "completions" / f"mcp-reflect.{given.shell}").read_text("utf-8"))
    return 0
