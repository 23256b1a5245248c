"""Draw the README's picture of a session from the real demo: `python packaging/picture.py [FILE]`.

It runs `mcp-reflect demo`, so the picture shows what the program prints. The SVG loads nothing from elsewhere.
"""

import re
import subprocess
import sys
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

ROOT = Path(__file__).parent.parent
WIDTH = 96
_FONT_FACES = re.compile(r"\s*@font-face \{[^}]*\}")
_IDS = re.compile(r"les_[0-9a-z]{22}")


def demo() -> str:
    """Return what the demo prints; ids are cut, because each run makes new ones."""
    done = subprocess.run(
        [sys.executable, "-m", "mcp_reflect", "demo"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return _IDS.sub(lambda match: match[0][:8] + "…", done.stdout)


def draw(output: str) -> str:
    """Return the picture of a terminal with the demo's output as SVG."""
    console = Console(record=True, width=WIDTH, file=StringIO(), color_system="truecolor")
    console.print(Text("$ mcp-reflect demo", style="bold green"))
    for line in output.rstrip().splitlines():
        quoted = line.startswith("  ")
        console.print(Text(line.strip() if quoted else line, style="" if quoted else "bold"), soft_wrap=False)
    svg = console.export_svg(title="mcp-reflect demo", theme=MONOKAI, unique_id="demo")
    return _FONT_FACES.sub("", svg).replace("Fira Code, monospace", "ui-monospace, Menlo, Consolas, monospace")


def main(words: list[str]) -> int:
    """Write the picture."""
    file = Path(words[0]) if words else ROOT / "docs" / "pictures" / "demo.svg"
    file.write_text(draw(demo()), "utf-8")
    print(f"{file}: {file.stat().st_size / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
