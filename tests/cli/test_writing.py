"""A file that is replaced whole is the old one or the new one, whatever happens in between."""

from pathlib import Path

import pytest

from mcp_reflect.cli.common import replacing


def test_the_file_is_the_old_one_until_the_last_word_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old", "utf-8")
    with replacing(path, 0o640) as file:
        file.write("new\r\n")
        file.flush()
        assert path.read_text("utf-8") == "old"
    assert path.read_bytes() == b"new\r\n"
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old", "utf-8")

    def interrupted() -> None:
        with replacing(path) as file:
            file.write("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text("utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]
