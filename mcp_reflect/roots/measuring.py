"""Measure what became of the roots of a lesson. What cannot be measured counts as unchanged."""

import os
from pathlib import Path, PurePosixPath
from typing import Final

from mcp_reflect.clock import iso
from mcp_reflect.models.root import WHOLE, FileRoot, Ground, Roots, Standing, VersionRoot
from mcp_reflect.roots.lines import digest_of, digest_of_line, lines_of
from mcp_reflect.roots.tree import Listing, NotMeasuredError, read_in, size_in

_LONGEST_NAME: Final = 60  # characters of a file's name in a mark


def measured(tree: Path | None, roots: Roots, now: float) -> Ground:
    """Return what became of a lesson's roots: the first that is gone, else the first that changed.

    Without a `tree` only the time is looked at until which the lesson was said to hold; `now` is in seconds since
    1970.
    """
    if roots.valid_until is not None and now > roots.valid_until:
        return Ground(Standing.DOUBTED, f"valid until {iso(roots.valid_until)[:10]}")
    changed = Ground()
    if tree is None:
        return changed
    grounds = (
        *(_of_file(tree, root) for root in roots.files),
        *(_of_version(tree, root) for root in roots.versions),
    )
    for ground in grounds:
        if ground.standing is Standing.DOUBTED:
            return ground
        if changed.standing is Standing.STANDS:
            changed = ground
    return changed


def _of_file(tree: Path, root: FileRoot) -> Ground:
    """Return what became of a file.

    | the file now                                                              | standing |
    |---------------------------------------------------------------------------|----------|
    | is not read: a link, or too large                                         | STANDS   |
    | is the same                                                               | STANDS   |
    | is not there, and may be elsewhere (`_may_be_elsewhere`)                  | STANDS   |
    | is not there                                                              | DOUBTED  |
    | lost too many lines that the lesson touches, or got words it had not      | CHANGED  |
    | changed otherwise                                                         | STANDS   |
    """
    try:
        content = read_in(tree, root.path)
    except NotMeasuredError:
        return Ground()
    if content is not None and digest_of(content) == root.digest:
        return Ground()
    name = PurePosixPath(root.path).name[:_LONGEST_NAME]
    if content is None:
        if _may_be_elsewhere(tree, root):
            return Ground()
        return Ground(Standing.DOUBTED, f"{name} is gone since")
    if root.digest is not None and _is_changed(root, content):
        return Ground(Standing.CHANGED, f"{name} changed since")
    return Ground()


def _is_changed(root: FileRoot, content: bytes) -> bool:
    """Return whether more lines that the lesson touches are gone than may be, or words that were absent are there."""
    digests_here = set(map(digest_of_line, lines_of(content)))
    if root.most_gone == WHOLE:
        return digests_here != set(root.lines)
    if sum(line not in digests_here for line in root.lines) > root.most_gone:
        return True
    if not root.absent:
        return False
    text = content.decode("utf-8", "replace").casefold()
    return any(word in text for word in root.absent)


def _may_be_elsewhere(tree: Path, root: FileRoot) -> bool:
    """Return whether a file may be there all the same: a sparse checkout leaves it out, or it got another name."""
    if os.path.lexists(tree / ".git" / "info" / "sparse-checkout"):
        return True
    return renamed_to(tree, root) is not None


def renamed_to(tree: Path, root: FileRoot) -> str | None:
    """Return the one file of a tree that has the content of a root that is gone; None if there is none, or several."""
    if root.digest is None:
        return None
    suffix = PurePosixPath(root.path).suffix
    same_content: list[str] = []
    for path in Listing(tree).all_files():
        if PurePosixPath(path).suffix != suffix or size_in(tree, path) != root.size:
            continue
        try:
            content = read_in(tree, path)
        except NotMeasuredError:
            continue
        if content is not None and digest_of(content) == root.digest:
            same_content.append(path)
    if len(same_content) != 1:
        return None
    return same_content[0]


def _of_version(tree: Path, root: VersionRoot) -> Ground:
    """Return what became of a package: it stands but for a patch, it has a new version, or it is gone."""
    from mcp_reflect.roots.locks import changed_version  # noqa: PLC0415 - few lessons are about a package

    new = changed_version(tree, root)
    if new is None:
        return Ground()
    what_changed = f"{new.name} is gone since"
    if new.version:
        what_changed = f"{new.name} is {new.version} now"
    if new.is_major:
        return Ground(Standing.DOUBTED, what_changed)
    return Ground(Standing.CHANGED, what_changed)
