"""The part of a call to which the guards of each project apply: `places` says which project's guards apply to what."""

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

_NO_FOLDER: tuple[str, ...] = ("\0",)
"""In place of a project's folders where a path lies in none of them: only guards that name the path from `/` on apply."""


def views_of(call: Call, place: CallPlace) -> Mapping[str, Call]:
    """Return, by project, the part of a call to which its guards apply; under EVERYWHERE all of it.

    For `git push && tee /work/web/a.js` in the folder of the project shop, the part of shop has the push, and that of web
    has the changed file.
    """
    indexes_by_project = _command_indexes_by_project(call, place)
    changes_by_project: dict[str, list[SeenChange]] = defaultdict(list)
    all_changes = [*call.changes]
    for change in call.named_changes:
        path = place.absolute(change.path)
        all_changes.append(_with_path(change, path))
        for project, seen in _changes_by_project(change, path, place):
            changes_by_project[project].append(seen)
    every_index = range(len(call.placed_commands))
    views = {EVERYWHERE: call.part(every_index, all_changes)}
    for project in (*place.at_hand, *indexes_by_project, *changes_by_project):
        if project not in views:
            views[project] = call.part(
                indexes_by_project[project],
                changes_by_project[project],
                folder=place.folder,
                roots=place.roots_of(project),
            )
    return views


def _command_indexes_by_project(call: Call, place: CallPlace) -> defaultdict[str, set[int]]:
    """Return, by project, the indexes of the commands in `placed_commands` to which its guards apply."""
    indexes: defaultdict[str, set[int]] = defaultdict(set)
    projects_by_folder: dict[str | None, Iterable[str]] = {}
    for index, placed in enumerate(call.placed_commands):
        if placed.folder not in projects_by_folder:
            projects_by_folder[placed.folder] = _projects_of_command(placed, place)
        for project in projects_by_folder[placed.folder]:
            indexes[project].add(index)
    return indexes


def _projects_of_command(placed: PlacedCommand, place: CallPlace) -> Iterable[str]:
    """Return the projects whose guards apply to a command: that of its folder, else those that are at hand."""
    if placed.folder is None:
        return place.at_hand
    return place.projects_at(place.absolute(placed.folder or ".")) or place.at_hand


def _changes_by_project(
    change: NamedChange, path: str, place: CallPlace
) -> Iterator[tuple[str, SeenChange]]:
    """Yield the projects whose guards may name a changed path, each once, with the change as it sees it.

    `path` is the change's, seen from the root. Of a project the first row that fits decides:

    | the project                                             | sees the path                          |
    |---------------------------------------------------------|----------------------------------------|
    | at hand, and nobody knows from where the path is seen   | as it is written                       |
    | the innermost one that the path lies in                 | in its folders                         |
    | one around that                                         | in its folders, as in an inner project |
    | one that lies in the path, which is removed or searched | in its folders                         |
    | at hand, where nobody knows its folders and the path's  | anywhere                               |
    | at hand                                                 | in none of its folders                 |
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
        are_folders_unknown = not owners and not place.roots_of(project)
        yield project, _with_path(change, path, () if are_folders_unknown else _NO_FOLDER)


def _projects_reached(change: NamedChange, path: str, place: CallPlace) -> AbstractSet[str]:
    """Return the projects whose folders a change reaches from around them: `rm -rf /work`, `find /work -delete`."""
    if change.removes or change.names:
        return place.projects_in(path)
    return frozenset()


def _with_path(change: NamedChange, path: str, roots: tuple[str, ...] = ()) -> SeenChange:
    """Return a change of a path, as seen from the folders of a project."""
    return SeenChange(
        path, roots, change.removes, change.names, change.if_folder, restores=change.restores
    )
