"""The parser of a command's words, and an example of each command for its `--help`."""

import argparse
from collections.abc import Mapping
from typing import Final, NoReturn


class CliParser(argparse.ArgumentParser):
    """A parser whose errors pass the door, as everything does that is printed of what was given."""

    def error(self, message: str) -> NoReturn:
        """Print how the command is used and what is wrong, and end with 2."""
        from mcp_reflect.security.redact import clean_text  # noqa: PLC0415 - only an error needs it

        super().error(clean_text(message))


EXAMPLES: Final[Mapping[str, tuple[str, ...]]] = {
    "serve": ("serve", "serve --http 8765"),
    "install": ("install cursor", "install claude-code --hooks", "install codex --print", "install codex --uninstall"),
    "recall": ('recall "deploy the shop"', 'recall "run the tests" --symptom "No module named shop" --limit 1'),
    "reflect": ("reflect run.json", "reflect ~/.claude/projects/shop/session.jsonl --outcome failure"),
    "lessons": ("lessons", "lessons list --tag deploy", 'lessons search "git push" --state all', "lessons edit ID"),
    "dream": ("dream --plan", "dream", "dream --undo ID"),
    "stats": ("stats", "stats --json"),
    "proof": ("proof",),
    "board": ("board", "board --out board.html"),
    "prompts": ("prompts list", "prompts show reflect"),
    "export": ("export lessons.jsonl", "export --all-projects | wc -l"),
    "import": ("import lessons.jsonl",),
    "backup": ("backup ~/bank-before.db",),
    "restore": ("restore ~/bank-before.db",),
    "embed": ("embed",),
    "doctor": ("doctor", "doctor --json"),
    "demo": ("demo",),
    "completion": ("completion bash >> ~/.bash_completion",),
}


def shown(command: str) -> str | None:
    """The examples of a command as the end of its help; null where it has none."""
    lines = EXAMPLES.get(command)
    return "examples:\n" + "\n".join(f"  mcp-reflect {line}" for line in lines) if lines else None
