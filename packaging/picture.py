"""Draw the pictures of a terminal: `python packaging/picture.py [FOLDER]`.

They show what the program itself answers. In `recording.svg` an agent makes a mistake, a person keeps the lesson, the
next session's call against it is refused, and so is a last message that the session does not prove. In `learn.svg` a
person reads what past sessions teach and decides. Both show line after line; `recording-still.svg` and
`learn-still.svg` show all lines at once. They load nothing from elsewhere.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
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
RED = "Tests: 1 failed, 17 passed, 18 total"
MISSING = "ModuleNotFoundError: No module named 'billing'"


PERSON, AGENT, OURS, DIM = "bold #66d9ef", "#a6e22e", "#f4b860", "dim"
Session = list[tuple[str, ...]]
"""Pieces of a session: what the person writes, what the agent says, or a call with its result."""


def run(
    words: list[str], folder: Path, sent: Mapping[str, object] | None = None, typed: str = ""
) -> str:
    """Return what a command of ours prints in a project `shop` of a home, given a hook's input or typed lines."""
    shop = folder / "shop"
    shop.mkdir(exist_ok=True)
    env = {
        **os.environ,
        "HOME": str(folder),
        "MCP_REFLECT_BANK": str(folder / "bank.db"),
        "PYTHONPATH": str(ROOT),
    }
    line = [sys.executable, "-m", "mcp_reflect", *words]
    given = json.dumps(sent) if sent else typed
    done = subprocess.run(  # noqa: S603 - our own command
        line, cwd=shop, env=env, input=given, capture_output=True, text=True, check=True
    )
    return _IDS.sub(lambda match: match[0][:8] + "…", done.stdout.replace(f"{shop}", "shop"))


def transcript(session: str, folder: Path, day: int, pieces: Session) -> str:
    """Return the file that Claude Code writes of a session: an entry a line."""
    entries: list[dict[str, object]] = []
    for kind, *texts in pieces:
        content: list[tuple[str, object]] = []
        if kind == "call":
            command, result = texts
            used = {
                "type": "tool_use",
                "id": f"t{len(entries)}",
                "name": "Bash",
                "input": {"command": command},
            }
            answer = {"type": "tool_result", "tool_use_id": used["id"], "content": result}
            content = [
                ("assistant", [used]),
                ("user", [answer | {"is_error": result.startswith("Exit code")}]),
            ]
        elif kind == "person":
            content = [("user", texts[0])]
        else:
            content = [("assistant", [{"type": "text", "text": texts[0]}])]
        for role, said in content:
            at = f"2026-11-{day}T09:{len(entries):02}:00.000Z"
            about = {
                "type": role,
                "sessionId": session,
                "cwd": str(folder / "shop"),
                "timestamp": at,
            }
            entries.append({**about, "message": {"role": role, "content": said}})
    return "".join(f"{json.dumps(entry)}\n" for entry in entries)


def applied() -> list[tuple[str, str]]:
    """Return the lines of two sessions, each with its style: a lesson is kept, applied, and a last message checked."""
    call = {
        "tool_name": "Bash",
        "tool_use_id": "t",
        "tool_input": {"command": "npm install date-fns"},
    }
    told, ran = (
        "The dates are formatted. All tests pass.",
        ("call", "npx jest", f"Exit code 1\n{RED}"),
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kept = run(
            ["lessons", "add", *(f"--{name}={text}" for name, text in LESSON.items())], folder
        )
        answer = json.loads(run(["hook", "PreToolUse"], folder, {"session_id": "tuesday", **call}))
        refused: str = answer["hookSpecificOutput"]["permissionDecisionReason"]
        file = folder / "tuesday.jsonl"
        file.write_text(transcript("tuesday", folder, 17, [("person", "…"), ran, ("agent", told)]))
        stop = {
            "session_id": "tuesday",
            "transcript_path": str(file),
            "last_assistant_message": told,
        }
        held: str = json.loads(run(["hook", "Stop"], folder, stop))["reason"]
    command = " ".join(
        ["$ mcp-reflect lessons add", *(f'--{name} "{text}"' for name, text in LESSON.items())]
    )
    return [
        ("Monday", DIM),
        ("> Validate the form with zod", PERSON),
        ("  $ npm install zod", AGENT),
        (f"  {FAILED}", DIM),
        ("  $ pnpm add zod", AGENT),
        ("  Done in 1.2s", DIM),
        (command, PERSON),
        *((line, OURS) for line in kept.splitlines()),
        ("", ""),
        ("Tuesday, a new session", DIM),
        ("> Format the dates with date-fns", PERSON),
        ("  $ npm install date-fns", AGENT),
        *((f"  {line}", OURS) for line in refused.splitlines()),
        ("  $ pnpm add date-fns", AGENT),
        ("  $ npx jest", AGENT),
        (f"  {RED}", DIM),
        (f"  {told}", AGENT),
        *((f"  {line}", OURS) for line in held.splitlines()),
    ]


def learned() -> list[tuple[str, str]]:
    """Return the lines of a person who reads what past sessions teach, and decides."""
    tasks = (
        "Add a refund to the billing service",
        "Round the totals to cents",
        "Rename Invoice to Bill",
    )
    call, worked = (
        "pytest tests/billing",
        ("call", "PYTHONPATH=src pytest tests/billing", "42 passed in 2.41s"),
    )
    corrected = ("person", "please use pnpm in this repo, never npm")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (past := folder / ".claude" / "projects" / "shop").mkdir(parents=True)
        for number, task in enumerate(tasks):
            pieces = [
                ("person", task),
                ("call", call, f"Exit code 4\n{MISSING}"),
                worked,
                corrected,
                ("agent", "Done."),
            ]
            (past / f"{number}.jsonl").write_text(
                transcript(f"monday-{number}", folder, 10 + number, pieces)
            )
        found = run(["learn"], folder)
        ids = re.findall(r"fnd_\w+", run(["lessons", "review"], folder))
        kept = [run(["lessons", "approve", one], folder) for one in ids[:1]]
    return [
        ("$ mcp-reflect learn", PERSON),
        *((line, OURS) for line in found.splitlines()),
        (f"$ mcp-reflect lessons approve {ids[0]}", PERSON),
        *((line, OURS) for line in "".join(kept).splitlines()),
    ]


def draw(lines: list[tuple[str, str]]) -> str:
    """Return the picture of a terminal with these lines as SVG."""
    console = Console(record=True, width=WIDTH, file=StringIO(), color_system="truecolor")
    for line, style in lines:
        for piece in Text(line, style=style).wrap(console, WIDTH - 2) or [Text()]:
            console.print(
                Text("  " if line.startswith("  ") and not piece.plain.startswith("  ") else "")
                + piece
            )
    svg = console.export_svg(title="mcp-reflect", theme=MONOKAI, unique_id="terminal")
    return _FONT_FACES.sub("", svg).replace(
        "Fira Code, monospace", "ui-monospace, Menlo, Consolas, monospace"
    )


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
    moving = (
        "@media (prefers-reduced-motion: no-preference) {\n" + "\n".join(rules) + "\n}\n</style>"
    )
    return _LINE.sub(r'<text class="\1 line\2"', svg).replace("</style>", moving, 1)


def main(words: list[str]) -> int:
    """Write the pictures."""
    folder = Path(words[0]) if words else ROOT / "docs" / "pictures"
    for name, lines in (("recording", applied()), ("learn", learned())):
        still = draw(lines)
        for file, svg in ((f"{name}.svg", animate(still)), (f"{name}-still.svg", still)):
            (folder / file).write_text(svg, "utf-8")
            print(f"{folder / file}: {len(svg) / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
