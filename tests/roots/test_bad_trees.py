"""What a tree may have in place of the file that a lesson names: nothing of it is trusted, followed or waited for."""

import os
import time
from pathlib import Path

import pytest

from mcp_reflect.models.root import Ground, Roots, Standing, VersionRoot
from mcp_reflect.roots.locks import changed_version, versions_of
from mcp_reflect.roots.measuring import measured
from mcp_reflect.roots.naming import files_named
from mcp_reflect.roots.planting import MOST_FILES, LessonText, plant
from mcp_reflect.roots.tree import tree_of
from tests.roots.trees import tree_with, write

GIGABYTE = 1 << 30
STANDS = Ground()


def planted(tree: Path, text: str, files: tuple[str, ...] = ()) -> Roots:
    return plant(tree, tree, LessonText(texts=[text], files=files))


def paths(roots: Roots) -> list[str]:
    return [one.path for one in roots.files]


def test_a_link_out_of_the_tree_is_no_root_and_a_root_that_became_one_is_not_measured(
    tmp_path: Path,
) -> None:
    write(tmp_path, "outside/shop.toml", "port = 8080\n")
    tree = tree_with(tmp_path / "tree", {"real.toml": "port = 8080\n"})
    (tree / "shop.toml").symlink_to(tmp_path / "outside" / "shop.toml")
    (tree / "linked").symlink_to(tmp_path / "outside")
    assert paths(planted(tree, "Port 8080 in shop.toml and linked/shop.toml")) == []
    roots = planted(tree, "Port 8080 in real.toml")
    assert paths(roots) == ["real.toml"]
    (tree / "real.toml").unlink()
    (tree / "real.toml").symlink_to(tmp_path / "outside" / "shop.toml")
    assert measured(tree, roots, 0) == STANDS


@pytest.mark.parametrize(
    "name", ["../outside.toml", "/etc/passwd", "~/.ssh/config", ".git/config", "a/../../x.toml"]
)
def test_a_path_out_of_the_tree_or_into_git_is_no_root(tmp_path: Path, name: str) -> None:
    write(tmp_path, "outside.toml", "x = 1\n")
    tree = tree_with(tmp_path / "tree", {"a/b.toml": ""})
    assert paths(planted(tree, f"See {name}", files=(name,))) == []


def test_a_pipe_or_a_folder_in_place_of_a_file_is_not_read(tmp_path: Path) -> None:
    tree = tree_with(tmp_path / "tree", {"shop.toml": "port = 8080\n"})
    os.mkfifo(tree / "package-lock.json")
    roots = planted(tree, "Port 8080 in shop.toml")
    (tree / "shop.toml").unlink()
    os.mkfifo(tree / "shop.toml")
    assert measured(tree, roots, 0) == STANDS
    (tree / "shop.toml").unlink()
    (tree / "shop.toml").mkdir()
    assert measured(tree, roots, 0) == STANDS


def test_a_file_of_a_gigabyte_is_not_read(tmp_path: Path) -> None:
    tree = tree_with(tmp_path / "tree", {"shop.toml": "port = 8080\n"})
    roots = planted(tree, "Port 8080 in shop.toml")
    for name in ("shop.toml", "package-lock.json", "large.toml"):
        with (tree / name).open("wb") as file:
            file.truncate(GIGABYTE)
    began = time.monotonic()
    assert measured(tree, roots, 0) == STANDS
    assert paths(planted(tree, "typescript 8080 in large.toml")) == []
    assert time.monotonic() - began < 1


def test_a_renamed_file_is_found_by_its_content_where_that_is_unique(tmp_path: Path) -> None:
    tree = tree_with(tmp_path / "tree", {"config/shop.toml": "port = 8080\n"})
    roots = planted(tree, "Port 8080 in shop.toml")
    assert paths(roots) == ["config/shop.toml"]
    (tree / "config" / "shop.toml").rename(tree / "settings.toml")
    assert measured(tree, roots, 0) == STANDS
    write(tree, "copy.toml", "port = 8080\n")
    assert measured(tree, roots, 0) == Ground(Standing.DOUBTED, "shop.toml is gone since")


def test_a_sparse_checkout_leaves_files_out_that_are_not_gone(tmp_path: Path) -> None:
    tree = tree_with(tmp_path / "tree", {"config/shop.toml": "port = 8080\n"})
    roots = planted(tree, "Port 8080 in shop.toml")
    write(tree, ".git/info/sparse-checkout", "/src\n")
    (tree / "config" / "shop.toml").unlink()
    assert measured(tree, roots, 0) == STANDS


def test_times_of_files_and_clocks_that_jump_change_nothing(tmp_path: Path) -> None:
    tree = tree_with(tmp_path / "tree", {"shop.toml": "port = 8080\n"})
    roots = planted(tree, "Port 8080 in shop.toml")
    for moment in (0, 4_000_000_000):
        os.utime(tree / "shop.toml", (moment, moment))
        assert measured(tree, roots, moment) == STANDS
    write(tree, "shop.toml", "port = 8081\n")
    os.utime(tree / "shop.toml", (0, 0))
    assert measured(tree, roots, 0).standing is Standing.CHANGED


def test_a_folder_without_git_and_a_shallow_clone_are_measured_as_any(tmp_path: Path) -> None:
    write(tmp_path / "plain", "shop.toml", "port = 8080\n")
    shallow = tree_with(tmp_path / "shallow", {"shop.toml": "port = 8080\n", ".git/shallow": "x"})
    for tree in (tmp_path / "plain", shallow):
        assert tree_of(tree) == tree
        roots = planted(tree, "Port 8080 in shop.toml")
        write(tree, "shop.toml", "port = 1\n")
        assert measured(tree, roots, 0).what_changed == "shop.toml changed since"


def test_of_a_file_with_secrets_only_its_place_is_kept(tmp_path: Path) -> None:
    tree = tree_with(tmp_path / "tree", {".env": "API_KEY=abc\n", "deploy.pem": "x"})
    roots = planted(tree, "API_KEY stands in .env, beside deploy.pem", files=(".env",))
    assert [(one.path, one.digest, one.lines) for one in roots.files] == [
        (".env", None, ()),
        ("deploy.pem", None, ()),
    ]


def test_eight_files_at_most_are_roots(tmp_path: Path) -> None:
    names = [f"part{number}.toml" for number in range(20)]
    tree = tree_with(tmp_path / "tree", dict.fromkeys(names, "x = 1\n"))
    assert len(planted(tree, " ".join(names)).files) == MOST_FILES


def test_a_name_that_several_files_have_is_no_root(tmp_path: Path) -> None:
    tree = tree_with(tmp_path / "tree", {"a/shop.toml": "x", "b/shop.toml": "x", "b/one.toml": "x"})
    assert paths(planted(tree, "Port in shop.toml, not b/shop.toml or one.toml")) == [
        "b/shop.toml",
        "b/one.toml",
    ]


def test_long_words_and_many_dots_take_no_long_time() -> None:
    began = time.monotonic()
    for text in ("a." * 100_000, "a/" * 100_000, "@" * 200_000, "`" * 200_000, "-" * 200_000):
        files_named(text)
        plant(Path("/nonexistent"), Path("/nonexistent"), LessonText(texts=[text], calls=[text]))
    assert time.monotonic() - began < 2


def test_a_lock_file_of_five_megabytes_takes_no_long_time(tmp_path: Path) -> None:
    packages = "".join(
        f'  "node_modules/package-{number}": {{\n   "version": "1.2.{number}"\n  }},\n'
        for number in range(80_000)
    )
    lock = '{"packages": {\n' + packages + ' "node_modules/left-pad": {\n "version": "1.0.0"}}}'
    tree = tree_with(tmp_path / "tree", {"package-lock.json": lock, "package.json": "{}"})
    assert len(lock) > 4_000_000
    words = " ".join(f"`package-{number}x`" for number in range(60))
    began = time.process_time()
    roots = planted(tree, f"`left-pad` pads on the wrong side {words}")
    write(tree, "package-lock.json", lock.replace("1.0.0", "2.0.0"))
    assert measured(tree, roots, 0).what_changed == "left-pad is 2.0.0 now"
    assert time.process_time() - began < 2


# What is said of versions: the text of a lock file of each kind, a later one, and one of another major version.
LOCKS = {
    "package-lock.json": (
        '{{"packages": {{"node_modules/left-pad": {{\n  "version": "{0}"\n}}}}}}',
        ("package.json", '{"dependencies": {"left-pad": "^1"}}'),
    ),
    "pnpm-lock.yaml": (
        (
            "importers:\n  .:\n    dependencies:\n      left-pad:\n        specifier: ^1.0.0\n"
            "        version: {0}(peer@1.0.0)\npackages:\n  left-pad@{0}:\n    resolution: x\n"
        ),
        ("package.json", '{"dependencies": {"left-pad": "^1"}}'),
    ),
    "uv.lock": (
        'version = 1\n\n[[package]]\nname = "left-pad"\nversion = "{0}"\n',
        ("pyproject.toml", 'dependencies = ["left_pad>=1"]'),
    ),
    "poetry.lock": (
        '[[package]]\nname = "left-pad"\nversion = "{0}"\noptional = false\n',
        ("pyproject.toml", '[tool.poetry.dependencies]\nleft-pad = "^1"'),
    ),
    "Cargo.lock": (
        'version = 4\n\n[[package]]\nname = "left-pad"\nversion = "{0}"\n',
        ("Cargo.toml", '[dependencies]\nleft-pad = "1"'),
    ),
    "go.sum": (
        "github.com/x/left-pad v{0} h1:abc=\ngithub.com/x/left-pad v{0}/go.mod h1:abc=\n",
        ("go.mod", "require github.com/x/left-pad v1.2.0\n"),
    ),
    "Gemfile.lock": (
        "GEM\n  specs:\n    left-pad ({0})\n      rake\n\nDEPENDENCIES\n  left-pad\n",
        ("Gemfile", "gem 'left-pad'\n"),
    ),
    "requirements.txt": ("left-pad[all]=={0} ; python_version > '3'\n", None),
}


@pytest.mark.parametrize("kind", LOCKS)
def test_the_version_of_what_a_lesson_is_about_is_read_from_each_kind_of_lock_file(
    tmp_path: Path, kind: str
) -> None:
    text, manifest = LOCKS[kind]
    files = {kind: text.format("1.2.3")} | dict([manifest] if manifest else [])
    tree = tree_with(tmp_path / "tree", files)
    roots = planted(tree, "The package left-pad pads numbers on the wrong side")
    assert roots.versions == (VersionRoot(name="left-pad", version="1.2.3", lock=kind),)
    for version, ground in {
        "1.2.9": STANDS,
        "1.3.0": Ground(Standing.CHANGED, "left-pad is 1.3.0 now"),
        "2.0.0": Ground(Standing.DOUBTED, "left-pad is 2.0.0 now"),
    }.items():
        write(tree, kind, text.format(version))
        assert measured(tree, roots, 0) == ground


def test_a_package_that_left_a_whole_lock_file_is_gone_and_in_a_broken_one_it_is_not_measured(
    tmp_path: Path,
) -> None:
    tree = tree_with(tmp_path / "tree", {"uv.lock": '[[package]]\nname = "b"\nversion = "1.0"\n'})
    root = VersionRoot(name="left-pad", version="1.2.3", lock="uv.lock")
    new = changed_version(tree, root)
    assert new is not None
    assert new.version is None
    for broken in ('[[package]]\nname = "b', "", "<<<<<<< HEAD\n", '{"a": 1}', "\x00"):
        write(tree, "uv.lock", broken)
        assert changed_version(tree, root) is None
    (tree / "uv.lock").unlink()
    assert changed_version(tree, root) is None


def test_a_plain_word_that_is_some_package_of_a_package_is_not_what_a_lesson_is_about(
    tmp_path: Path,
) -> None:
    lock = '{"packages": {"node_modules/once": {\n"version": "1.0.0"}}}'
    tree = tree_with(tmp_path / "tree", {"package-lock.json": lock, "package.json": "{}"})
    assert versions_of(tree, [""], [], ["once"]) == ()
    assert [one.name for one in versions_of(tree, [""], ["once"], [])] == ["once"]
