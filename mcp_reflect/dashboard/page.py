"""The dashboard as one HTML page that loads nothing from elsewhere."""

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Template
from typing import Any, Final, Literal

_HERE: Final = Path(__file__).parent
VENDORED: Final = _HERE / "vendor" / "uplot"
ASSETS: Final = _HERE / "assets"
STYLES: Final = ("base.css", "list.css", "views.css")
SCRIPTS: Final = (
    *(
        "dom.js",
        "rate.js",
        "store.js",
        "backend.js",
        "host.js",
        "theme.js",
        "interval.js",
        "charts.js",
        "list.js",
    ),
    *(
        "detail.js",
        "editing.js",
        "lessons.js",
        "over_time.js",
        "events.js",
        "clusters.js",
        "deciding.js",
        "main.js",
    ),
)

Mode = Literal["written", "served", "app"]
"""A written page only shows; a served one asks its server for the data and acts; an app is inside a host."""

MARK: Final = '<meta name="generator" content="mcp-reflect board">'
"""In the head of every page: tells a page of ours from another file."""

# Characters that could end the block, or the line, that holds the data.
_ESCAPES: Final = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}


@dataclass(frozen=True, slots=True)
class Page:
    """A page and its content security policy."""

    html: str
    policy: str


def render_page(mode: Mode, data: Mapping[str, Any] | None = None) -> Page:
    """Return the page of a mode. `data` comes from `collect`; None if the page fetches it from its server.

    The policy lets only our own script and style run, each by its hash, so that no text of a lesson can act.
    """
    style = _style()
    script = _script()
    connect = ""
    if mode == "served":
        connect = "connect-src 'self'; "
    policy = (
        f"default-src 'none'; {connect}img-src data:; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    html = Template((ASSETS / "page.html").read_text(encoding="utf-8")).substitute(
        mode=mode, policy=policy, style=style, script=script, data=script_json(data)
    )
    return Page(html, policy)


def script_json(data: Mapping[str, Any] | None) -> str:
    """Return data as JSON for a script block: no text in it can end the block, open a comment or break a line."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).translate(_ESCAPES)
    # Half a surrogate pair is written as its JSON escape.
    return text.encode("utf-8", "backslashreplace").decode()


@cache
def _style() -> str:
    """Return all style sheets of the page as one; kept, since a policy names it by its hash."""
    return "\n".join(
        [_text(VENDORED / "uPlot.min.css"), *(_text(ASSETS / name) for name in STYLES)]
    )


@cache
def _script() -> str:
    """Return all scripts of the page as one, ours in a scope of their own; kept, since a policy names it by its hash."""
    own = "\n".join(_text(ASSETS / name) for name in SCRIPTS)
    return f'{_text(VENDORED / "uPlot.iife.min.js")}\n(() => {{\n"use strict";\n{own}\n}})();'


def _text(path: Path) -> str:
    """Return a file's text without blanks around it."""
    return path.read_text(encoding="utf-8").strip()


def _hash(text: str) -> str:
    """Return the name of an inline script or style in a policy; it covers the text between the tags alone."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
