"""`promote`: proven lessons and a person's in a block of an instruction file, of which nothing else is ever touched."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.models.lesson import Lesson, Source, Trust
from mcp_reflect.models.warning import HookInput
from mcp_reflect.moments.texts import KEEP
from mcp_reflect.services import hooks
from mcp_reflect.services.engine import Engine
from mcp_reflect.services.hook_events import read_hook
from mcp_reflect.services.lesson_blocks import block_of
from mcp_reflect.services.promote import MOST_LINES
from mcp_reflect.text.signature import digest
from tests.cli.commands import Command

RULE = "Run `make migrate` before `make test`"
OTHER = "Deploy on a Tuesday morning"
OWN = "# Shop\n\nUse pnpm.\n"


@pytest.fixture
def project(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    for text in (RULE, OTHER):
        command.by_person("lessons", "add", "--mistake", "It failed", "--correction", text)
    return folder


def ids(command: Command) -> dict[str, str]:
    return {one["correction"]: one["id"] for one in command.json("lessons", "list")}


def test_a_block_is_written_after_what_the_file_has_and_taken_out_again(
    command: Command, project: Path
) -> None:
    for text in (OWN, "no line end", "", "\ufeff# mark\r\nwindows\r\n", "latin \udce9\n"):
        content = text.encode("utf-8", "surrogateescape")
        (project / "CLAUDE.md").write_bytes(content)
        shown = command.by_person("promote", "CLAUDE.md", "--yes")
        written = (project / "CLAUDE.md").read_bytes()
        assert written.startswith(content)
        assert RULE.encode() in written
        assert f"+- It failed. {RULE}" in shown
        assert (b"\r\n" in content) == (b"\n" in content and b"\r\n- It failed" in written)
        assert "nothing changes" in command.by_person("promote", "CLAUDE.md", "--yes")
        command.by_person("promote", "--undo", "--yes")
        assert (project / "CLAUDE.md").read_bytes() == content


def test_a_file_that_was_made_for_the_block_is_removed_with_it(
    command: Command, project: Path
) -> None:
    for words, made in (
        (["GEMINI.md"], "GEMINI.md"),
        ([".cursor/rules"], ".cursor/rules/mcp-reflect.mdc"),
        (["QWEN.md"], "QWEN.md"),
        (["copilot-instructions.md"], ".github/copilot-instructions.md"),
        ([".clinerules"], ".clinerules/mcp-reflect.md"),
    ):
        command.by_person("promote", *words, "--yes")
        assert RULE in (project / made).read_text()
        command.by_person("promote", *words, "--undo", "--yes")
        assert not (project / made).exists()


def test_rules_of_cline_may_be_one_file(command: Command, project: Path) -> None:
    (project / ".clinerules").write_text(OWN)
    command.by_person("promote", ".clinerules", "--yes")
    assert RULE in (project / ".clinerules").read_text()
    command.by_person("promote", ".clinerules", "--undo", "--yes")
    assert (project / ".clinerules").read_text() == OWN


def test_without_a_name_the_files_that_are_there_are_written(
    command: Command, project: Path
) -> None:
    (project / "AGENTS.md").write_text(OWN)
    command.by_person("promote", "--yes")
    assert RULE in (project / "AGENTS.md").read_text()
    assert not (project / "CLAUDE.md").exists()


def test_only_a_person_s_and_proven_lessons_are_promoted_unless_one_is_named(
    command: Command, project: Path
) -> None:
    lines = [{"mistake": "Fed the emu", "correction": "Feed it twice"}]
    command("import", command.file("lessons.jsonl", lines))
    command.by_person("promote", "CLAUDE.md", "--yes")
    assert "emu" not in (project / "CLAUDE.md").read_text()
    (emu,) = [one["id"] for one in command.json("lessons", "list") if "emu" in one["text"]]
    command.by_person("promote", "CLAUDE.md", "--lesson", emu, "--yes")
    assert "emu" in (project / "CLAUDE.md").read_text()


def test_what_the_file_says_already_is_left_out(command: Command, project: Path) -> None:
    (project / "CLAUDE.md").write_text(f"{OWN}- {RULE}.\n")
    record = command.json("promote", "--yes")
    assert [one["reason"] for one in record["left_out"]] == ["CLAUDE.md says it already"]
    assert (
        command.by_person("promote", "--yes").count(": left out, CLAUDE.md says it already.") == 1
    )
    assert (project / "CLAUDE.md").read_text().count(RULE) == 1


def test_a_block_has_at_most_forty_lines(command: Command, project: Path) -> None:
    for number in range(45):
        command.by_person(
            "lessons",
            "add",
            "--mistake",
            f"Fed animal {number}",
            "--correction",
            f"Animal {number} eats {number * 7} nuts",
        )
    command.by_person("promote", "CLAUDE.md", "--yes")
    assert len((project / "CLAUDE.md").read_text().splitlines()) == MOST_LINES


def test_the_block_keeps_in_step_with_its_lessons(command: Command, project: Path) -> None:
    (project / "CLAUDE.md").write_text(OWN)
    command.by_person("promote", "--yes")
    known = ids(command)
    command.by_person("lessons", "edit", known[RULE], "--correction", "Run `make db` first")
    text = (project / "CLAUDE.md").read_text()
    assert "Run `make db` first" in text
    assert RULE not in text
    command.by_person("lessons", "forget", known[RULE])
    assert "make db" not in (project / "CLAUDE.md").read_text()
    command.by_person("lessons", "erase", known[OTHER], "--yes")
    assert (project / "CLAUDE.md").read_text() == OWN


def test_a_block_that_a_colleague_s_bank_wrote_is_left_alone(
    command: Command, project: Path
) -> None:
    command.by_person("promote", "CLAUDE.md", "--yes")
    of_colleague = OWN + block_of(["- Lock the till", "- Count the stock", "- Close at six"])
    (project / "CLAUDE.md").write_text(of_colleague)
    command.by_person("lessons", "edit", ids(command)[RULE], "--correction", "Run make all")
    assert (project / "CLAUDE.md").read_text() == of_colleague


def test_three_lessons_of_one_subject_become_a_skill(command: Command, project: Path) -> None:
    assert "a skill takes 3" in command.by_person("promote", "--skill", "deploy", "--yes", code=2)
    for number in range(3):
        command.by_person("lessons", "add", "--correction", f"Tell team {number} before", "--mistake", f"Told nobody {number}",
                "--task-type", "deploy")  # fmt: skip
    command.by_person("promote", "--skill", "Deploy", "--yes")
    skill = project / ".claude" / "skills" / "deploy" / "SKILL.md"
    assert skill.read_text().startswith(
        "---\nname: deploy\ndescription: What was learned about Deploy"
    )
    assert "Tell team 2 before" in skill.read_text()
    command.by_person("promote", "--undo", "--yes")
    assert not skill.parent.exists()


BEGIN = "<!-- mcp-reflect: lessons 0123456789ab -->\n"
END = "<!-- mcp-reflect: end -->\n"
BROKEN: dict[str, tuple[str, str]] = {
    "begins twice": (
        f"{BEGIN}{BEGIN}- x\n{END}",
        "has 2 start markers of our block and 1 end markers",
    ),
    "ends twice": (f"{BEGIN}- x\n{END}{END}", "has 1 start markers of our block and 2 end markers"),
    "no end": (f"{BEGIN}- x\n", "has 1 start markers of our block and 0 end markers"),
    "the wrong way round": (f"{END}{BEGIN}- x\n", "start markers of our block"),
    "edited inside": (
        f"{BEGIN}- my own line\n{END}",
        "somebody edited our block in CLAUDE.md by hand",
    ),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_block_that_is_not_as_we_wrote_it_is_left_alone(
    command: Command, project: Path, fault: str
) -> None:
    text, said = BROKEN[fault]
    (project / "CLAUDE.md").write_text(text)
    assert said in command.by_person("promote", "CLAUDE.md", "--yes", code=2)
    assert (project / "CLAUDE.md").read_text() == text


def test_a_block_that_a_person_edited_stays_when_a_lesson_changes_or_is_undone(
    command: Command, project: Path
) -> None:
    command.by_person("promote", "CLAUDE.md", "--yes")
    edited = (project / "CLAUDE.md").read_text().replace(OTHER, f"{OTHER}, never later")
    (project / "CLAUDE.md").write_text(edited)
    command.by_person("lessons", "edit", ids(command)[RULE], "--correction", "Run `make db` first")
    assert "by hand" in command.by_person("promote", "--undo", "--yes", code=2)
    assert (project / "CLAUDE.md").read_text() == edited


def test_lines_that_were_added_after_a_block_stay_lines_of_their_own(
    command: Command, project: Path
) -> None:
    (project / "CLAUDE.md").write_text("no line end")
    command.by_person("promote", "CLAUDE.md", "--yes")
    with (project / "CLAUDE.md").open("a") as file:
        file.write("my new line\n")
    command.by_person("promote", "--undo", "--yes")
    assert (project / "CLAUDE.md").read_text() == "no line end\nmy new line\n"


def test_a_link_inside_the_project_is_written_through_and_one_out_of_it_refused(
    command: Command, project: Path
) -> None:
    (project / "AGENTS.md").write_text(OWN)
    (project / "CLAUDE.md").symlink_to("AGENTS.md")
    command.by_person("promote", "--yes")
    assert (project / "CLAUDE.md").is_symlink()
    assert (project / "AGENTS.md").read_text().count(RULE) == 1
    outside = project.parent / "mine.md"
    outside.write_text("mine")
    (project / "GEMINI.md").symlink_to(outside)
    assert "a link out of the project" in command.by_person("promote", "GEMINI.md", "--yes", code=2)
    assert outside.read_text() == "mine"


@pytest.mark.parametrize(
    "marker",
    [
        "<!-- mcp-reflect: end -->",
        "<!<!---- mcp-reflect: end ---->>",
        "<!-- mcp-reflect: lessons 0123456789ab -->",
        "<!--<!-- mcp-reflect: end -->-->",
        "-->",
    ],
)
def test_a_lesson_holds_none_of_our_markers(command: Command, project: Path, marker: str) -> None:
    (project / "CLAUDE.md").write_text(OWN)
    command.by_person(
        "lessons", "add", "--mistake", f"It said {marker} x", "--correction", "Write it down"
    )
    command.by_person("promote", "CLAUDE.md", "--yes")
    assert "nothing changes" in command.by_person("promote", "CLAUDE.md", "--yes")
    assert (project / "CLAUDE.md").read_text().count("<!-- mcp-reflect: ") == 2
    command.by_person("promote", "--undo", "--yes")
    assert (project / "CLAUDE.md").read_text() == OWN


def test_a_block_with_a_marker_in_a_lesson_of_an_earlier_release_is_found(
    command: Command, project: Path
) -> None:
    (project / "CLAUDE.md").write_text(OWN)
    command.by_person("promote", "CLAUDE.md", "--yes")
    body = "\n## Lessons of this project\n- It said <!-- mcp-reflect: end --> x\n"
    block = f"<!-- mcp-reflect: lessons {digest(body.strip(), 12)}, old -->{body}{END}"
    (project / "CLAUDE.md").write_text(f"{OWN}\n{block}")
    command.by_person("promote", "--undo", "--yes")
    assert (project / "CLAUDE.md").read_text() == OWN


@pytest.mark.skipif(os.name != "posix", reason="links")
def test_a_link_planted_under_the_name_of_a_draft_is_not_written_through(
    command: Command, project: Path
) -> None:
    (outside := project.parent / "mine.md").write_text("mine")
    for name in (f".CLAUDE.md.{os.getpid()}", ".CLAUDE.md"):
        (project / name).symlink_to(outside)
    command.by_person("promote", "CLAUDE.md", "--yes")
    assert outside.read_text() == "mine"
    assert RULE in (project / "CLAUDE.md").read_text()


@pytest.mark.parametrize("coding", ["utf-16", "utf-16-le"])
def test_a_file_in_utf_16_is_refused_by_name(command: Command, project: Path, coding: str) -> None:
    (project / "CLAUDE.md").write_bytes(content := OWN.encode(coding))
    assert "CLAUDE.md is not UTF-8" in command.by_person("promote", "CLAUDE.md", "--yes", code=2)
    assert (project / "CLAUDE.md").read_bytes() == content


@pytest.mark.parametrize("line", ["@AGENTS.md", "@./AGENTS.md", "See @AGENTS.md."])
def test_a_file_that_imports_another_gets_no_second_block(
    command: Command, project: Path, line: str
) -> None:
    (project / "AGENTS.md").write_text(OWN)
    (project / "CLAUDE.md").write_text(f"# Shop\n\n{line}\n")
    command.by_person("promote", "--yes")
    assert RULE in (project / "AGENTS.md").read_text()
    assert RULE not in (project / "CLAUDE.md").read_text()
    assert "has the lessons already" in command.by_person("promote", "CLAUDE.md", "--yes", code=2)
    command.by_person("promote", "--undo", "--yes")
    command.by_person("promote", "CLAUDE.md", "--yes")
    assert "has the lessons already" in command.by_person("promote", "AGENTS.md", "--yes", code=2)


@pytest.mark.parametrize(
    "line",
    ["```\n@AGENTS.md\n```", "<!-- @AGENTS.md -->", "`@AGENTS.md`", "@AGENTS.mdx", "@ AGENTS.md"],
)
def test_a_file_that_only_names_another_gets_its_own_block(
    command: Command, project: Path, line: str
) -> None:
    (project / "AGENTS.md").write_text(OWN)
    (project / "CLAUDE.md").write_text(f"# Shop\n\n{line}\n")
    command.by_person("promote", "--yes")
    for name in ("AGENTS.md", "CLAUDE.md"):
        assert "mcp-reflect: lessons" in (project / name).read_text()


def test_a_file_that_is_read_only_or_no_file_is_refused(command: Command, project: Path) -> None:
    (project / "CLAUDE.md").write_text(OWN)
    (project / "CLAUDE.md").chmod(0o444)
    (project / "AGENTS.md").mkdir()
    assert "is read-only" in command.by_person("promote", "CLAUDE.md", "--yes", code=2)
    assert "is not a file" in command.by_person("promote", "AGENTS.md", "--yes", code=2)
    assert (project / "CLAUDE.md").read_text() == OWN


def test_nobody_to_ask_and_nothing_to_do_are_said(command: Command, project: Path) -> None:
    (project / "CLAUDE.md").write_text(OWN)
    assert "only a person may write lessons into a project's files" in command("promote", code=2)
    assert "only a person may write" in command("promote", "--yes", code=2)
    assert "nothing of this project was promoted" in command.by_person(
        "promote", "--undo", "--yes", code=2
    )
    for name in ids(command).values():
        command.by_person("lessons", "forget", name)
    assert "there is nothing to promote" in command.by_person("promote", "--yes", code=2)
    assert (project / "CLAUDE.md").read_text() == OWN


def test_a_person_sees_the_change_and_may_decline(command: Command, project: Path) -> None:
    assert RULE in command.at_terminal("promote", "CLAUDE.md", typed="n\n", code=1)
    assert not (project / "CLAUDE.md").exists()


def test_hooks_do_not_tell_again_what_the_host_s_file_says(command: Command, project: Path) -> None:
    def told(name: str, event: str, **more: Any) -> str:
        sent = read_hook(event, {"session_id": name, "cwd": str(project), **more})
        assert sent is not None
        return asyncio.run(answer(sent))

    async def answer(sent: HookInput) -> str:
        async with Engine(
            Settings(bank=Path(os.environ["MCP_REFLECT_BANK"]), project="app")
        ) as engine:
            return (await hooks.answer(engine.context, sent))[0] or ""

    test = {"prompt": "run make test after make migrate"}
    (lesson,) = [one for one in command.json("lessons", "list") if RULE in one["text"]]
    command.by_person("lessons", "pin", lesson["id"])
    assert RULE in told("a", "SessionStart")
    assert RULE in told("a2", "UserPromptSubmit", **test)
    command.by_person("promote", "CLAUDE.md", "--yes")
    assert told("b", "SessionStart") == KEEP
    assert RULE not in told("b2", "UserPromptSubmit", **test)
    assert RULE in told("c", "SessionStart", transcript_path="/home/ada/.codex/sessions/x.jsonl")
    assert RULE in told("d", "sessionStart")


def test_a_confirmed_lesson_of_an_agent_is_promoted_too(command: Command, project: Path) -> None:
    async def confirm() -> Lesson:
        async with Engine(
            Settings(bank=Path(os.environ["MCP_REFLECT_BANK"]), project="app")
        ) as engine:
            stored = await engine.store_lesson(
                mistake="Fed the wombat", correction="Feed it once a day"
            )
            confirmed = {"trust": Trust.CONFIRMED}
            await engine.bank.lessons.edit(engine.scopes.own, stored.lesson_id, confirmed)
            return await engine.bank.lessons.get(engine.scopes.own, stored.lesson_id)

    lesson = asyncio.run(confirm())
    assert (lesson.trust, lesson.source) == (Trust.CONFIRMED, Source.AGENT)
    command.by_person("promote", "CLAUDE.md", "--yes")
    assert "Feed it once a day" in (project / "CLAUDE.md").read_text()


def test_an_agents_change_of_a_promoted_lesson_leaves_the_file_and_a_persons_changes_it(
    command: Command, project: Path
) -> None:
    async def run(work: Callable[[Engine], Awaitable[Any]]) -> Any:
        settings = Settings(bank=Path(os.environ["MCP_REFLECT_BANK"]), project="app")
        async with Engine(settings) as engine:
            return await work(engine)

    async def confirmed(engine: Engine) -> str:
        stored = await engine.store_lesson(
            mistake="Fed the wombat", correction="Feed the wombat once a day"
        )
        own, trust = engine.scopes.own, {"trust": Trust.CONFIRMED}
        await engine.bank.lessons.edit(own, stored.lesson_id, trust)
        return stored.lesson_id

    lesson_id = asyncio.run(run(confirmed))
    command.by_person("promote", "CLAUDE.md", "--yes")
    file = project / "CLAUDE.md"
    promoted = file.read_bytes()
    asyncio.run(run(lambda engine: engine.edit_lesson(lesson_id, {"correction": "Feed it gravel"})))
    assert file.read_bytes() == promoted
    asyncio.run(run(lambda engine: engine.forget_lesson(lesson_id=lesson_id, reason="outdated")))
    assert file.read_bytes() == promoted
    command.by_person("lessons", "add", "--mistake", "Slept", "--correction", "Stay awake")
    assert file.read_bytes() == promoted
    command.by_person("lessons", "restore", lesson_id)
    assert "Feed it gravel" in file.read_text()
    command.by_person("lessons", "forget", lesson_id)
    assert "wombat" not in file.read_text()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no such files")
def test_a_pipe_in_the_place_of_a_file_keeps_nobody_waiting(
    command: Command, project: Path
) -> None:
    command.by_person("promote", "CLAUDE.md", "--yes")
    (project / "CLAUDE.md").unlink()
    os.mkfifo(project / "CLAUDE.md")
    command.by_person("lessons", "forget", ids(command)[RULE])
    assert RULE not in ids(command)
    assert "CLAUDE.md is not a file" in command("promote", "CLAUDE.md", "--yes", code=2)
    (project / "AGENTS.md").write_text(OWN)
    command.by_person("promote", "AGENTS.md", "--yes")
    assert OTHER in (project / "AGENTS.md").read_text()
