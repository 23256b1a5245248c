"""The kinds of proof and the programs that give one: a table, which the setting `proofs` extends.

An entry is a program with the words that must follow it; `*` stands for any characters. Wrappers such as `npx`,
`poetry run` and `docker exec NAME` are taken off before the table is read. For a program that is not in the table, its
name or first word may tell the kind: `gleam test`, `make deploy`, `bin/lint`. Otherwise its run may show anything.
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

from mcp_reflect.shell import VALUED, is_idle


class ProofKind(StrEnum):
    """What a run of a program shows."""

    TESTS = "tests"
    BUILD = "build"
    TYPES = "types"
    LINT = "lint"
    FORMAT = "format"
    COMMIT = "commit"
    PUSH = "push"
    MIGRATION = "migration"
    DEPLOYMENT = "deployment"
    HEALTH = "health"
    IMAGE = "image"
    ANY = "any"
    """A run of a program that is not known: it may show any of these."""


CHECKS: Final = frozenset(
    {ProofKind.TESTS, ProofKind.BUILD, ProofKind.TYPES, ProofKind.LINT, ProofKind.FORMAT}
)
"""The kinds that a run of `make check` or `pre-commit` may show, whichever of them it holds."""

_TABLE: Final = """
tests: pytest, py.test, unittest, nose2, tox, nox, behave, robot, jest, vitest, mocha, ava, tap, jasmine, karma, node
  --test, deno test, bun test, playwright test, cypress run, wdio, testcafe, react-scripts test, ng test,
  vue-cli-service test*, go test, gotestsum, ginkgo, cargo test, cargo nextest, cargo t, mvn test, mvn verify, mvn
  install, mvn package, gradle *test*, gradle check, gradle build, sbt test*, dotnet test, dotnet vstest, rspec,
  minitest, rails test*, rake test*, rake spec*, phpunit, pest, artisan test, codecept, ctest, bats, prove, mix test,
  swift test, xcodebuild test, flutter test, bazel test, busted, manage.py test, runtests.py
build: webpack, vite build, rollup, esbuild, next build, astro build, ng build, tsup, vue-cli-service build,
  react-scripts build, turbo build, tsc, vue-tsc, go build, go install, go vet, cargo build, cargo check, cargo b,
  cargo run, mvn compile, mvn package, mvn install, mvn verify, gradle *build*, gradle assemble*, gradle *compile*,
  gradle jar, sbt compile, dotnet build, dotnet publish, msbuild, make, cmake --build, ninja, gcc, g++, clang,
  clang++, cc, c++, javac, kotlinc, scalac, rustc, swift build, xcodebuild, flutter build, mix compile, bazel build,
  hugo, latexmk, pdflatex, xelatex, typst compile, quarto render, mkdocs build, sphinx-build, python -m build, uv
  build, mvn deploy, py_compile, compileall, poetry build, electron-builder, expo export
types: mypy, dmypy, pyright, basedpyright, pyre, pytype, ty check, tsc, vue-tsc, svelte-check, flow check, sorbet, srb
  tc, phpstan, psalm, cargo check, dialyzer, mix dialyzer, astro check
lint: eslint, oxlint, ruff check, flake8, pylint, pycodestyle, pydocstyle, bandit, clippy, cargo clippy,
  golangci-lint, staticcheck, go vet, rubocop, standardrb, stylelint, shellcheck, hadolint, actionlint, yamllint,
  markdownlint*, ktlint*, detekt, checkstyle, gradle *lint*, biome check, biome lint, biome ci, mix credo, next lint,
  ng lint, ansible-lint, swiftlint, dart analyze, flutter analyze, phpcs, xo, standard, tslint, terraform validate,
  semgrep, lint-imports
format: prettier, black, ruff format, gofmt, goimports, gofumpt, go fmt, rustfmt, cargo fmt, isort, yapf, autopep8,
  clang-format, dprint, biome format, biome check, shfmt, terraform fmt, tofu fmt, mix format, dart format,
  swiftformat, dotnet format, php-cs-fixer, pint, ktfmt, spotless*, gradle spotless*, rubocop, stylua
commit: git commit, git merge, git cherry-pick, git revert, git rebase, git am, gh pr merge, jj commit, hg commit
push: git push, gh pr create, gh pr merge, glab mr create, docker push, podman push, jj git push, hg push, gt submit
migration: alembic upgrade, alembic downgrade, flyway migrate, liquibase update, rails db:*, rake db:*, manage.py
  migrate, prisma migrate, prisma db, drizzle-kit migrate, drizzle-kit push, knex migrate:*, sequelize db:migrate,
  typeorm migration:run, dbmate up, dbmate migrate, goose up, migrate up, golang-migrate, sqlx migrate, diesel
  migration, atlas migrate, mix ecto.migrate, artisan migrate*, flask db, dotnet ef, supabase db, mikro-orm
  migration:up, doctrine:migrations:migrate, mvn flyway:migrate, gradle flyway*
deployment: kubectl apply, kubectl rollout, kubectl set, kubectl create, kubectl replace, helm upgrade, helm install,
  helmfile apply, helmfile sync, terraform apply, tofu apply, pulumi up, cdk deploy, sam deploy, serverless deploy,
  sls deploy, fly deploy, flyctl deploy, vercel, netlify deploy, wrangler deploy, wrangler publish, heroku *, railway
  up, gcloud run, gcloud app, gcloud functions, gcloud builds, az webapp, az containerapp, az functionapp, aws ecs,
  aws lambda, aws s3, aws cloudformation, aws deploy, eb deploy, firebase deploy, ansible-playbook, cap, kamal deploy,
  docker stack, docker service, docker compose up, docker-compose up, nomad job, argocd app, skaffold run, gh-pages,
  gh release, npm publish, pnpm publish, yarn publish, yarn npm publish, cargo publish, twine upload, uv publish,
  poetry publish, goreleaser, gem push, dotnet nuget, mvn deploy, rsync, scp, supabase functions, git push heroku
health: curl, wget, http, https, xh, httpie, kubectl get, kubectl describe, kubectl wait, kubectl rollout, docker ps,
  docker inspect, docker logs, docker compose ps, docker-compose ps, docker compose logs, docker compose up,
  docker-compose up, docker run, systemctl, service, pg_isready, redis-cli ping, mysqladmin ping, nc, pm2,
  supervisorctl, lsof, ss, netstat, grpcurl, fly status, fly checks, flyctl status, heroku ps, helm status, uvicorn,
  gunicorn, hypercorn, flask run, rails s*, manage.py runserver, http.server, artisan serve, next dev, next start,
  vite dev, vite preview, nodemon, cargo run, go run, dotnet run, wrangler dev, ping
image: docker build, docker buildx, docker image, docker images, podman build, podman images, buildah, docker compose
  build, docker-compose build, docker compose up, docker-compose up, docker push, podman push, docker tag, docker
  bake, gcloud builds, fly deploy, flyctl deploy
"""

# Words in the names of scripts and targets: `npm run test:unit`, `make deploy`, `./scripts/lint.sh`.
_NAMES: Final = {
    **dict.fromkeys(
        "test tests testing spec specs unit integration e2e jest vitest pytest cypress t".split(),
        "tests",
    ),
    **dict.fromkeys("build compile bundle dist assemble package".split(), "build"),
    **dict.fromkeys("typecheck types tsc mypy pyright typing".split(), "types"),
    **dict.fromkeys("lint eslint linter clippy ruff".split(), "lint"),
    **dict.fromkeys("format fmt prettier black".split(), "format"),
    **dict.fromkeys("deploy release publish ship rollout".split(), "deployment"),
    **dict.fromkeys("migrate migration migrations".split(), "migration"),
    **dict.fromkeys(
        "health healthcheck smoke start serve server dev up preview ping".split(), "health"
    ),
    **dict.fromkeys("image docker container".split(), "image"),
    **dict.fromkeys("commit".split(), "commit"),
    **dict.fromkeys("push".split(), "push"),
}
_SHORTEST_PREFIX: Final = 5
_ALL_NAMES: Final = frozenset(
    "check checks ci verify validate all precommit quality qa preflight".split()
)

# Programs that run a script or target by its name.
_RUNNERS: Final = frozenset(
    "make gmake just task rake invoke inv composer mage nox tox turbo nx moon lerna hatch pdm poe mise pixi rye rush "
    "ant".split()
)
_WITH_TASKS: Final = frozenset(
    "gradle mvn sbt bazel cargo mix lein dotnet rails".split()
)  # a project adds its own
_PACKAGE_MANAGERS: Final = frozenset("npm pnpm yarn bun deno".split())
_ASSIGNED: Final = re.compile(r"[A-Za-z_]\w{0,80}\+?=.{0,2000}", re.DOTALL)
_SHELLS: Final = frozenset({"bash", "sh", "zsh", "dash", "fish", "pwsh", "powershell", "cmd"})
_INTERPRETERS: Final = frozenset(
    "python node ruby tsx ts-node perl deno php julia Rscript lua".split()
)
# Programs that look, move files or wait, and words with which a program only gets what it needs.
_SHOWS_NOTHING: Final = frozenset(
    "git ls cat bat grep egrep fgrep rg ag ack sed awk find fd head tail less more wc cp mv rm mkdir rmdir touch chmod "
    "chown ln cd pushd popd echo printf export set unset source . alias which type whereis command env date sleep wait "
    "ps kill pkill jobs jq yq sort uniq cut tr column diff cmp tree stat file du df tar unzip zip gunzip xargs tee "
    "true false for while until case select function [[ ["
    " read pwd history clear open code vim nano basename dirname realpath readlink seq id whoami uname "
    "hostname nproc free top htop man hexdump xxd od strings md5sum sha256sum base64 pip pip3 brew apt apt-get dnf yum "
    "apk curl wget gh glab ssh-keygen chezmoi tmux screen nvm pyenv rustup exit return".split()
)
_INSTALLING: Final = frozenset(
    "install i add ci x update upgrade sync lock init remove uninstall fetch download restore list ls show help".split()
)
_SCRIPT: Final = re.compile(
    r"(?:.*[/\\])?([\w.:-]{1,80}?)(?:\.(?:sh|bash|py|js|mjs|cjs|ts|rb|ps1|bat|cmd|pl))?"
)


def words_of_kinds(extra: Sequence[str] = ()) -> dict[ProofKind, list[list[str]]]:
    """Return the table with the entries of the setting, each `KIND: PROGRAM WORDS`."""
    table: dict[ProofKind, list[list[str]]] = {}
    for line in re.sub(r"\n  ", " ", _TABLE.strip()).split("\n"):
        kind, _, programs = line.partition(": ")
        table[ProofKind(kind)] = [
            program.split() for program in programs.replace("\n", " ").split(",")
        ]
    for entry in extra:
        kind, _, program = entry.partition(":")
        if kind.strip() in set(ProofKind) and program.strip():
            table[ProofKind(kind.strip())].append(program.split())
    return table


@lru_cache(maxsize=4)
def _by_program(extra: tuple[str, ...]) -> dict[str, list[tuple[ProofKind, list[str]]]]:
    table: dict[str, list[tuple[ProofKind, list[str]]]] = {}
    for kind, programs in words_of_kinds(extra).items():
        for program, *rest in programs:
            table.setdefault(program, []).append((kind, rest))
    return table


def kinds_of(words: Sequence[str], extra: tuple[str, ...] = ()) -> frozenset[ProofKind]:
    """Return what a command, given without its wrappers, may prove; empty if it proves nothing known."""
    if not words:
        return frozenset()
    program, *rest = words[1:] if words[0] == "php" and len(words) > 1 else words
    plain = _plain(rest)
    if is_idle((program, *rest)) or rest == ["-h"]:
        return frozenset()
    listed = _by_program(extra).get(program, ())
    found = {kind for kind, wanted in listed if _follows(wanted, rest, plain, program)}
    if program == "make" and kinds_of_name(" ".join(plain)):
        found.discard(ProofKind.BUILD)
    if program in {"curl", "wget"} and not _asks_a_service(" ".join(rest)):
        found.discard(ProofKind.HEALTH)
    by_name = program in _RUNNERS or not found
    return frozenset(found) | kinds_of_name(
        _name_of(program, rest, plain, listed=bool(listed)) if by_name else ""
    )


def _plain(rest: Sequence[str]) -> list[str]:
    """Return the words that are neither options nor, as far as that is known, their values."""
    plain: list[str] = []
    valued = False
    for word in rest:
        if not word.startswith("-") and not valued:
            plain.append(word)
        valued = word in VALUED
    return plain


def _follows(
    wanted: Sequence[str], rest: Sequence[str], plain: Sequence[str], program: str
) -> bool:
    if not wanted:
        return True
    if wanted[0].startswith("-"):
        return any(word == wanted[0] or word.startswith(f"{wanted[0]}=") for word in rest[:6])
    if program in {
        "mvn",
        "gradle",
        "sbt",
        "xcodebuild",
        "cargo",
        "bazel",
    }:  # several goals in one call
        return any(
            fnmatchcase(word.rsplit(":", 1)[-1], wanted[0]) or word == wanted[0]
            for word in plain[:6]
        )
    return len(plain) >= len(wanted) and all(map(fnmatchcase, plain, wanted))


def _asks_a_service(rest: str) -> bool:
    """Return whether a request looks at a service, and does not only fetch a file."""
    local = re.search(r"localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]|\$\{?\w*(?:URL|HOST)", rest)
    return bool(
        local
        or re.search(
            r"health|ready|live|status|ping|http_code|(?:^| )-\w*[iI]\b|--head|--fail", rest
        )
    )


def _name_of(program: str, rest: Sequence[str], plain: Sequence[str], *, listed: bool) -> str:
    """Return the words of a command that may name what it shows: of a script or target, else of the program itself."""
    if program in _PACKAGE_MANAGERS:
        named = plain[2:] if plain[:1] == ["workspace"] else plain
        names = [
            word
            for word in named
            if word not in {"run", "run-script", "task", "workspaces", "foreach"}
        ]
        return "" if not names or names[0] in _INSTALLING else names[0]
    if program in _RUNNERS:
        return " ".join(word for word in plain[:3] if not _ASSIGNED.fullmatch(word))
    if (program == "pre-commit" and "run" in plain) or program in {"act", "lefthook"}:
        return "check"
    if program in _SHELLS or program in _INTERPRETERS:
        script = next(iter(plain), "")
        return (
            script
            if "-c" not in rest and "-e" not in rest and re.search(r"\.\w{2,4}$|/", script)
            else ""
        )
    if not may_prove([program, *rest]):
        return ""
    words = [word for word in plain if word not in _RUNNERS and word not in {"run", "exec", "call"}]
    return " ".join(words[:1] if listed else (program, *words[:1]))


def may_prove(words: Sequence[str]) -> bool:
    """Return whether a command does more than look, move files, wait or get what a project needs."""
    looks = not words or words[0] in _SHOWS_NOTHING
    return not looks and not set(_plain(words[1:])[:1]) & _INSTALLING


def may_show_any(
    words: Sequence[str], kinds: frozenset[ProofKind], extra: tuple[str, ...] = ()
) -> bool:
    """Return whether a command may prove more than the known `kinds`.

    This is so for a program that is not in the table, and for a script whose name says nothing.
    """
    if not may_prove(words) or (words[0] in _SHELLS and {"-c", "-lc", "-Command"} & set(words)):
        return False
    starts = words[0] in _RUNNERS | _PACKAGE_MANAGERS | _INTERPRETERS | _SHELLS
    if words[0] in _WITH_TASKS:
        return not kinds
    return kinds <= {ProofKind.BUILD} if starts else words[0] not in _by_program(extra)


def kinds_of_name(name: str) -> frozenset[ProofKind]:
    kinds: set[ProofKind] = set()
    for word in name.split():
        match = _SCRIPT.fullmatch(word)
        parts = re.split(
            r"[^a-z0-9]+", (match[1] if match else word).lower().replace("type-check", "typecheck")
        )
        kinds |= {ProofKind(kind) for kind in map(_kind_of_part, parts) if kind}
        kinds |= CHECKS if _ALL_NAMES & set(parts) else set()
    return frozenset(kinds)


def _kind_of_part(part: str) -> str | None:
    """Return the kind of a word, or of the long word that it begins with, as `deploy` in `deployctl`."""
    long = (word for word in _NAMES if len(word) >= _SHORTEST_PREFIX and part.startswith(word))
    return _NAMES.get(part) or _NAMES.get(next(long, ""))
