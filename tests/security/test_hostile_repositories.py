"""A repository that was unpacked from an archive runs nothing, stalls nothing, and takes no other project's name."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_reflect import children
from mcp_reflect.project_folders import Folder
from mcp_reflect.search_path import find_program
from tests.storage.test_projects import SHOP, git, repository

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes and programs of POSIX")

QUICK = 2.0  # seconds


def own_project(folder: Path) -> bool:
    """Whether the folder is soon known as its own project, and no first commit is told."""
    began = time.monotonic()
    found = Folder.of(folder)
    commit = found.first_commit()
    assert time.monotonic() - began < QUICK
    return found.name == str(folder) and commit is None


@pytest.fixture
def bait(tmp_path: Path) -> Path:
    """A file that a hostile repository tries to make."""
    return tmp_path / "PWNED"


def commit_of(folder: Path) -> str:
    done = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def test_a_promisor_with_a_missing_head_runs_no_command(tmp_path: Path, bait: Path) -> None:
    folder = repository(tmp_path / "shop")
    program = f"touch {bait}; false"
    for name, value in (
        ("core.repositoryformatversion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.uploadpack", program),
        ("remote.origin.url", str(tmp_path / "nowhere")),
        ("core.fsmonitor", program),
        ("core.sshCommand", program),
        ("core.pager", program),
        ("core.gitProxy", program),
        ("core.alternateRefsCommand", program),
        ("credential.helper", f"!{program}"),
        ("alias.rev-list", f"!{program}"),
    ):
        git(folder, "config", name, value)
    (folder / ".git/HEAD").write_text("0" * 39 + "1\n")
    assert own_project(folder)
    assert not bait.exists()


def test_a_hook_and_a_setting_of_git_in_the_environment_run_nothing(
    tmp_path: Path, bait: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = repository(tmp_path / "shop")
    first = commit_of(folder)
    for variable in ("GIT_EXTERNAL_DIFF", "GIT_SSH_COMMAND", "GIT_PAGER", "GIT_ASKPASS"):
        monkeypatch.setenv(variable, f"touch {bait}")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "alias.rev-list")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", f"!touch {bait}")
    monkeypatch.setenv("GIT_DIR", str(tmp_path))
    assert Folder.of(folder).first_commit() == f"commit:{first[:16]}"
    assert not bait.exists()


def test_a_program_named_git_in_the_folder_is_not_run(
    tmp_path: Path, bait: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = repository(tmp_path / "shop")
    program = folder / "git"
    program.write_text(f"#!/bin/sh\ntouch {bait}\n")
    program.chmod(0o755)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", os.pathsep.join(("", ".", os.environ["PATH"])))
    assert (Folder.of(folder).first_commit() or "").startswith("commit:")
    assert not bait.exists()


def _plant_git(folder: Path, bait: Path) -> Path:
    return _plant(folder, "git", bait)


def _plant(folder: Path, name: str, bait: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\ntouch {bait}\n")
    program.chmod(0o755)
    return folder


@pytest.mark.parametrize("kind", ["folder", "link to it", "link to git", "below a submodule"])
@pytest.mark.parametrize("inside", [True, False], ids=["working there", "told the folder"])
def test_a_git_of_the_repository_is_not_run_though_path_names_it(
    tmp_path: Path, bait: Path, monkeypatch: pytest.MonkeyPatch, kind: str, *, inside: bool
) -> None:
    """A `.envrc` or an editor's settings may put its whole path first on PATH."""
    folder = repository(tmp_path / "shop")
    planted = _plant_git(folder / "node_modules/.bin", bait)
    worked_in = folder
    if kind == "link to it":
        (tmp_path / "bin").symlink_to(planted)
        planted = tmp_path / "bin"
    elif kind == "link to git":
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin/git").symlink_to(planted / "git")
        planted = tmp_path / "bin"
    elif kind == "below a submodule":
        worked_in = repository(folder / "part")
    if inside:
        monkeypatch.chdir(worked_in)
    monkeypatch.setenv("PATH", os.pathsep.join((str(planted), os.environ["PATH"])))
    assert (Folder.of(worked_in).first_commit() or "").startswith("commit:")
    assert not bait.exists()


def test_a_child_finds_no_program_of_the_folder_either(
    tmp_path: Path, bait: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as the git that git starts, or the `node` that runs an agent's program."""
    folder = repository(tmp_path / "shop")
    before = os.environ["PATH"]
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", os.pathsep.join((str(_plant_git(folder / "bin", bait)), before)))
    monkeypatch.chdir(folder / "bin")
    assert children.our_environment()["PATH"] == before


def test_programs_of_the_person_are_found_from_the_home_and_the_root(
    tmp_path: Path, bait: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = repository(tmp_path / "home")
    own = _plant_git(home / "bin", bait)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", str(own))
    for folder in (home, Path("/")):
        monkeypatch.chdir(folder)
        assert find_program("git") == str(own / "git")


def pipe_as_git(folder: Path) -> None:
    shutil.rmtree(folder / ".git")
    os.mkfifo(folder / ".git")


def link_out_of_the_tree(folder: Path) -> None:
    shutil.rmtree(folder / ".git")
    (folder / ".git").symlink_to(folder.parent / "other" / ".git")


def file_that_points_elsewhere(folder: Path) -> None:
    shutil.rmtree(folder / ".git")
    (folder / ".git").write_text(f"gitdir: {folder.parent / 'other' / '.git'}\n")


def forged_worktree(folder: Path) -> None:
    """The folder names data in its own tree, which names another repository as the shared one."""
    shutil.rmtree(folder / ".git")
    data = folder / "data" / "worktrees" / "x"
    data.mkdir(parents=True)
    (folder / ".git").write_text("gitdir: data/worktrees/x\n")
    (data / "commondir").write_text(f"{folder.parent / 'other' / '.git'}\n")
    (data / "gitdir").write_text(f"{folder / '.git'}\n")
    (data / "HEAD").write_text("ref: refs/heads/main\n")


def forged_submodule(folder: Path) -> None:
    """The data is that of a repository whose `core.worktree` is another folder."""
    shutil.rmtree(folder / ".git")
    other = folder.parent / "other"
    git(other, "config", "core.worktree", str(other))
    (folder / ".git").write_text(f"gitdir: {other / '.git'}\n")


def huge_file_as_git(folder: Path) -> None:
    shutil.rmtree(folder / ".git")
    with (folder / ".git").open("wb") as file:
        file.truncate(100_000_000)


def huge_config(folder: Path) -> None:
    with (folder / ".git/config").open("r+b") as file:
        file.truncate(100_000_000)


def pipe_as_config(folder: Path) -> None:
    (folder / ".git/config").unlink()
    os.mkfifo(folder / ".git/config")


def config_of_another(folder: Path) -> None:
    (folder / ".git/config").unlink()
    (folder / ".git/config").symlink_to(folder.parent / "other/.git/config")


@pytest.mark.parametrize(
    "attack",
    [
        pipe_as_git,
        link_out_of_the_tree,
        file_that_points_elsewhere,
        forged_worktree,
        forged_submodule,
        huge_file_as_git,
        huge_config,
        pipe_as_config,
        config_of_another,
    ],
)
def test_what_is_no_repository_of_its_own_is_its_own_project(
    tmp_path: Path, attack: Callable[[Path], None]
) -> None:
    repository(tmp_path / "other", SHOP)
    folder = repository(tmp_path / "shop")
    attack(folder)
    assert own_project(folder)


def pipe_as_head(folder: Path) -> None:
    (folder / ".git/HEAD").unlink()
    os.mkfifo(folder / ".git/HEAD")


def pipe_as_branch(folder: Path) -> None:
    os.mkfifo(folder / ".git/refs/heads/x")
    (folder / ".git/HEAD").write_text("ref: refs/heads/x\n")


def branches_in_a_ring(folder: Path) -> None:
    (folder / ".git/HEAD").write_text("ref: refs/heads/a\n")
    (folder / ".git/refs/heads/a").write_text("ref: refs/heads/b\n")
    (folder / ".git/refs/heads/b").write_text("ref: refs/heads/a\n")


def branch_outside(folder: Path) -> None:
    (folder / ".git/HEAD").write_text("ref: refs/../../../other/.git/refs/heads/main\n")


def pipe_as_object(folder: Path) -> None:
    loose = next((folder / ".git/objects").glob("[0-9a-f]?"))
    os.mkfifo(loose / ("0" * 38))


def pipe_as_pack(folder: Path) -> None:
    name = "pack-" + "0" * 40
    os.mkfifo(folder / f".git/objects/pack/{name}.idx")
    os.mkfifo(folder / f".git/objects/pack/{name}.pack")


def objects_of_another(folder: Path) -> None:
    other = folder.parent / "other"
    shutil.rmtree(folder / ".git/objects")
    (folder / ".git/objects").symlink_to(other / ".git/objects")
    (folder / ".git/HEAD").write_text(commit_of(other))


def alternates_of_another(folder: Path) -> None:
    other = folder.parent / "other"
    (folder / ".git/objects/info").mkdir(exist_ok=True)
    (folder / ".git/objects/info/alternates").write_text(f"{other / '.git/objects'}\n")
    (folder / ".git/HEAD").write_text(commit_of(other))


@pytest.mark.parametrize(
    "attack",
    [
        pipe_as_head,
        pipe_as_branch,
        branches_in_a_ring,
        branch_outside,
        pipe_as_object,
        pipe_as_pack,
        objects_of_another,
        alternates_of_another,
    ],
)
def test_a_first_commit_that_cannot_be_told_is_none(
    tmp_path: Path, attack: Callable[[Path], None]
) -> None:
    repository(tmp_path / "other", SHOP)
    folder = repository(tmp_path / "shop")
    attack(folder)
    assert own_project(folder)


def test_a_replaced_commit_does_not_hide_the_first_one(tmp_path: Path) -> None:
    folder = repository(tmp_path / "shop")
    first = commit_of(folder)
    git(folder, "commit", "-q", "--allow-empty", "-m", "Go on")
    git(folder, "replace", "--graft", "HEAD")
    assert Folder.of(folder).first_commit() == f"commit:{first[:16]}"


@pytest.mark.parametrize("form", ["sha1", "sha256"])
def test_loose_packed_and_packed_branches_have_one_first_commit(tmp_path: Path, form: str) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q", f"--object-format={form}")
    git(folder, "commit", "-q", "--allow-empty", "-m", "Begin")
    name = f"commit:{commit_of(folder)[:16]}"
    git(folder, "checkout", "-q", "-b", "feature/ä-1")
    git(folder, "commit", "-q", "--allow-empty", "-m", "Go on")
    assert Folder.of(folder).first_commit() == name
    git(folder, "gc", "-q")
    assert Folder.of(folder).first_commit() == name
    git(folder, "checkout", "-q", "--detach")
    assert Folder.of(folder).first_commit() == name


def test_worktrees_and_submodules_that_git_made_are_read(tmp_path: Path) -> None:
    first = repository(tmp_path / "shop", SHOP)
    part = repository(tmp_path / "part", "git@github.com:acme/part.git")
    git(first, "worktree", "add", "-q", str(tmp_path / "tree"))
    git(first, "submodule", "add", "-q", str(part), "vendor/part")
    git(first / "vendor/part", "remote", "set-url", "origin", "git@github.com:acme/part.git")
    assert Folder.of(tmp_path / "tree") == Folder.of(first)
    assert Folder.of(first / "vendor/part").remote == "github.com/acme/part"
    assert Folder.of(first).remote == "github.com/acme/shop"


def test_data_beside_its_file_is_read(tmp_path: Path) -> None:
    folder = repository(tmp_path / "shop", SHOP)
    (folder / ".git").rename(folder / ".bare")
    (folder / ".git").write_text("gitdir: ./.bare\n")
    assert Folder.of(folder).remote == "github.com/acme/shop"


def test_links_that_lead_to_themselves_are_a_folder_of_its_own(tmp_path: Path) -> None:
    (folder := tmp_path / "looped").mkdir()
    (folder / ".git").symlink_to(".git")
    assert own_project(folder)
    (folder / ".git").unlink()
    (folder / "loop").symlink_to("loop")
    for pointer in ("gitdir: loop/x", "gitdir: a\0b"):
        (folder / ".git").write_text(pointer)
        assert own_project(folder)


_BROWSERS = ("www-browser", "xdg-open", "xdg-settings", "x-www-browser", "firefox", "links")


@pytest.mark.parametrize("display", ["", ":0"])
def test_no_program_of_the_repository_is_taken_for_the_browser(
    tmp_path: Path, bait: Path, display: str
) -> None:
    """It would be told the address that logs a person in."""
    folder = repository(tmp_path / "shop")
    planted = folder / "node_modules/.bin"
    for name in _BROWSERS:
        _plant(planted, name, bait)
    path = os.pathsep.join((str(planted), os.environ["PATH"]))
    code = "from mcp_reflect.children import open_browser; open_browser('http://127.0.0.1:9/')"
    environment = {**os.environ, "PATH": path, "DISPLAY": display}
    command = [sys.executable, "-c", code]
    subprocess.run(command, cwd=folder, env=environment, check=True, timeout=60)
    assert not bait.exists()


@pytest.mark.parametrize("command", ["vi", "code --wait"])
def test_no_program_of_the_repository_is_taken_for_the_editor(
    tmp_path: Path, bait: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """What an editor writes is a person's word."""
    folder = repository(tmp_path / "shop")
    planted = _plant(folder / "node_modules/.bin", command.split(maxsplit=1)[0], bait)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", str(planted))
    with pytest.raises(OSError, match="no such program on PATH"):
        children.edit_file(command, tmp_path / "lesson.toml")
    assert not bait.exists()


_COMMANDS_OF_A_FOLDER = (
    *("./ed.sh", "bin/ed.sh", "../shop/ed.sh", "FOLDER/bin/ed.sh", "LINK"),
    *("sh ./ed.sh", "sh ed.sh", "env ./ed.sh", "env sh bin/ed.sh", "sh -c 'exec ./ed.sh'"),
    *("sh -c ./ed.sh", "env -S'sh ./ed.sh'", "sh FOLDER/ed.sh", "env X=1 ./ed.sh", "sh LINK"),
)


@pytest.fixture
def baited(tmp_path: Path, bait: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with programs that nobody may start, which is worked in; a link outside leads to one."""
    folder = repository(tmp_path / "shop")
    _plant(folder, "ed.sh", bait)
    (tmp_path / "LINK").symlink_to(_plant(folder / "bin", "ed.sh", bait) / "ed.sh")
    monkeypatch.chdir(folder)
    return folder


def of_folder(command: str, folder: Path) -> str:
    link = str(folder.parent / "LINK")
    return command.replace("FOLDER", str(folder)).replace("LINK", link)


@pytest.mark.parametrize("command", [*_COMMANDS_OF_A_FOLDER, "", "'", "ed.sh"])
def test_no_path_of_an_editor_leads_into_the_repository(
    baited: Path, bait: Path, command: str
) -> None:
    with pytest.raises((OSError, ValueError)):
        children.edit_file(of_folder(command, baited), baited.parent / "lesson.toml")
    assert not bait.exists()


@pytest.mark.parametrize("command", [*_COMMANDS_OF_A_FOLDER, "'", "ed.sh"])
@pytest.mark.parametrize("form", ["{}", "{} %s", "{} %s &", "no-such-browser:{}"])
def test_no_path_of_a_browser_leads_into_the_repository(
    baited: Path, bait: Path, command: str, form: str
) -> None:
    environment = {**os.environ, "BROWSER": form.format(of_folder(command, baited))}
    code = "from mcp_reflect.children import open_browser; open_browser('http://127.0.0.1:9/')"
    subprocess.run(
        [sys.executable, "-c", code], cwd=baited, env=environment, timeout=60, check=True
    )
    assert not bait.exists()


def test_a_browser_of_the_person_by_its_whole_path_is_told_the_address(
    baited: Path, tmp_path: Path
) -> None:
    browser = tmp_path / "person" / "browser"
    browser.parent.mkdir()
    browser.write_text(f'#!/bin/sh\nprintf "%s" "$1" > {tmp_path}/told\n')
    browser.chmod(0o755)
    environment = {**os.environ, "BROWSER": f"./ed.sh %s:{browser} %s"}
    code = "from mcp_reflect.children import open_browser; open_browser('http://x/')"
    subprocess.run(
        [sys.executable, "-c", code], cwd=baited, env=environment, timeout=60, check=True
    )
    assert (tmp_path / "told").read_text() == "http://x/"


@pytest.mark.usefixtures("baited")
def test_an_editor_reads_no_settings_of_the_repository(tmp_path: Path) -> None:
    editor = tmp_path / "person" / "ed"
    editor.parent.mkdir()
    editor.write_text('#!/bin/sh\npwd > "$1"\n')
    editor.chmod(0o755)
    children.edit_file(f"{editor}", tmp_path / "lesson.toml")
    assert (tmp_path / "lesson.toml").read_text().strip() == str(children.OUR_FOLDER)


def test_an_editor_of_the_person_is_started_with_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = tmp_path / "bin" / "ed it"
    editor.parent.mkdir()
    editor.write_text('#!/bin/sh\nprintf "%s" "$1" > "$2"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join((str(editor.parent), os.environ["PATH"])))
    children.edit_file("'ed it' --wait", tmp_path / "lesson.toml")
    assert (tmp_path / "lesson.toml").read_text() == "--wait"
