"""An example of each command, for its `--help`: what a person would type first."""

from collections.abc import Mapping
from typing import Final

EXAMPLES: Final[Mapping[str, tuple[str, ...]]] = {
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
