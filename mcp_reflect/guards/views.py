"""The part of a call that the guards of each project hold: see `places` for which project holds what."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace

from mcp_reflect.guards.call import Call
from mcp_reflect.guards.folders import NamedChange, PlacedCommand
from mcp_reflect.guards.paths import SeenChange, is_absolute
from mcp_reflect.guards.places import CallPlace

EVERYWHERE = ""
"""Stands for the guards that are for all projects."""

_NOWHERE: tuple[str, ...] = ("\0",)
"""The folder of a project that a path does not lie in: only the guards that name the path from `/` on hold it."""


def views_of(call: Call, place: CallPlace) -> Mapping[str, Call]:
    """Return, by project, the part of a call that its guards hold; under EVERYWHERE all of it."""
    commands: dict[str, set[int]] = defaultdict(set)
    changes: dict[str, list[SeenChange]] = defaultdict(list)
    projects_of: dict[str | None, Iterable[str]] = {}
    for index, placed in enumerate(call.placed_commands):
        if placed.folder not in projects_of:
            projects_of[placed.folder] = _projects_of_command(placed, place)
        for project in projects_of[placed.folder]:
            commands[project].add(index)
    in_full: list[SeenChange] = []
    for change in call.named_changes:
        path = place.absolute(change.path)
        in_full.append(_with_path(change, path))
        for project, seen in _changes_by_project(change, path, place):
            changes[project].append(seen)
    projects = dict.fromkeys((*place.at_hand, *commands, *changes))
    views = {
        project: call.part(
            commands[project],
            changes[project],
            folder=place.folder,
            roots=place.roots_of(project),
        )
        for project in projects
    }
    every_index = range(len(call.placed_commands))
    return {**views, EVERYWHERE: call.part(every_index, (*call.changes, *in_full))}


def _projects_of_command(placed: PlacedCommand, place: CallPlace) -> Iterable[str]:
    """Return the projects whose guards hold a command: that of its folder, else those that are at hand."""
    if placed.folder is None:
        return place.at_hand
    return place.projects_at(place.absolute(placed.folder or ".")) or place.at_hand


def _changes_by_project(
    change: NamedChange, path: str, place: CallPlace
) -> Iterator[tuple[str, SeenChange]]:
    """Yield the projects whose guards may name a changed path, each once, with the change as it sees it.

    `path` is the change's, seen from the root. Of a project the first row that fits decides:

    | the project                                            | sees the path                                |
    |--------------------------------------------------------|----------------------------------------------|
    | at hand, and nobody knows from where the path is seen   | as it is written                             |
    | the innermost one that the path lies in                | in its folders                               |
    | one around that                                        | in its folders, as in an inner project       |
    | one that lies in the path, which is removed or searched | in its folders                               |
    | at hand, where nobody knows its folders and the path's | anywhere                                     |
    | at hand                                                | in none of its folders                       |
    """
    if not change.is_in_known_folder or not is_absolute(path):
        for project in place.at_hand:
            yield project, _with_path(change, change.path)
        return
    owners = frozenset(place.projects_at(path))
    around = frozenset(folder.project for folder in place.around(path))
    inside = _projects_reached(change, path, place)
    for project in owners | (inside - around):
        yield project, _with_path(change, path, place.roots_of(project))
    for project in around - owners:
        seen = _with_path(change, path, place.roots_of(project))
        yield project, replace(seen, is_in_inner=True)
    for project in frozenset(place.at_hand) - inside - around:
        is_unknown = not owners and not place.roots_of(project)
        yield project, _with_path(change, path, () if is_unknown else _NOWHERE)


def _projects_reached(change: NamedChange, path: str, place: CallPlace) -> AbstractSet[str]:
    """Return the projects whose folders a change reaches from around them: `rm -rf /work`, `find /work -delete`."""
    if change.removes or change.names:
        return place.projects_in(path)
    return frozenset()


def _with_path(change: NamedChange, path: str, roots: tuple[str, ...] = ()) -> SeenChange:
    """Return a change of a path, as seen from the folders of a project."""
    return SeenChange(path, roots, change.removes, change.names, change.if_folder)
