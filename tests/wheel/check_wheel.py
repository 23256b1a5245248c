"""What a person gets who installs the wheel: `python tests/wheel/check_wheel.py dist/NAME.whl`.

A script, since it needs a built wheel and a fresh environment: .ci/run makes both. It installs with
no extras, runs outside of the checkout, and stops at the first thing that is not so.
"""

import json
import os
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from email.parser import BytesParser
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).parent.parent.parent


def main(wheel: Path) -> None:
    """Check the wheel's content, then a fresh installation of it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    check_content(wheel, project["version"])
    check_versions(project["version"])
    with tempfile.TemporaryDirectory() as directory:
        check_installation(wheel, project["version"], Path(directory))


def check_content(wheel: Path, version: str) -> None:
    """The package, its type marker, the board's assets, every prompt, the licence, the README; nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        inside = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
    expected = {
        path.relative_to(ROOT).as_posix(): path for path in (ROOT / "mcp_reflect").rglob("*.py")
    }
    expected["mcp_reflect/py.typed"] = ROOT / "mcp_reflect" / "py.typed"
    for room in ("assets", "vendor"):
        found = [
            path
            for path in (ROOT / "mcp_reflect" / "dashboard" / room).rglob("*")
            if path.is_file()
        ]
        expected |= {path.relative_to(ROOT).as_posix(): path for path in found}
    prompts = ROOT / "prompts"
    for path in prompts.rglob("*.*"):
        expected[f"mcp_reflect/_prompts/{path.relative_to(prompts).as_posix()}"] = path
    for name, path in expected.items():
        if inside.get(name) != path.read_bytes():
            stop(f"{name} is not in the wheel as it is in the checkout")
    if not any(name.startswith("mcp_reflect/_prompts/") for name in inside):
        stop("there are no prompts in the wheel")
    strangers = {name.split("/")[0] for name in inside if not name.startswith("mcp_reflect/")}
    info = f"mcp_reflect_server-{version}.dist-info"
    if strangers != {info}:
        stop(f"the wheel installs more than the package: {sorted(strangers - {info})}")
    if f"{info}/licenses/LICENSE" not in inside:
        stop("the licence is not in the wheel")
    readme = BytesParser().parsebytes(inside[f"{info}/METADATA"]).get_payload()
    if f"mcp-name: {server()['name']}" not in str(readme):
        stop("the README in the wheel does not carry the registry's name")
    say(f"{wheel.name}: {len(inside)} files, {wheel.stat().st_size} bytes")


def check_versions(version: str) -> None:
    """server.json announces what is in the wheel; an image has its version behind its name."""
    described = server()
    packages = described["packages"]
    announced = (one.get("version") or one["identifier"].rpartition(":")[2] for one in packages)
    versions = {described["version"], *announced}
    if versions != {version}:
        stop(f"server.json says {sorted(versions)}, pyproject.toml {version}")


def check_installation(wheel: Path, version: str, directory: Path) -> None:
    """A fresh environment, made with uv if UV names it, the wheel alone, and the command in it."""
    scripts = directory / "venv" / ("Scripts" if os.name == "nt" else "bin")
    python, package = str(scripts / "python"), str(wheel.resolve())
    if uv := os.environ.get("UV"):  # .ci/run has it: it takes seconds where pip takes half a minute
        run(uv, "venv", "-q", "--python", sys.executable, str(directory / "venv"), cwd=directory)
        run(uv, "pip", "install", "-q", "--python", python, package, cwd=directory)
    else:
        run(sys.executable, "-m", "venv", str(directory / "venv"), cwd=directory)
        run(python, "-m", "pip", "install", "-q", package, cwd=directory)
    command = str(scripts / "mcp-reflect")
    if version not in (said := run(command, "--version", cwd=directory)):
        stop(f"mcp-reflect --version said {said!r}")
    if run(str(scripts / "python"), "-m", "mcp_reflect", "--version", cwd=directory) != said:
        stop("python -m mcp_reflect is another command than mcp-reflect")
    if not isinstance(json.loads(run(command, "doctor", "--json", cwd=directory)), dict):
        stop("mcp-reflect doctor --json printed no JSON object")
    run(command, "demo", cwd=directory)
    run(command, "board", "--out", "board.html", cwd=directory)
    say("mcp-reflect --version, doctor, demo and board run from a fresh installation")


def run(*command: str, cwd: Path) -> str:
    """What a command prints. One that fails ends the check, with all that it said."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "MCP_REFLECT"))
    }
    env = {**inherited, "MCP_REFLECT_BANK": str(cwd / "bank.db")}
    done = subprocess.run(
        command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    if done.returncode != 0:
        said = (done.stdout + done.stderr).decode(errors="replace")
        stop(f"{' '.join(command)} ended with {done.returncode}:\n{said}")
    return done.stdout.decode().strip()


def server() -> dict[str, Any]:
    """The registry's description of this server."""
    return json.loads((ROOT / "server.json").read_text(encoding="utf-8"))


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def stop(fault: str) -> NoReturn:
    sys.exit(f"wheel: {fault}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
