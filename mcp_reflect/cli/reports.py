"""Print lessons for a task, counts of the bank, and prompt templates: `mcp-reflect recall | stats | prompts`."""

from argparse import Namespace
from collections.abc import Mapping
from typing import Any, Final

from mcp_reflect import services
from mcp_reflect.cli.commands import CliParser, add_actions, add_number
from mcp_reflect.cli.output import aligned, counted, table, visible, write_result
from mcp_reflect.cli.place import ask_as, settings_of, with_engine, with_place
from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError
from mcp_reflect.limits import DEFAULT
from mcp_reflect.models.card import SessionCard
from mcp_reflect.models.common import Json, compact, from_json, plain
from mcp_reflect.models.lesson import RecordKind
from mcp_reflect.models.recall import Recall, RecallQuery
from mcp_reflect.security.redact import quoted
from mcp_reflect.services.engine import Engine


def add_recall_arguments(parser: CliParser) -> None:
    """Add the options of `mcp-reflect recall`."""
    parser.add_argument("task", help="what you are about to do, in your words")
    parser.add_argument("--task-type", help="like debugging, search, deploy")
    parser.add_argument("--context", help="where you are: lessons from the same context come first")
    parser.add_argument(
        "--symptom", action="append", default=[], dest="symptoms", help="an error text that you see"
    )
    parser.add_argument(
        "--tag",
        action="append",
        default=[],
        dest="tags",
        help="only lessons with any of these tags",
    )
    kinds = [kind.value for kind in RecordKind]
    parser.add_argument(
        "--kind", action="append", default=[], dest="kinds", choices=kinds, help="only this kind"
    )
    most = DEFAULT.max_recalled
    add_number(
        parser, "--limit", 1, most, default=3, help=f"at most so many (1 to {most}, default 3)"
    )
    most = DEFAULT.max_recalled_chars
    add_number(
        parser, "--max-chars", 1, most, default=4000, help="at most so many characters of lessons"
    )
    add_number(parser, "--min-importance", 0.0, 1.0, default=0.0, help="0 to 1")
    add_number(parser, "--min-effectiveness", 0.0, 1.0, default=0.0, help="0 to 1")


def run_recall(options: Namespace) -> None:
    """Print the lessons that fit a task, best first, each with the reason why."""
    settings = settings_of(options)
    if not options.task.strip():
        raise InputError("task", "it is empty", "Say what you are about to do.")
    settings.refuse_more("max_task_chars", "task", len(options.task))
    single_values = set(RecallQuery.__slots__) - {"kinds", "symptoms", "tags"}
    values: dict[str, Any] = {
        name: value for name, value in vars(options).items() if name in single_values
    }
    values["symptoms"] = tuple(options.symptoms)
    values["tags"] = tuple(options.tags)
    if options.url:
        value = ask_as(options, "recall", values | {"kinds": options.kinds})
        write_result(options, compact(value), _recall_text(from_json(Recall, value)))
        return
    # The schemas of the tools would take longer to import than the recall takes.
    query = RecallQuery(**values, kinds=tuple(map(RecordKind, options.kinds)))

    async def work(engine: Engine) -> None:
        """Recall as an agent would, but without counting a use: a person who looks applies nothing."""
        own, holdout = engine.scopes.own, engine.settings.holdout
        recall = await engine.bank.recalls.recall(own, query, applied=False, holdout=holdout)
        if recall.lessons:
            recall = await services.ground.marked(engine.context, own, recall)
        text = _recall_text(recall)
        if not recall.lessons:
            text += await _hint_at_other_projects(engine)
        write_result(options, plain(recall), text)

    with_engine(work, settings)


async def _hint_at_other_projects(engine: Engine) -> str:
    """Return which other projects have lessons: where nothing was found, the person may stand in the wrong folder."""
    own = engine.scopes.own
    counts = await engine.bank.lessons.projects(own.tenant)
    others = [
        f"{name or '(global)'} ({count})" for name, count in counts.items() if name != own.project
    ]
    if not others:
        return ""
    return f"\nThis bank has lessons of other projects: {', '.join(others)}."


_FITS: Final = {"strong": "fits well", "weak": "fits weakly"}


def _recall_text(recall: Recall) -> str:
    """Return the hits of a recall for a person, or that there is none."""
    lines: list[str] = []
    if not recall.lessons:
        lines.append(f"Nothing on this in {recall.scope}.")
    for place, hit in enumerate(recall.lessons, start=1):
        fit = _FITS[hit.fit]
        text = hit.text.replace("\n", "\n   | ")  # no line of a text can pass for one of ours
        lines.append(f"{place}. {text}\n   {hit.kind} {hit.id} · {hit.trust} · {fit}: {hit.why}")
    return "\n".join([*lines, f"Recall {recall.recall_id}."])


def add_stats_arguments(parser: CliParser) -> None:
    """Add the options of `mcp-reflect stats`."""
    about = "one session in three lines: the latest, or the one whose name begins so"
    parser.add_argument("--session", nargs="?", const="", metavar="SESSION", help=about)
    about = "these lines in Markdown, for a pull request"
    parser.add_argument("--markdown", action="store_true", help=about)


_WITH_SENTENCES: Final = ("proof", "helped", "uplift")
"""What has a sentence of its own in the statistics, and is left out of the list of counts."""

_GROUPS: Final = {"warned sessions": "warned", "only watched": "held_out"}
"""The groups of sessions by what a person calls them."""


def run_stats(options: Namespace) -> None:
    """Print what is in the bank, counted, for this project and global lessons. Counts of 0 are left out.

    With --session what became of one session: what it met again and avoided, what was kept, what was held and corrected.
    """
    if options.session is not None or options.markdown:
        _print_card(options)
        return
    stats: dict[str, Any] = with_place(options, lambda do: do("stats", {}))
    text = report_text(_shown_counts(stats))
    if "helped" in stats:
        text = f"{helped_text(stats['helped'], stats['last_messages'])}\n\n{text}"
    write_result(options, stats, text)


def _shown_counts(stats: Mapping[str, Any]) -> dict[str, Any]:
    """Return the counts that a person is shown, by name."""
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
    card: SessionCard | None = with_place(
        options, lambda do: do("card", {"session": options.session or None})
    )
    if card is None:
        raise InputError("--session", _no_card(options.session), _CARD_NEEDS)
    text = "\n".join(card.lines)
    if options.markdown:
        text = card.markdown
    write_result(options, {**plain(card), "lines": list(card.lines)}, visible(text))


def _no_card(session: str | None) -> str:
    """Return why there is no card: the sessions that hosts keep, which `replay` names, are not those that hooks noted."""
    if not session:
        return "no hook has recorded a session of this project yet"
    return f"no hook has recorded a call of a session of this project whose name begins with '{quoted(session, 60)}'"


_CARD_NEEDS: Final = (
    "`stats` needs records of hooks: mcp-reflect install HOST --hooks. "
    "For a session without them: mcp-reflect replay --session NAME."
)


def _is_zero(value: Json) -> bool:
    """Return whether a count, or each count of a group, is 0, so that it says nothing."""
    if isinstance(value, dict):
        return not any(value.values())
    return not value


def helped_text(helped: Mapping[str, int], last_messages: Mapping[str, int]) -> str:
    """Return in a line what lessons came to, and what these counts do not show."""
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
    """Return how often tasks succeeded with lessons and without."""
    shown, held_out = _successes(uplift["shown"]), _successes(uplift["held_out"])
    return f"with lessons {shown}, without {held_out}"


def _successes(arm: Mapping[str, Any]) -> str:
    """Return the share of tasks that succeeded in one of the two groups."""
    if not arm["tasks"]:
        return "no task yet"
    return f"{arm['success']:.0%} of {arm['tasks']} tasks succeeded"


def _group(group: Mapping[str, Any]) -> str:
    """Return what became of the warnings of a group of sessions."""
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
    """Return a value of a report in words."""
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
    """Return a named value within a value: a count in brackets behind its name."""
    if isinstance(part, int):
        return f"{name} ({part})"
    return f"{name} {_value_text(part)}"


def vector_summary(state: Mapping[str, Any]) -> str:
    """Return the embedder of a bank and how many lessons have its vector, for a person."""
    there, lessons = state["with_vector"], state["lessons"]
    counts = f"{state['embedder']}, {there} of {lessons} lessons have a vector"
    if there == lessons or state["embedder"] == "words":
        return counts
    return f"{counts}, the others are compared by their word vectors"


def add_prompts_arguments(parser: CliParser) -> None:
    """Add the actions of `mcp-reflect prompts`."""
    add = add_actions(parser)
    add("list", "the prompt templates", "")
    add("show", "print one", "critique").add_argument(
        "name", metavar="NAME", help="the template to show"
    )


def run_prompts(options: Namespace) -> None:
    """List the prompt templates, or show one.

    Copy one into the folder of MCP_REFLECT_PROMPTS_DIR to change it:
    mcp-reflect prompts show critique > FOLDER/critique.md
    `mcp-reflect doctor` says what is wrong with a template of yours.
    """
    from mcp_reflect.llm.prompts import Prompts, Template, described  # noqa: PLC0415 - a recall needs none

    def in_use(template: Template) -> str:
        """Return whether a template is the person's or the shipped one."""
        if template.overridden:
            return "yours"
        if template.problem:
            return "shipped, because yours is broken (see doctor)"
        return "shipped"

    prompts = Prompts(Settings.from_env().prompts_dir)
    templates = {name: prompts.load(name) for name in prompts.names()}
    if options.action == "show":
        if options.name not in templates:
            raise InputError(
                "name", "there is no such prompt", f"Give one of {', '.join(templates)}."
            )
        template = templates[options.name]
        write_result(options, described(template), template.text.rstrip("\n"))
        return
    rows: list[tuple[str, ...]] = []
    listing: list[dict[str, Any]] = []
    for template in templates.values():
        rows.append((template.name, str(template.version), template.role, in_use(template)))
        record = dict(described(template))
        del record["text"]
        listing.append(record)
    write_result(options, listing, table(rows, ("name", "version", "role", "in use"), 3))
