"""The page of figures, which several benchmarks may write at once."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.__main__ import SECTIONS, Section, beside, sections_of, write


def test_benchmarks_that_end_at_once_all_keep_their_figures(tmp_path: Path) -> None:
    page = tmp_path / "benchmarks.md"
    with ThreadPoolExecutor(len(SECTIONS)) as threads:
        for section in SECTIONS:
            threads.submit(write, section, f"figures of {section.name}\n", page)
    assert sections_of(page.read_text()) == {each.title: f"figures of {each.name}\n" for each in SECTIONS}


def test_a_benchmark_that_runs_again_replaces_its_own_section_alone(tmp_path: Path) -> None:
    page = tmp_path / "benchmarks.md"
    first, second = SECTIONS[:2]
    for section, text in ((second, "old\n"), (first, "kept\n"), (second, "new\n")):
        write(section, text, page)
    assert list(sections_of(page.read_text()).items()) == [(first.title, "kept\n"), (second.title, "new\n")]


def test_a_section_that_a_person_wrote_stays(tmp_path: Path) -> None:
    page = tmp_path / "benchmarks.md"
    write(SECTIONS[0], "figures\n", page)
    with page.open("a", encoding="utf-8") as file:
        file.write("\n## By hand\n\nread by a person\n")
    write(SECTIONS[1], "more figures\n", page)
    assert sections_of(page.read_text())["By hand"] == "read by a person\n"


def test_what_is_measured_now_stands_behind_the_last_figures_and_the_page_stays(tmp_path: Path) -> None:
    page = tmp_path / "benchmarks.md"
    section = Section("path", "Path", "Files.", ("start", "--help"))
    write(section, "last figures\n", page)
    before = page.read_text()
    last, _, now = beside(section, page).partition("## Path: now")
    assert "last figures" in last
    assert "usage:" in now
    assert page.read_text() == before
