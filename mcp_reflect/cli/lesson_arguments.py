"""The actions of `mcp-reflect lessons` and their options; `cli.lessons` does them."""

from collections.abc import Mapping
from typing import Any, Final, Protocol

from mcp_reflect.cli.commands import CliParser, add_actions, add_number, add_service_arguments
from mcp_reflect.models.lesson import RecordKind, State

STATES: Final[Mapping[str, Mapping[str, Any]]] = {
    **{state.value: {"state": state, "held": None} for state in State},
    State.ACTIVE.value: {"state": State.ACTIVE, "held": False},
    "quarantined": {"state": State.ACTIVE, "held": True},
    "all": {"state": None, "held": None},
}
"""The fields of a filter by the name of a state. A quarantined lesson is active; a rejected one is retired."""

_KINDS: Final = (*(kind.value for kind in RecordKind), "all")
_MOST_LISTED: Final = 1_000_000  # lessons of one list


_TEXT_OPTIONS: Final = (
    ("--mistake", "what went wrong"),
    ("--correction", "what works"),
    ("--why", "why it does"),
    ("--wrong-call", "the wrong call: a command, or JSON of {tool, arguments}"),
    ("--right-call", "the right call, in the same form"),
    ("--guard", "the calls against it: 'Bash: `tsc` without `--noEmit`'; '' to derive it again"),
    ("--task-type", "like debugging, search, deploy"),
)
"""The options of `add` and `edit` for the fields of a lesson that are texts, each with its help."""


class _AddAction(Protocol):
    """Adds an action by its name, what it does (`about`), and the arguments of an example.

    `ids` says which lessons the action takes: "id" one, "ids" one or more, empty none.
    """

    def __call__(self, name: str, about: str, example: str, ids: str = "") -> CliParser: ...


def add_lessons_arguments(parser: CliParser) -> None:
    """Add the actions of `mcp-reflect lessons`."""
    add = add_actions(parser)

    def action(name: str, about: str, example: str, ids: str = "") -> CliParser:
        """Add an action, as `_AddAction` says; all but `erase` can ask a team's service."""
        parser_of_action = add(name, about, example)
        if name != "erase":
            add_service_arguments(parser_of_action)
        if ids:
            names = "the lesson's id, or its first or last characters"
            count = "+" if ids == "ids" else None
            parser_of_action.add_argument(ids, nargs=count, metavar="ID", help=names)
        return parser_of_action

    _add_reading(action)
    _add_writing(action)
    _add_guarding(action)
    _add_deciding(action)


def _add_reading(action: _AddAction) -> None:
    """Add the actions that only show lessons."""
    listed = action("list", "the newest lessons", "--task-type deploy")
    listed.set_defaults(words=())
    search = action("search", "lessons that have all of these words", "git push --state all")
    search.add_argument(
        "words", nargs="+", help="in a lesson's text, task type, symptoms, keywords or tags"
    )
    for listing in (listed, search):
        listing.add_argument(
            "--state", default="active", choices=STATES, help="its state (default: active)"
        )
        listing.add_argument(
            "--kind", default="lesson", choices=_KINDS, help="its kind (default: lesson)"
        )
        listing.add_argument("--task-type", metavar="TYPE", help="like debugging, search, deploy")
        listing.add_argument("--tag", help="one of its tags")
        add_number(
            listing,
            "--limit",
            1,
            _MOST_LISTED,
            metavar="N",
            default=50,
            help="at most this many (default 50)",
        )
    action("show", "one lesson, and how effective it is", "LES", "id")
    action("history", "its earlier wordings, outcomes and recalls", "LES", "id")


def _add_writing(action: _AddAction) -> None:
    """Add the actions that write a lesson (`add`, `edit`), both with an option for each of its fields."""
    about = "write a lesson yourself: as a text, by options, or asked for"
    written = action("add", about, '"Run make setup before make test"')
    written.add_argument("text", nargs="*", help="the lesson in a sentence")
    written.add_argument(
        "--global",
        action="store_true",
        dest="is_global",
        help="for all projects, not only this one",
    )
    edit = action("edit", "change a lesson, in $EDITOR or by options", "LES --tag deploy", "id")
    for fields in (written, edit):
        for name, help_text in _TEXT_OPTIONS:
            fields.add_argument(name, metavar="TEXT", help=help_text)
        add_number(fields, "--importance", 0.0, 1.0, metavar="N", help="0 to 1")
        fields.add_argument("--tag", action="append", dest="tags", help="a tag; may be given again")


def _add_guarding(action: _AddAction) -> None:
    """Add the actions that say what a guard does, and which lessons sessions begin with."""
    about = "say what a call against a lesson meets; without a mode, what it would have met in past sessions"
    guard = action("guard", about, "LES hold", "id")
    guard.add_argument(
        "mode",
        nargs="?",
        choices=("hold", "tell", "off"),
        help="refuse the call once, tell the agent, or nothing",
    )
    action("enforce", "refuse each call that goes against a lesson, every time", "LES", "id")
    action("pin", "begin every session with a lesson, three at most", "LES", "id")
    action("unpin", "no longer begin every session with a lesson", "LES", "id")


def _add_deciding(action: _AddAction) -> None:
    """Add the actions that decide about lessons: whether they are trusted, in use, merged or erased."""
    approve = action(
        "approve",
        "vouch for lessons, keep a finding in your words, do what an agent proposes",
        "LES",
        "ids",
    )
    approve.add_argument("--mistake", metavar="TEXT", help="what went wrong, of a finding")
    approve.add_argument(
        "--correction", metavar="TEXT", help="what another session should know, of a finding"
    )
    action("reject", "retire quarantined lessons, drop findings and proposals", "LES", "ids")
    action("merge", "merge lessons that say the same into the first", "LES SAME", "ids")
    action("undo", "undo a merge", "drm_…").add_argument("id", help="the id that merge printed")
    forget = action(
        "forget", "retire lessons: out of every recall, their history stays", "LES", "ids"
    )
    forget.add_argument("--reason", default="a person said so", help="stored in its history")
    action("restore", "bring retired lessons back", "LES", "ids")
    erase = action(
        "erase", "remove a lesson, its history and its bytes for good", "LES --yes", "id"
    )
    erase.add_argument("--yes", action="store_true", help="do not ask")
    action("review", "decide about all that waits, one by one, or list it", "")
