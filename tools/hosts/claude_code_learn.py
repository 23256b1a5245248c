"""A new user's past sessions in the real Claude Code: `python -m tools.hosts.claude_code_learn DIR`.

DIR is where npm installed it; a scripted endpoint on loopback plays the model. In a home with thirty sessions of three
hosts a person runs `learn`, decides in `lessons review` at a terminal, and promotes what they kept into CLAUDE.md. The
next session of Claude Code has it in its first request, once, though hooks are installed; after the undo it has not.
"""

import json
import sys

from tests.cli.typed import OURS, Person
from tests.sessions.past_home import RULE as PERSONS_RULE
from tests.sessions.past_home import thirty
from tools.hosts.claude_code_lessons import Reader, session
from tools.hosts.scripted_anthropic import serve
from tools.hosts.trying import Home, binary, clean_home, held, step

RULE = "Run `make migrate` before `make test`."
PROMPT = "make test fails: database is not migrated"
DONE = {"type": "text", "text": "Done."}


def main() -> int:
    """Play the sitting; see the module."""
    program = binary("@anthropic-ai/claude-code-*/claude")
    model = Reader()
    server = serve(model)
    url = f"http://127.0.0.1:{server.server_port}"
    try:
        with clean_home("claude-code-learn") as home:
            home.reflect("install", "claude-code", "--yes", "--hooks")
            thirty(home.folder, home.project)
            with step("learn reads thirty sessions"):
                said = home.reflect("learn")
                held("Read 30 sessions" in said, said)
                held(
                    "6 times in 6 sessions" in said,
                    "a failure that came back is one finding with its count",
                )
            with step("review"):
                decide(home)
                kept = {lesson["correction"] for lesson in home.lessons()}
                held(kept == {RULE, PERSONS_RULE}, f"what was kept is a lesson: {kept}")
            with step("promote"):
                (home.project / "CLAUDE.md").write_text("# Shop\n")
                home.by_person(*OURS, "promote", "--yes")
            for told, what in (
                (1, "the next session has it once"),
                (0, "after the undo it is not in the file"),
            ):
                with step(what):
                    requests = session(program, home, url, model, [DONE], PROMPT)
                    sent = json.dumps(requests[0]["messages"])
                    held(("## Lessons of this project" in sent) == bool(told), what)
                    held(
                        sent.count(RULE) == 1,
                        f"it is told {sent.count(RULE)} times, by the file or by a hook",
                    )
                if told:
                    home.by_person(*OURS, "promote", "--undo", "--yes")
                    held(
                        (home.project / "CLAUDE.md").read_text() == "# Shop\n",
                        "the file is as it was",
                    )
    finally:
        server.shutdown()
    return 0


def decide(home: Home) -> None:
    """Decide what waits at a terminal: drop the first, undo it, then keep both in a person's own words."""
    words = ("env", "-C", str(home.project), sys.executable, "-m", "mcp_reflect")
    person = Person(["lessons", "review"], home.env, program=words)
    person.until("1 of 2.")
    person.types("d", "2 of 2.")
    person.types("u", "1 of 2.")
    question = "What should another session know?"
    person.types("k", question)
    person.types(PERSONS_RULE, "kept as")
    person.types("k", question)
    person.types(RULE, "kept as")
    held(person.leaves() == 0, "the review ends")


if __name__ == "__main__":
    sys.exit(main())
