"""What is known of programs: where their subcommands end, and flags that are the same."""

from typing import Final

# How many words after a program say what it does; unlisted programs: one, where both calls or the words have it.
_WITHOUT = """
    make gradle gradlew mvn mvnw just task rake ninja psql mysql sqlite3 pytest tsc eslint rm cp mv cat ls find
    grep egrep rg sed awk perl curl wget ssh scp rsync chmod chown tar python python3 node ruby php bash sh jest
    mocha prettier black mypy kill touch mkdir ln echo head tail sort sleep createdb dropdb redis-cli mongosh
    ansible-playbook pylint vitest
"""
_WITH_ONE = """
    git npm pnpm yarn bun pip pip3 uv poetry cargo go docker podman kubectl helm terraform tofu systemctl apt
    apt-get brew conda gem rustup flutter alembic manage.py artisan rails dbt docker-compose service dotnet
    bundle mix heroku fly vercel wrangler dnf yum apk snap
"""
_WITH_TWO = "gh glab aws az gcloud flask prisma supabase firebase doctl sam cdk"
DEPTHS: Final = {
    program: depth for depth, programs in enumerate((_WITHOUT, _WITH_ONE, _WITH_TWO)) for program in programs.split()
}
LONGER: Final = frozenset(
    (
        "docker compose,docker system,docker image,docker container,docker volume,docker network,docker buildx,"
        "npm run,pnpm run,yarn run,bun run,npm audit,uv pip,uv tool,git stash,git remote,git worktree,git submodule,"
        "terraform state,terraform workspace,helm repo,kubectl rollout,cargo install"
    ).split(",")
)
TARGETED: Final = frozenset("make gradle gradlew mvn mvnw just task rake ninja".split())

# Long and short forms of one flag, where no lesson needs to say so.
SAME_FLAGS: Final = {
    head: tuple(tuple(pair.split("=")) for pair in pairs.split())
    for head, pairs in {
        "git push": "-f=--force -d=--delete",
        "git commit": "-a=--all -n=--no-verify",
        "git add": "-A=--all",
        "git rebase": "-i=--interactive",
        "git tag": "-a=--annotate",
        "rm": "-r=-R=--recursive -f=--force",
        "grep": "-r=-R=--recursive",
        "chmod": "-R=--recursive",
        "npm": "-g=--global -D=--save-dev",
        "docker": "-a=--all -v=--volumes -f=--force",
        "kubectl": "-n=--namespace -A=--all-namespaces",
        "curl": "-f=--fail -k=--insecure",
        "sed": "-i=--in-place",
        "kill": "-9=-KILL=-SIGKILL",
        "rsync": "-n=--dry-run",
        "poetry": "-G=--group",
        "cargo": "-r=--release -p=--package",
        "make": "-C=--directory",
    }.items()
}
SAME_HEADS: Final = {
    "npm install": ("npm i",),
    "pip": ("pip3",),
    "pip install": ("pip3 install",),
    "npm test": ("npm t",),
    "apt": ("apt-get",),
    "apt install": ("apt-get install",),
}
