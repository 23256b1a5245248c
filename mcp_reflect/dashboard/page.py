"""What the dashboard shows, and how it is rendered as one HTML page that loads nothing from elsewhere."""

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any, Final, Literal

from mcp_reflect.models.common import plain
from mcp_reflect.models.finding import StoredFinding
from mcp_reflect.sessions.found import facts_of

if TYPE_CHECKING:
    from mcp_reflect.services.engine import Engine

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
    """Return the page of a mode. `data` comes from `collect`; None if the page fetches it from its server."""
    style, script = _style(), _script()
    connect = "connect-src 'self'; " if mode == "served" else ""
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
    return text.encode(
        "utf-8", "backslashreplace"
    ).decode()  # half a surrogate pair as its JSON escape


@cache
def _style() -> str:
    return "\n".join(
        [_text(VENDORED / "uPlot.min.css"), *(_text(ASSETS / name) for name in STYLES)]
    )


@cache
def _script() -> str:
    own = "\n".join(_text(ASSETS / name) for name in SCRIPTS)
    return f'{_text(VENDORED / "uPlot.iife.min.js")}\n(() => {{\n"use strict";\n{own}\n}})();'


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8").strip()


def _hash(text: str) -> str:
    """Return the name of an inline script or style in a policy; it covers the text between the tags alone."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


MAX_APP_RECORDS: Final = 500
"""The most records of the page inside a host's conversation: about 300 kB."""


async def collect(
    engine: "Engine", *, most: int | None = None, whole: bool = True
) -> dict[str, Any]:
    """Return what the dashboard shows of the engine's project and the global records.

    It changes nothing, and asks no language model.

    Args:
        engine: The engine whose bank is shown.
        most: The most records, best first.
        whole: Whether to include the words of quarantined records.
    """
    from mcp_reflect.services.consolidate import by_rules  # noqa: PLC0415 - slow to import, needed here alone

    scope = engine.scopes.own
    data = await engine.bank.views.board(scope, most=most, whole=whole)
    plan, _ = await by_rules(engine.context, scope)
    shown = {row[0] for row in data["lessons"]["rows"]}
    waiting = await engine.bank.findings.waiting(scope) if whole else []
    dreams = await engine.bank.consolidations.latest(scope)
    card = await engine.bank.effects.card(scope)
    effects = await engine.bank.effects.of(scope)
    return {
        **data,
        "findings": [_finding(one) for one in waiting],
        "clusters": [list(cluster) for cluster in plan.clusters if shown.issuperset(cluster)],
        "merges": [
            plain(merge) for merge in plan.merges if shown.issuperset((merge.keep, *merge.gone))
        ],
        "archivings": [plain(archiving) for archiving in plan.archivings if archiving.id in shown],
        "dreams": [
            {
                "id": dream["id"],
                "state": dream["state"],
                "at": int(dream["created_at"]),
                "thinker": dream["plan"]["thinker"],
                "merged": sum(len(merge["gone"]) for merge in dream["plan"]["merges"]),
                "archived": len(dream["plan"]["archivings"]),
                # An earlier release spelled the name with an s.
                "added": len(
                    dream["plan"].get("generalizations", dream["plan"].get("generalisations", ()))
                ),
            }
            for dream in dreams
        ],
        "proof": await engine.bank.warnings.effect(scope),
        "card": [*card.lines] if card else [],
        "effects": {name: one.comparison.told for name, one in effects.items() if name in shown},
    }


def _finding(found: StoredFinding) -> dict[str, Any]:
    finding = found.finding
    evidence = [
        {"session": one.session, "host": one.host, "at": one.at, "lines": one.lines}
        for one in found.seen[:-4:-1]
    ]
    wording = finding.wording
    return {
        "id": found.id,
        "sessions": found.sessions,
        "facts": facts_of(finding),
        "mistake": wording.mistake if wording else "",
        "correction": wording.correction if wording else "",
        "evidence": evidence,
    }
