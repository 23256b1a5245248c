"""Programs that start others, and what they give them: all that is started is found, with its own words."""

import pytest

from mcp_reflect.guards.call import Call
from mcp_reflect.guards.guard import parse_guard
from mcp_reflect.guards.matching import matches
from mcp_reflect.shell import read_script

GUARD = parse_guard("Bash: `rm` with `-rf`")


def is_met(text: str) -> bool:
    return matches(GUARD, Call("Bash", {"command": text}))


@pytest.mark.parametrize(
    "text",
    [
        # all that find and its kin start
        "find . -exec grep -q x {} \\; -exec rm -rf {} \\;",
        "find . -exec rm -rf {} + -exec ls {} +",
        "find a -name b -execdir sh -c 'ls' \\; -execdir rm -rf {} ';'",
        "sudo find . -ok echo {} \\; -ok rm -rf {} \\;",
        "find . -exec env A=1 rm -rf {} \\; -print -exec ls {} \\;",
        "find . -exec sh -c 'rm -rf \"$1\"' _ {} \\; -exec ls \\;",
        "fd -e tmp -x rm -rf {}",
        "fd pattern --exec-batch rm -rf",
        # words of the shell that the parser takes for programs
        "time { rm -rf x; }",
        "time -p { ls; rm -rf x; }",
        "time ! rm -rf x",
        "! ! ! rm -rf x",
        "! { rm -rf x; }",
        "coproc { rm -rf x; }",
        "coproc X { rm -rf x; }",
        "coproc X while a; do rm -rf x; done",
        "time if a; then rm -rf x; fi",
        "time while rm -rf x; do ls; done",
        # many programs one by another
        "sudo " * 20 + "rm -rf x",
        "! " * 20 + "rm -rf x",
        "runuser -u root -- rm -rf x",
        "runuser root -c 'rm -rf x'",
        "setpriv --reuid 1000 --clear-groups rm -rf x",
        "gosu root rm -rf x",
        "arch -x86_64 rm -rf x",
        "arch -arm64e rm -rf x",
        "prlimit --nofile=10 rm -rf x",
        "fakeroot -- rm -rf x",
        "sshpass -p x ssh host rm -rf x",
        "lxc exec web -- rm -rf x",
        # backticks in a here-document
        "cat <<EOF\na `rm -rf x` b\nEOF",
        "cat <<EOF\n```\nrm -rf x\n```\nEOF",
        "cat <<EOF\n`ls` \\` `echo \\`rm -rf x\\``\nEOF",
        # options in clusters, the last with a value
        "sudo -iu root rm -rf x",
        "sudo -nHu deploy rm -rf x",
        "sudo -uroot rm -rf x",
        "xargs -rn 1 rm -rf",
        "xargs -0I{} rm -rf {}",
        "watch -dn 5 rm -rf x",
        "ssh -vp 22 host rm -rf x",
        "docker exec -itu root web rm -rf x",
        "env -iu HOME rm -rf x",
        "flock -xw 5 /tmp/lock rm -rf x",
        # the options of shells
        "bash -euo pipefail -c 'rm -rf x'",
        "bash -c -e 'rm -rf x'",
        "bash --norc --rcfile a -c 'rm -rf x'",
        "bash -O extglob -xc 'rm -rf x'",
        "bash +x -c 'rm -rf x' name a",
        "sh -ec 'rm -rf x'",
        "echo 'rm -rf x' | bash -o pipefail",
        "echo 'rm -rf x' | bash -s a b",
        "echo 'rm -rf x' | sh /dev/stdin",
        "su root -c 'rm -rf x'",
        "su -lc 'rm -rf x' root",
        ". /dev/stdin <<< 'rm -rf x'",
        "echo 'rm -rf x' | source /dev/stdin",
        "ssh host <<'EOF'\nrm -rf x\nEOF",
        "bash <<EOF\n\\rm -rf x\nEOF",
        "bash <<'EOF'\n\\rm -rf x\nEOF",
        "sudo -i <<'EOF'\nrm -rf x\nEOF",
        "echo 'rm -rf x' | su - deploy",
        # what printf prints, and what a substitution gives to a shell as its file
        "printf %s 'rm -rf x' | sh",
        "printf 'rm %s x\\n' -rf | sh",
        "printf '%s\\n' ls 'rm -rf x' | bash",
        "bash <(echo 'rm -rf x')",
        "source <(printf '%s' 'rm -rf x')",
        # several words of tmux and screen start a program, one is a script
        "tmux new-session -d bash -c 'rm -rf x'",
        "tmux new-session -d 'ls; rm -rf x'",
        "tmux new-window -n a rm -rf x",
        "screen -dm bash -c 'rm -rf x'",
        "git filter-branch --tree-filter 'rm -rf x' HEAD",
        # scripts among the words of other programs
        "hyperfine 'ls' 'rm -rf x'",
        "concurrently 'npm start' 'rm -rf x'",
        "parallel ::: 'rm -rf x' ls",
        "git rebase --exec 'rm -rf x' main",
        "git rebase -x 'rm -rf x' main",
        "npx -c 'rm -rf x'",
        "npm exec --call 'rm -rf x'",
        "nodemon --exec 'rm -rf x'",
        "entr -s 'rm -rf x'",
        "watchexec -e js 'rm -rf x'",
    ],
)
def test_what_is_started_meets_its_guard(text: str) -> None:
    assert is_met(text)


@pytest.mark.parametrize(
    "text",
    [
        "bash deploy.sh -c 'rm -rf x'",
        "coproc X rm -rf x",
        "runuser rm -rf x",
        "cat <<'EOF'\na `rm -rf x` b\nEOF",
        "cat <<EOF\na \\`rm -rf x\\` b\nEOF",
        "cat <<EOF\n`ls` rm -rf x `ls`\nEOF",
        "sh ./a -c 'rm -rf x'",
        "bash -- deploy.sh -c 'rm -rf x'",
        "bash -x deploy.sh -c 'rm -rf x'",
        "bash -o pipefail deploy.sh -c 'rm -rf x'",
        "echo 'rm -rf x' | bash deploy.sh",
        "find . -name rm -rf -exec ls {} \\;",
        "find . -exec ls rm \\; -rf",
        "python -c 'rm -rf x'",
        "git commit -m 'rm -rf x'",
        "python -W ignore -m pytest rm -rf",
    ],
)
def test_what_is_not_started_meets_no_guard(text: str) -> None:
    assert not is_met(text)


def test_a_command_that_starts_more_programs_than_are_read_is_not_read() -> None:
    for is_powershell in (False, True):
        script = read_script("sudo " * 60 + "rm -rf x", is_powershell=is_powershell)
        assert script.is_partial
        assert script.may_start("rm")


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("git >l push --force", ["git push --force"]),
        ("git >'a b' push --force", ["git push --force"]),
        ("git </dev/null push", ["git push"]),
        ("git 2>&1 push --force", ["git push --force"]),
        ("git 2>&- push", ["git push"]),
        ("git >&2 push", ["git push"]),
        ("git &>l push --force | cat", ["git push --force", "cat"]),
        (">l git push", ["git push"]),
        ("<a >l git push", ["git push"]),
        ("<a >l A=1 git push", ["git push"]),
        ("git <<< x push --force", ["git push --force"]),
        ("git <<< x >l push --force", ["git push --force"]),
        ("git push >l --force --x 2>m y", ["git push --force --x y"]),
        ("git <<EOF push --force\nEOF", ["git push --force"]),
        ("git >l push <<EOF --force\nEOF", ["git push --force"]),
        ("cat <<EOF && git >l push\nEOF", ["cat", "git push"]),
        ("ls && git >l push || x", ["ls", "git push", "x"]),
        ("! git >l push", ["git push"]),
        ("(git >l push) >m", ["git push"]),
        ("eval >l 'git push'", ["eval git push", "git push"]),
        ("git >l $(rm x) y", ["rm x", "git $(rm x) y"]),
        ("git <<EOF $(rm x)\nEOF", ["rm x", "git $(rm x)"]),
        ("x=--force; git >l push $x", ["", "git push --force"]),
        ("git push > l; --force", ["git push", "--force"]),
        ("git push > l", ["git push"]),
        ("cat <<EOF\npush --force\nEOF", ["cat"]),
        ("> l", [""]),
    ],
)
def test_words_behind_a_redirection_belong_to_the_command(text: str, lines: list[str]) -> None:
    assert [" ".join(one.words) for one in read_script(text).commands] == lines


def test_a_redirection_between_words_writes_its_first_word_alone() -> None:
    command = read_script("git 2>m push >l --force").commands[0]
    assert command.writes == ("m", "l")


def test_a_value_that_a_variable_may_have_is_tried_behind_a_redirection() -> None:
    assert is_met("x=; [ a ] && x=-rf; rm >l $x y")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("python -W ignore -m pytest -q", ("pytest", "-q")),
        ("python3.12 -X dev -m pytest -q", ("pytest", "-q")),
        ("python -um pytest -q", ("pytest", "-q")),
        ("python -mpytest -q", ("pytest", "-q")),
        ("python -Wignore -Im pytest -q", ("pytest", "-q")),
        ("sudo -E python -B -m pytest -q", ("pytest", "-q")),
        ("node -r ts-node/register build.js x", ("build.js", "x")),
        ("node --import tsx --test a.js", ("a.js",)),
        ("ruby -Ilib -r json run.rb x", ("run.rb", "x")),
        ("perl -I lib -MTest::More t.pl x", ("t.pl", "x")),
        ("php -d memory_limit=1 artisan migrate", ("artisan", "migrate")),
        ("python -Bc 'pytest'", ("python", "-Bc", "pytest")),
        ("perl -lane 'print' a", ("perl", "-lane", "print", "a")),
        ("find . -exec grep x {} \\; -exec rm {} \\;", ("rm", "{}")),
    ],
)
def test_the_innermost_program_has_its_own_words(text: str, words: tuple[str, ...]) -> None:
    found = read_script(text).commands[0].invocations[-1]
    assert (found.name, *found.arguments) == words


@pytest.mark.parametrize(
    ("braces", "words"),
    [
        ("{01..03}", "01 02 03"),
        ("{1..03}", "01 02 03"),
        ("{08..11}", "08 09 10 11"),
        ("{001..3..2}", "001 003"),
        ("{-01..1}", "-01 000 001"),
        ("{3..01}", "03 02 01"),
        ("v{00..02}x", "v00x v01x v02x"),
        ("{a..e..2}", "a c e"),
        ("{e..a..2}", "e c a"),
        ("{a..3}", "{a..3}"),
    ],
)
def test_ranges_are_expanded_as_bash_does(braces: str, words: str) -> None:
    assert " ".join(read_script(f"run {braces}").commands[0].arguments) == words


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (r"say \"a\" b", r"say \"a\" b"),
        (r"\$x \`y\` \\z", r"$x `y` \z"),
        (r"""'a' "b" """, """'a' "b" """),
        (r"a\tb \' \n", r"a\tb \' \n"),
        ("one \\\ntwo", "one two"),
        (r"$(a \"b\") \"", r"$(a \"b\") \""),
        (r"\"$x\" \"", r"\"1\" \""),
    ],
)
def test_a_document_without_quotes_at_its_name_keeps_the_quotes_of_its_text(
    body: str, text: str
) -> None:
    command = read_script(f"x=1\ncat <<EOF\n{body}\nEOF").commands[-1]
    assert command.document.rstrip("\n") == text
