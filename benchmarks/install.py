"""How long `pip install` takes and how large it is, at two commits: python -m benchmarks.install OLD [NEW].

Each round makes a fresh virtual environment for each commit and installs the package as a person would. The time is
pip's processor time (user and system), since the clock depends on the network; the size is what `du -sk` adds.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROUNDS = 3


def installed(source: Path, folder: Path) -> tuple[float, int, int]:
    """Return seconds of processor time, kilobytes, and packages of an installation in a fresh environment."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    empty, before = _kilobytes(folder), resource.getrusage(resource.RUSAGE_CHILDREN)
    pip = (str(folder / "bin" / "pip"), "--disable-pip-version-check")
    subprocess.run([*pip, "install", "-q", str(source)], check=True)
    after, size = resource.getrusage(resource.RUSAGE_CHILDREN), _kilobytes(folder) - empty
    packages = subprocess.run(
        [*pip, "list", "--format=freeze"], check=True, capture_output=True, text=True
    ).stdout
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, size, len(packages.splitlines())


def _kilobytes(folder: Path) -> int:
    return int(
        subprocess.run(
            ["du", "-sk", folder], check=True, capture_output=True, text=True
        ).stdout.split()[0]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("commits", nargs="+", metavar="COMMIT")
    for commit in parser.parse_args().commits:
        with tempfile.TemporaryDirectory() as place:
            source = Path(place) / "source"
            source.mkdir()
            archive = subprocess.run(
                ["git", "archive", commit], check=True, capture_output=True
            ).stdout
            subprocess.run(["tar", "x", "-C", source], input=archive, check=True)
            rounds = [installed(source, Path(place) / str(number)) for number in range(ROUNDS)]
        seconds, size, packages = min(rounds)
        print(f"{commit:12} {seconds:6.1f} s {size / 1024:7.1f} MB {packages:4} packages")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
