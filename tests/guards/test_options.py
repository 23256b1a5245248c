"""An option's value is neither a subcommand nor a flag, and a command that only tells does nothing."""

import pytest

from mcp_reflect.errors import InputError
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


OTHER_SPELLINGS = (
    (
        "`npm install`",
        (
            "npm i",
            "npm add x",
            "npm in x",
            "cd web && npm i",
            "npm i -g x",
            "npm --prefix web i",
            "npm install",
        ),
    ),
    (
        "`npm i`",
        (
            "npm install x",
            "npm i",
        ),
    ),
    ("`terraform apply` with `-auto-approve`", ("terraform apply --auto-approve",)),
    (
        "`make deploy`",
        (
            "make build deploy",
            "make clean deploy",
            "make ENV=prod deploy",
            "gmake deploy",
            "make -j4 deploy",
            "make -C infra deploy",
        ),
    ),
    (
        "`mvn deploy`",
        (
            "mvn clean deploy",
            "mvn clean deploy -DskipTests",
            "mvn -P prod deploy",
            "./mvnw clean deploy",
        ),
    ),
    (
        "`gradle publish`",
        (
            "gradle clean publish",
            "./gradlew build publish",
        ),
    ),
    (
        "`docker compose down` with `-v`",
        (
            "docker-compose down -v",
            "sudo docker-compose -f x.yml down -v",
        ),
    ),
    (
        "`docker run` with `--privileged`",
        (
            "docker container run --privileged x",
            "docker run -it --privileged x",
            "docker run -v a:b --privileged x",
        ),
    ),
    ("`cargo publish`", ("cargo +nightly publish",)),
    (
        "`git add` with `.`",
        (
            "git add ./",
            "git add .",
            "git add -- .",
        ),
    ),
    (
        "`git checkout` with `.`",
        (
            "git checkout ./",
            "git checkout -- ./",
            "git checkout -- .",
        ),
    ),
    (
        "`git branch` with `-D`",
        (
            "git branch -d -f x",
            "git branch -df x",
            "git branch --delete --force x",
            "git branch -D x",
        ),
    ),
    (
        "`systemctl restart` with `nginx`",
        (
            "systemctl restart nginx.service",
            "systemctl restart nginx",
        ),
    ),
    (
        "`tsc` without `--noEmit`",
        (
            "tsc --noEmit false",
            "tsc",
        ),
    ),
    (
        "`pytest` without `-x`",
        (
            "py.test",
            "pytest",
        ),
    ),
    (
        "`npm run dev` without `&`",
        (
            "npm run-script dev",
            "npm rum dev",
        ),
    ),
    (
        "`kubectl delete`",
        (
            "gcloud compute ssh vm --command 'kubectl delete pod x'",
            "gcloud compute ssh vm -- kubectl delete pod x",
            "ansible all -m shell -a 'kubectl delete pod x'",
            'fly ssh console -C "kubectl delete pod x"',
            "tailscale ssh h kubectl delete pod x",
            "autossh -M 0 h kubectl delete pod x",
            "multipass exec vm -- kubectl delete pod x",
            "limactl shell default kubectl delete pod x",
            "minikube kubectl -- delete pod x",
            "k3s kubectl delete pod x",
            "microk8s kubectl delete pod x",
        ),
    ),
    ("`cargo publish`", ("rustup run stable cargo publish",)),
)

ANOTHER_MEANING = (
    (
        "`git commit` with `-a` or `--all`",
        (
            "git commit -uall -m x",
            "git commit -unormal -m x",
        ),
    ),
    (
        "`git commit` with `--no-verify` or `-n`",
        (
            "git commit -uno -m x",
            "git commit -Sn -m x",
        ),
    ),
    ("`go test` without `-race`", ("go test --race ./...",)),
    (
        "`mvn deploy`",
        (
            "mvn -P deploy package",
            "mvn -pl deploy test",
            "mvn -pl services/deploy test",
            "mvn clean package",
        ),
    ),
    (
        "`gradle publish`",
        (
            "gradle build -x publish",
            "gradle -p publish build",
        ),
    ),
    (
        "`docker run` with `--privileged`",
        (
            "docker run --privileged=false x",
            "docker run x --privileged",
            "docker container ls",
        ),
    ),
    (
        "`git add` with `.`",
        (
            "git add src/.",
            "git add src",
        ),
    ),
    (
        "`npm install`",
        (
            "npm ci",
            "npm test",
            "npm run i",
            "npm view i",
            "npm init",
        ),
    ),
    (
        "`make deploy`",
        (
            "make build",
            "make -f deploy build",
            "make -C deploy build",
        ),
    ),
    (
        "`docker compose down` with `-v`",
        (
            "docker-compose down",
            "docker-compose up -v",
        ),
    ),
    (
        "`systemctl restart` with `nginx`",
        (
            "systemctl restart nginx-exporter.service",
            "systemctl status nginx",
        ),
    ),
    (
        "`pytest` without `-x`",
        (
            "pytest -x",
            "py.test -x",
        ),
    ),
    (
        "`cargo publish`",
        (
            "cargo +nightly build",
            "cargo run publish",
        ),
    ),
)


@pytest.mark.parametrize(("guard", "texts"), OTHER_SPELLINGS)
def test_a_command_is_held_by_each_name_that_it_goes_by(guard: str, texts: tuple[str, ...]) -> None:
    read = parse_guard(f"Bash: {guard}")
    assert [text for text in texts if not matches(read, Call("Bash", {"command": text}))] == []


@pytest.mark.parametrize(("guard", "texts"), ANOTHER_MEANING)
def test_words_that_mean_something_else_there_are_not_held(
    guard: str, texts: tuple[str, ...]
) -> None:
    read = parse_guard(f"Bash: {guard}")
    assert [text for text in texts if matches(read, Call("Bash", {"command": text}))] == []


OPTIONS_IN_A_HEAD = (
    (
        "`pytest` with `-n auto`",
        ("pytest -n auto", "pytest -nauto", "pytest -q -n auto tests", "pytest -n=auto"),
        ("pytest -n 4", "pytest", "pytest auto"),
    ),
    (
        "`kubectl` with `--context prod`",
        ("kubectl --context prod get pods", "kubectl --context=prod get"),
        ("kubectl --context dev get", "kubectl get prod"),
    ),
    (
        "`curl` with `-X DELETE`",
        ("curl -X DELETE https://x", "curl -XDELETE https://x", "curl -sX DELETE x"),
        ("curl -X GET x", "curl x"),
    ),
    (
        "`git push --force`",
        ("git push --force", "git push origin main --force", "git push -q --force"),
        ("git push", "git pull --force"),
    ),
    ("`rm -rf`", ("rm -rf a", "rm -fr build", "rm -r -f x"), ("rm a", "rm -r a")),
    (
        "`docker system prune -a`",
        ("docker system prune -a", "docker system prune -af"),
        ("docker system prune",),
    ),
    ("`python -m pytest`", ("python -m pytest", "python -q -m pytest x"), ("python x.py",)),
    (
        "`kubectl --context prod delete`",
        ("kubectl --context prod delete pod x", "kubectl --context=prod delete x"),
        ("kubectl delete x", "kubectl --context prod get"),
    ),
    (
        "`npx -y prisma migrate reset`",
        ("npx -y prisma migrate reset",),
        ("npx prisma migrate deploy",),
    ),
)


@pytest.mark.parametrize(("guard", "met", "not_met"), OPTIONS_IN_A_HEAD)
def test_options_of_a_head_and_their_values_may_stand_anywhere_in_a_command(
    guard: str, met: tuple[str, ...], not_met: tuple[str, ...]
) -> None:
    read = parse_guard(f"Bash: {guard}")
    assert parse_guard(str(read)) == read
    held = [text for text in (*met, *not_met) if matches(read, Call("Bash", {"command": text}))]
    assert held == list(met)


def test_options_of_one_of_several_heads_are_refused_with_the_fix() -> None:
    with pytest.raises(InputError, match="Name the options behind `with`"):
        parse_guard("Bash: `git push --force` or `git push -f`")
