"""An option's value is neither a subcommand nor a flag, and a command that only tells does nothing."""

import pytest

from mcp_reflect.guards.call import Call
from mcp_reflect.guards.guard import parse_guard
from mcp_reflect.guards.matching import matches, may_be_met

GUARDS = tuple(
    map(
        parse_guard,
        (
            "Bash: `git push` with `--force` or `-f`",
            "Bash: `rm` with `-rf`",
            "Bash: `terraform destroy`",
            "Bash: `npm publish`",
        ),
    )
)


def is_held(text: str) -> bool:
    call = Call("Bash", {"command": text})
    return any(matches(guard, call) or may_be_met(guard, call) for guard in GUARDS)


@pytest.mark.parametrize(
    "text",
    [
        # the value of an option before the subcommand
        "npm -w publish test",
        "npm --prefix publish test",
        "npm --workspace publish run build",
        "npm --workspace=publish run build",
        "npm -C publish ci",
        "terraform -chdir destroy plan",
        "git -C push status -f",
        "git --git-dir push fetch -f",
        # the value of an option behind it
        "git push -o -f",
        "git push -of",
        "git push -qo -f origin",
        "git push --push-option -f origin main",
        "git push --receive-pack -f",
        "git push --repo --force main",
        # behind -- nothing is a flag
        "rm -- -rf",
        "rm -r -- -f",
        "git push -- -f",
        # nothing runs
        "bash -n -c 'rm -rf x'",
        "bash -n <<< 'rm -rf x'",
        "bash -nc 'rm -rf x'",
        "bash -o noexec -c 'rm -rf x'",
        "echo 'rm -rf x' | sh -n",
        "sudo -l rm -rf x",
        "sudo -nl rm -rf x",
        "sudo --list rm -rf x",
        "timeout --help rm -rf x",
        "git -h push -f",
        "git --help push -f",
        "git --version push -f",
        "npm -v publish",
        "npm --version publish",
        "npm -h publish",
        "terraform -version destroy",
        "terraform -help destroy",
    ],
)
def test_a_command_that_does_not_do_it_is_not_held(text: str) -> None:
    assert not is_held(text)


@pytest.mark.parametrize(
    "text",
    [
        "npm -w a publish",
        "npm -w publish publish",
        "npm --prefix web publish",
        "npm --silent publish",
        "npm --unknown publish",
        "terraform -chdir=infra destroy",
        "terraform -chdir infra destroy",
        "git -C push push -f",
        "git -p push -f",
        "git -c a=b --git-dir x push --force",
        "git push -o ci.skip -f",
        "git push -fo ci.skip",
        "git push --receive-pack=x -f",
        "git push -f -- origin",
        "rm -rf -- x",
        "rm -r -f -- -x",
        "bash -x -c 'rm -rf x'",
        "bash -o pipefail -c 'rm -rf x'",
        "sudo -u l rm -rf x",
        "sudo -ul rm -rf x",
        "sudo -n rm -rf x",
    ],
)
def test_a_command_that_does_it_is_held_with_options_before_and_behind(text: str) -> None:
    assert is_held(text)


@pytest.mark.parametrize("text", ["npm test -- --watch", "npm run test -- --watch"])
def test_what_npm_hands_on_behind_two_dashes_counts(text: str) -> None:
    guard = parse_guard("Bash: `npm test` or `npm run` with `--watch`")
    assert matches(guard, Call("Bash", {"command": text}))


@pytest.mark.parametrize(
    "text",
    [
        # other spellings of flags and subcommands
        "git push -4f",
        "git push -f4",
        "rm --rec --fo x",
        "rm --recurs -f x",
        "npm publi",
        "npm pub",
        "npm pu",
        # what is put together
        'env -S "git push" -f',
        "env -S 'rm -r' -f x",
        "rm${IFS}-rf${IFS}x",
        "rm$IFS-rf$IFS'x'",
        "OPTS=${OPTS:--rf}; rm $OPTS x",
        "F=${F--f}; G=$F; git push $G",
        "a[0]=-f; git push ${a[0]}",
        "a=(x -f); git push ${a[1]}",
        "printf -v x %s -f; git push $x",
        "xargs terraform <<< destroy",
        "xargs terraform <<EOF\ndestroy\nEOF",
        "printf '%s\\0' destroy | xargs -0 terraform",
        # what starts others
        "nvm exec npm publish",
        "nvm exec 18 npm publish",
        "nvm exec lts/* npm publish",
        "setarch x86_64 rm -rf x",
        "numactl -m 0 --cpunodebind=0 rm -rf x",
        "tini -- rm -rf x",
        "dumb-init rm -rf x",
        "bwrap --ro-bind / / --dev /dev rm -rf x",
        "sg grp -c 'rm -rf x'",
        "sg grp 'rm -rf x'",
        "run0 -u root rm -rf x",
        "foreman run -e .env rm -rf x",
        "toybox rm -rf x",
        "busybox rm -rf x",
        "docker run --entrypoint terraform img destroy",
        "docker run --rm --entrypoint=terraform img destroy",
    ],
)
def test_another_spelling_is_held(text: str) -> None:
    assert is_held(text)


@pytest.mark.parametrize(
    "text",
    [
        "git push -4",
        "rm --re x",
        "rm --r --i x",
        "npm p",
        "npm pre",
        "pnpm publi",
        "env -S 'git status' -f",
        "IFS=,; rm${IFS}-rf${IFS}x",
        'rm "${IFS}-rf" x',
        "OPTS=-r; OPTS=${OPTS:--rf}; rm $OPTS x",
        "a[0]=-f; a=(); git push ${a[0]}",
        "a=(-f x); git push ${a[1]}",
        "printf -v x %s -f; x=; git push $x",
        "xargs echo terraform <<< destroy",
        "printf '%s\\0' 'push -f' | xargs -0 git",
        "nvm exec npm test",
        "bwrap --ro-bind rm -rf ls",
        "docker run --entrypoint ls terraform destroy",
    ],
)
def test_what_only_looks_like_it_is_not_held(text: str) -> None:
    assert not is_held(text)


@pytest.mark.parametrize(
    ("guard", "met", "not_met"),
    [
        (
            "Bash: `terraform apply` with `-auto-approve`",
            ("terraform apply --auto-approve", "terraform -chdir=a apply -auto-approve=true x"),
            ("terraform apply", "terraform apply -auto-approved", "terraform plan --auto-approve"),
        ),
        (
            "Bash: `vault delete` with `--force`",
            ("vault delete -force a", "vault delete --force a"),
            ("vault delete a", "vault delete -- -force"),
        ),
        (
            "Bash: `chmod` with `777`",
            ("chmod 777 a", "chmod -R 0777 a", "chmod 00777 a"),
            ("chmod 755 a", "chmod 1777 a", "chmod 7770 a", "chmod 644 777.txt"),
        ),
    ],
)
def test_a_word_counts_in_each_way_to_write_it(
    guard: str, met: tuple[str, ...], not_met: tuple[str, ...]
) -> None:
    read = parse_guard(guard)
    held = [text for text in (*met, *not_met) if matches(read, Call("Bash", {"command": text}))]
    assert held == list(met)
