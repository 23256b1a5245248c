"""What is in the bank, counted, and what became of one session: `mcp-reflect stats`."""

from argparse import Namespace
from collections.abc import Mapping
from typing import Any, Final

from mcp_reflect.cli.commands import CliParser
from mcp_reflect.cli.output import aligned, counted, write_result
from mcp_reflect.cli.running import with_uses
from mcp_reflect.errors import InputError
from mcp_reflect.models.card import SessionCard
from mcp_reflect.models.common import Json, plain
from mcp_reflect.security.redact import quoted
from mcp_reflect.text.one_line import visible

_WITH_SENTENCES: Final = ("proof", "helped", "uplift")
"""What has a sentence of its own in the statistics, and is left out of the list of counts."""

_GROUPS: Final = {"warned sessions": "warned", "only watched": "held_out"}
"""The groups of sessions by what a person calls them."""

_CARD_NEEDS: Final = (
    "`stats` needs records of hooks: mcp-reflect install HOST --hooks. "
    "For a session without them: mcp-reflect replay --session NAME."
)


def add_stats_arguments(parser: CliParser) -> None:
    """Add the options of `mcp-reflect stats`."""
    about = "one session in three lines: the latest, or the one whose name begins so"
    parser.add_argument("--session", nargs="?", const="", metavar="SESSION", help=about)
    about = "these lines in Markdown, for a pull request"
    parser.add_argument("--markdown", action="store_true", help=about)


def run_stats(options: Namespace) -> None:
    """Print what is in the bank, counted, for this project and global lessons. Counts of 0 are left out.

    With --session what became of one session: what it met again and avoided, what was kept, what was held and corrected.
    """
    if options.session is not None or options.markdown:
        _print_card(options)
        return
    stats: dict[str, Any] = with_uses(options, lambda do: do("stats", {}))
    text = report_text(_shown_counts(stats))
    if "helped" in stats:
        text = f"{helped_text(stats['helped'], stats['last_messages'])}\n\n{text}"
    write_result(options, stats, text)


def _shown_counts(stats: Mapping[str, Any]) -> dict[str, Any]:
    """Return the counts that a person is shown, by name; those of 0 and those with a sentence of their own are left out."""
    shown = {
        name: value
        for name, value in stats.items()
        if name not in _WITH_SENTENCES and not _is_zero(value)
    }
    shown["lessons_stored"] = stats["lessons_stored"]  # 0 too: it says that the bank is empty
    shown["embeddings"] = vector_summary(stats["embeddings"])
    uplift = stats["uplift"]
    if uplift["shown"]["tasks"] or uplift["held_out"]["tasks"]:
        shown["uplift"] = _uplift(uplift)
    groups: Mapping[str, Any] = stats.get("proof") or {}
    for title, name in _GROUPS.items():
        group = groups.get(name)
        if group and group["sessions"]:
            shown[title] = _group(group)
    return shown


def _print_card(options: Namespace) -> None:
    """Print what became of one session; InputError if no hook has noted it."""
    card: SessionCard | None = with_uses(
        options, lambda do: do("card", {"session": options.session or None})
    )
    if card is None:
        raise InputError("--session", _no_card(options.session), _CARD_NEEDS)
    text = "\n".join(card.lines)
    if options.markdown:
        text = card.markdown
    write_result(options, {**plain(card), "lines": list(card.lines)}, visible(text))


def _no_card(session: str | None) -> str:
    """Return why there is no card of a session: no hook has noted it, though its host may have kept it."""
    if not session:
        return "no hook has recorded a session of this project yet"
    return f"no hook has recorded a call of a session of this project whose name begins with '{quoted(session, 60)}'"


def _is_zero(value: Json) -> bool:
    """Return whether a count, or each count of a group, is 0, so that it says nothing."""
    if isinstance(value, dict):
        return not any(value.values())
    return not value


def helped_text(helped: Mapping[str, int], last_messages: Mapping[str, int]) -> str:
    """Return what lessons came to, in a line of counts, and below it what these counts do not show."""
    parts = [
        f"Lessons were shown {counted(helped['shown'], 'time')} in {counted(helped['sessions'], 'session')}"
    ]
    if helped["judged"]:
        parts.append(
            f"followed at {helped['followed']} of the {helped['judged']} calls that could be judged"
        )
    if helped["failures"]:
        met = f"met in {helped['before']} past sessions before and {helped['since']} since"
        parts.append(f"what became {counted(helped['failures'], 'lesson')} by a review was {met}")
    parts.append(
        f"{last_messages['held']} last messages were held, {last_messages['corrected']} corrected after it"
    )
    limits = (
        "These are counts of what hooks and `learn` saw, not a comparison: run `learn` again for later sessions; "
        "MCP_REFLECT_HOLDOUT compares with sessions without lessons."
    )
    return f"{'; '.join(parts)}.\n{limits}"


def _uplift(uplift: Mapping[str, Any]) -> str:
    """Return how often tasks succeeded: "with lessons 80% of 10 tasks succeeded, without no task yet"."""
    with_lessons = _successes(uplift["shown"])
    without = _successes(uplift["held_out"])
    return f"with lessons {with_lessons}, without {without}"


def _successes(group: Mapping[str, Any]) -> str:
    """Return the share of tasks that succeeded in one of the two groups: "80% of 10 tasks succeeded"."""
    if not group["tasks"]:
        return "no task yet"
    return f"{group['success']:.0%} of {group['tasks']} tasks succeeded"


def _group(group: Mapping[str, Any]) -> str:
    """Return what became of the warnings of a group of sessions, in counts."""
    sequels = dict(group["sequels"])  # counts of warnings by what came after them
    for not_repeated in ("heeded", "open"):
        sequels.pop(not_repeated, None)
    repeats = sum(sequels.values())
    return (
        f"{group['recurrences']} known failures again in {group['sessions']} sessions; "
        f"{group['warnings_due']} warnings due, {repeats} calls made anyway"
    )


def report_text(report: Mapping[str, Json]) -> str:
    """Return the names and values of a report for a person."""
    return aligned({name.replace("_", " "): _value_text(value) for name, value in report.items()})


def _value_text(value: Json) -> str:
    """Return a value of a report in words: "yes" for true, "not known yet" for None, "none" for an empty list."""
    if isinstance(value, dict):
        return ", ".join(_part_text(name, part) for name, part in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(_value_text, value)) or "none"
    if value is None:
        return "not known yet"
    if value is True:
        return "yes"
    if value is False:
        return "no"
    return str(value)


def _part_text(name: str, part: Json) -> str:
    """Return a named value within a value: "python (3)" for a count, "python yes" for any other."""
    if isinstance(part, int):
        return f"{name} ({part})"
    return f"{name} {_value_text(part)}"


def vector_summary(state: Mapping[str, Any]) -> str:
    """Return how many lessons have a vector of the bank's embedder: "words, 3 of 3 lessons have a vector"."""
    with_vector = state["with_vector"]
    lessons = state["lessons"]
    counts = f"{state['embedder']}, {with_vector} of {lessons} lessons have a vector"
    if with_vector == lessons or state["embedder"] == "words":
        return counts
    return f"{counts}, the others are compared by their word vectors"
