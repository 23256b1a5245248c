"""Draw the README's pictures of a terminal: `python packaging/picture.py [FOLDER]`.

They show what the program itself answers: an agent makes a mistake, a person keeps the lesson, and the next session's
call against it is refused. `recording.svg` shows line after line, `recording-still.svg` all of them at once. They load
nothing from elsewhere.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

ROOT = Path(__file__).parent.parent
WIDTH = 96
SECONDS = 0.9  # for a line, and at the end as long as for ten
_FONT_FACES = re.compile(r"\s*@font-face \{[^}]*\}")
_IDS = re.compile(r"les_[0-9a-z]{22}")
_LINE = re.compile(r'<text class="(terminal-r\d+)"(?=[^>]*clip-path="url\(#terminal-line-(\d+)\)")')
LESSON = {
    "mistake": "Installed a package with npm",
    "correction": "Use pnpm: this project has a pnpm lockfile",
    "wrong-call": "npm install zod",
    "right-call": "pnpm add zod",
}
FAILED = "npm error code ERESOLVE: unable to resolve dependency tree"


def run(words: list[str], env: dict[str, str], sent: dict[str, object] | None = None) -> str:
    """Return what a command of ours prints, given a hook's input."""
    line = [sys.executable, "-m", "mcp_reflect", *words]
    given = json.dumps(sent) if sent else None
    done = subprocess.run(  # noqa: S603 - our own command
        line, cwd=ROOT, input=given, capture_output=True, text=True, check=True, env={**os.environ, **env}
    )
    return _IDS.sub(lambda match: match[0][:8] + "…", done.stdout)


def sessions() -> list[tuple[str, str]]:
    """Return the lines of the two sessions, each with its style."""
    added = [f"--{name}={text}" for name, text in LESSON.items()]
    call = {"tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": "npm install date-fns"}}
    with tempfile.TemporaryDirectory() as folder:
        env = {"MCP_REFLECT_BANK": f"{folder}/bank.db", "MCP_REFLECT_PROJECT": "shop"}
        kept = run(["lessons", "add", *added], env)
        answer = json.loads(run(["hook", "PreToolUse"], env, {"session_id": "tuesday", **call}))
    refused: str = answer["hookSpecificOutput"]["permissionDecisionReason"]
    ours, person, agent = "#f4b860", "bold #66d9ef", "#a6e22e"
    command = " ".join(["$ mcp-reflect lessons add", *(f'--{name} "{text}"' for name, text in LESSON.items())])
    return [
        ("Monday", "dim"),
        ("> Validate the form with zod", person),
        ("  $ npm install zod", agent),
        (f"  {FAILED}", "dim"),
        ("  $ pnpm add zod", agent),
        ("  Done in 1.2s", "dim"),
        (command, person),
        *((line, ours) for line in kept.splitlines()),
        ("", ""),
        ("Tuesday, a new session", "dim"),
        ("> Format the dates with date-fns", person),
        ("  $ npm install date-fns", agent),
        *((f"  {line}", ours) for line in refused.splitlines()),
        ("  $ pnpm add date-fns", agent),
        ("  Done in 1.1s", "dim"),
    ]


def draw(lines: list[tuple[str, str]]) -> str:
    """Return the picture of a terminal with these lines as SVG."""
    console = Console(record=True, width=WIDTH, file=StringIO(), color_system="truecolor")
    for line, style in lines:
        for piece in Text(line, style=style).wrap(console, WIDTH - 2) or [Text()]:
            console.print(Text("  " if line.startswith("  ") and not piece.plain.startswith("  ") else "") + piece)
    svg = console.export_svg(title="mcp-reflect", theme=MONOKAI, unique_id="terminal")
    return _FONT_FACES.sub("", svg).replace("Fira Code, monospace", "ui-monospace, Menlo, Consolas, monospace")


def animate(svg: str) -> str:
    """Return the picture with a line after the other, again and again; all at once for those who want no motion."""
    last = max(int(number) for _, number in _LINE.findall(svg))
    whole = (last + 11) * SECONDS
    rules = [
        f"@keyframes line{number} {{ 0%, {100 * number * SECONDS / whole:.2f}% {{ opacity: 0 }} "
        f"{100 * (number * SECONDS + 0.2) / whole:.2f}%, 100% {{ opacity: 1 }} }} "
        f".line{number} {{ animation: line{number} {whole:.1f}s infinite }}"
        for number in range(last + 1)
    ]
    moving = "@media (prefers-reduced-motion: no-preference) {\n" + "\n".join(rules) + "\n}\n</style>"
    return _LINE.sub(r'<text class="\1 line\2"', svg).replace("</style>", moving, 1)


def main(words: list[str]) -> int:
    """Write the pictures."""
    folder = Path(words[0]) if words else ROOT / "docs" / "pictures"
    still = draw(sessions())
    for name, svg in (("recording.svg", animate(still)), ("recording-still.svg", still)):
        (folder / name).write_text(svg, "utf-8")
        print(f"{folder / name}: {len(svg) / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
