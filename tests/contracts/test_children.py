"""Every process of the package is started by `children`, and none runs code of the folder that is worked in."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import mcp_reflect
from mcp_reflect import children
from mcp_reflect.search_path import find_program

PACKAGE = Path(mcp_reflect.__file__).parent
STARTS = {
    *("create_subprocess_exec", "create_subprocess_shell", "subprocess_exec", "subprocess_shell"),
    *("Popen", "ProcessPoolExecutor", "popen", "fork", "forkpty", "startfile"),
    *(
        "posix_spawn",
        "posix_spawnp",
        "open_process",
        "run_process",
        "to_process",
        "StdioServerParameters",
    ),
    *(
        f"{kind}{form}"
        for kind in ("exec", "spawn")
        for form in ("l le lp lpe v ve vp vpe".split())
    ),
}
"""Names by which Python and the libraries that we use start a process, whatever they are imported as."""

MODULES = {"subprocess", "multiprocessing", "pty"}
ALLOWED = {"children.py"}


def starts_in(source: str) -> list[str]:
    """The names in a module by which it could start a process."""
    found: list[str] = []
    if not any(word in source for word in (*STARTS, *MODULES, "system")):
        return found
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                found += [one.name for one in names if one.name.partition(".")[0] in MODULES]
            case ast.ImportFrom(module=str(module), names=names):
                found += [module] if module.partition(".")[0] in MODULES else []
                found += [one.name for one in names if one.name in (*STARTS, "system")]
            case ast.Attribute(value=ast.Name(id="os"), attr="system"):
                found.append("system")
            case ast.Attribute(attr=name) if name in STARTS:
                found.append(name)
            case ast.Constant(value="subprocess" | "multiprocessing"):
                found.append("a module by its name")
            case _:
                pass
    return found


def test_no_other_module_starts_a_process() -> None:
    found = {
        str(file.relative_to(PACKAGE)): starts
        for file in PACKAGE.rglob("*.py")
        if file.name not in ALLOWED and (starts := starts_in(file.read_text("utf-8")))
    }
    # Its parameters are those of `children.server_parameters`.
    assert found == {"server/stdio.py": ["StdioServerParameters"]}
    stdio = (PACKAGE / "server" / "stdio.py").read_text("utf-8")
    assert "StdioServerParameters(**children.server_parameters(" in stdio


@pytest.mark.parametrize(
    "line",
    [
        "import subprocess",
        "from subprocess import run as f",
        "import multiprocessing.pool",
        "import os; os.execv('x', [])",
        "from os import system",
        "import asyncio; asyncio.create_subprocess_exec('x')",
        "from asyncio import create_subprocess_exec as start",
        "from concurrent.futures import ProcessPoolExecutor",
        "from anyio import run_process",
        "__import__('subprocess').run('x')",
    ],
)
def test_the_contract_sees_each_way(line: str) -> None:
    assert starts_in(line)


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that brings modules of the names that our processes import, and variables that point to it."""
    folder = tmp_path / "hostile"
    bad = f"open({str(tmp_path / 'PWNED')!r}, 'w'); raise SystemExit(9)"
    for name in (
        "mcp_reflect",
        "mcp",
        "pydantic",
        "aiosqlite",
        "sitecustomize",
        "usercustomize",
        "json",
    ):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(bad)
        (folder / name / "__main__.py").write_text(bad)
    (folder / "startup.py").write_text(bad)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.setenv("PYTHONSTARTUP", str(folder / "startup.py"))
    monkeypatch.setenv("PYTHONHOME", str(folder))
    monkeypatch.setenv("PYTHONINSPECT", "1")
    return folder


def test_our_command_runs_nothing_of_the_folder(hostile: Path) -> None:
    done = subprocess.run(
        children.our_command("--version"), cwd=hostile, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, f"mcp-reflect {mcp_reflect.__version__}\n"), done
    assert not (hostile.parent / "PWNED").exists()


async def test_a_worker_and_a_background_process_run_nothing_of_the_folder(hostile: Path) -> None:
    worker = await children.start_worker("mcp_reflect.services.session_workers", 1 << 20)
    out, _ = await worker.communicate(b'["/none", "codex"]\n')
    assert json.loads(out)["found"] == []
    errors = hostile.parent / "errors"
    assert children.start_in_background(["--version"], errors).wait(30) == 0
    assert errors.read_text() == ""
    assert not (hostile.parent / "PWNED").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="it is read on other systems")
def test_a_child_takes_no_folder_of_libraries_from_a_variable_that_python_reads_isolated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python 3.11 and later read PYTHONEXECUTABLE in spite of `-E` and `-I`, and then `pyvenv.cfg` beside it."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    libraries = tmp_path / "shop" / "lib" / version / "site-packages"
    libraries.mkdir(parents=True)
    bait = tmp_path / "PWNED"
    (libraries / "evil.pth").write_text(f"import os; open({str(bait)!r}, 'w')\n")
    home = Path(sys.executable).resolve().parent
    (tmp_path / "shop" / "pyvenv.cfg").write_text(f"home = {home}\n")
    monkeypatch.setenv("PYTHONEXECUTABLE", str(tmp_path / "shop" / "bin" / "python"))
    subprocess.run([sys.executable, "-I", "-c", ""], check=True)
    assert bait.exists()
    bait.unlink()
    errors = tmp_path / "errors"
    assert children.start_in_background(["--version"], errors).wait(30) == 0
    assert not bait.exists()


def test_a_package_that_a_variable_found_is_found_again(tmp_path: Path) -> None:
    """The package lies in a folder that no installation names, as in an archive."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "mcp_reflect").symlink_to(PACKAGE)
    start = tmp_path / "lib" / "mcp_reflect" / "isolated.py"
    command = [sys.executable, "-I", "-S", str(start), "mcp_reflect.places"]
    assert subprocess.run(command, cwd=tmp_path, check=False).returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="links")
def test_errors_are_not_written_through_a_link(tmp_path: Path) -> None:
    (kept := tmp_path / "kept").write_text("mine")
    (tmp_path / "log").symlink_to(kept)
    with pytest.raises(OSError, match="log"):
        children.start_in_background(["--version"], tmp_path / "log")
    assert kept.read_text() == "mine"


def test_a_program_is_found_in_the_whole_folders_of_path_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "tool.exe" if sys.platform == "win32" else "tool"
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text("#!/bin/sh\n")
        (tmp_path / folder / name).chmod(0o755)
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("PATH", "." if sys.platform == "win32" else ":.:")
    assert find_program("tool") is None
    monkeypatch.setenv("PATH", str(tmp_path / "there"))
    assert find_program("tool") == str(tmp_path / "there" / name)
