"""A guard of a file holds what certainly writes, replaces or removes it, by whatever program, and nothing else."""

import time
from pathlib import Path

import pytest

from mcp_reflect.guards.call import Call
from mcp_reflect.guards.guard import parse_guard
from mcp_reflect.guards.matching import matches, may_be_met, without_paths
from mcp_reflect.guards.places import CallPlace, ProjectFolder
from mcp_reflect.guards.views import views_of

SHOP = "/work/shop"
PLACE = CallPlace(own="shop", folder=SHOP, known_folders=(ProjectFolder("shop", SHOP),))

CHANGED = {
    "dist/bundle.js": [
        "rm dist/bundle.js",
        "rm -rf dist",
        "rm -rf dist/*",
        "rm -rf ./dist/",
        "rm dist/*.js",
        "rm -f dist/bund*",
        "rm -rf di*",
        "rm -rf *",
        "rm -rf .",
        "rm -rf /work/shop",
        "rm -rf /work",
        "sudo rm -rf /work/shop/dist",
        "cd dist && rm bundle.js",
        "cd dist; rm -- bundle.js",
        "bash -c 'rm -rf dist'",
        "cd web && bash -c 'rm -rf ../dist'",
        "unlink dist/bundle.js",
        "shred -u dist/bundle.js",
        "find dist -delete",
        "find . -name bundle.js -delete",
        "find . -name '*.js' -exec rm {} +",
        "find . -type d -name dist -exec rm -rf {} \\;",
        "find dist -type f -print0 | xargs -0 rm",
        "find . -name bundle.js | xargs -I{} rm {}",
        "find dist -name '*.js' -exec sed -i s/a/b/ {} +",
        "echo dist/bundle.js | xargs rm -f",
        "git ls-files dist | xargs rm",
        "git restore dist/bundle.js",
        "git restore --staged --worktree dist/bundle.js",
        "git checkout -- dist/bundle.js",
        "git checkout HEAD~1 -- dist/bundle.js",
        "git checkout HEAD~1 dist/bundle.js",
        "git checkout dist/bundle.js",
        "git rm dist/bundle.js",
        "git rm -r dist",
        "git mv dist/bundle.js old.js",
        "git -C /work/shop rm dist/bundle.js",
        "git clean -fdx dist/bundle.js",
        "git stash push dist/bundle.js",
        "prettier --write dist/bundle.js",
        "npx prettier -w dist/bundle.js",
        "eslint --fix dist/bundle.js",
        "biome check --write dist/bundle.js",
        "mv dist/bundle.js /tmp/",
        "mv dist /tmp/old",
        "mv /tmp/new.js dist/bundle.js",
        "mv -t /tmp dist/bundle.js",
        "sed -i s/a/b/ dist/bundle.js",
        "sed -i -e s/a/b/ dist/*.js",
        "sed -ni.bak p dist/bundle.js",
        "perl -pi -e s/a/b/ dist/bundle.js",
        "tee -a dist/bundle.js",
        "echo x | sudo tee dist/bundle.js > /dev/null",
        "truncate -s 0 dist/bundle.js",
        "dd if=/dev/zero of=dist/bundle.js",
        "cp /tmp/x dist/bundle.js",
        "cp /tmp/bundle.js dist/",
        "cp -t dist /tmp/bundle.js",
        "ln -sf /tmp/x dist/bundle.js",
        "cd dist && ln -sf ../build/bundle.js",
        "install -m 644 /tmp/x dist/bundle.js",
        "rsync -a /tmp/x dist/bundle.js",
        "curl -so dist/bundle.js https://x",
        "wget -O dist/bundle.js https://x",
        "esbuild a.ts --outfile=dist/bundle.js",
        "jq . a | sponge dist/bundle.js",
        "gzip dist/bundle.js",
        "echo x > dist/bundle.js",
        ": >> /work/shop/dist/bundle.js",
        "cd / && : > work/shop/dist/bundle.js",
        "black dist/bundle.js",
    ],
    "dist/": [
        "rm di*",
        "rm -rf dist/*",
        "find dist -name '*.map' -delete",
        "git checkout -- dist",
        "touch x; tee web/dist/a.js",
        "mv dist old",
    ],
    "prod.yaml": ["rm *.yaml", "rm config/prod.yaml", "find . -name prod.yaml -delete", "rm -rf ."],
    "config/prod.yaml": [
        "tee config/prod.yaml",
        "rm config/*.yaml",
        "rm -r config",
        "echo x > $PWD/config/prod.yaml",
        "echo x > ~+/config/prod.yaml",
        "rm $PWD/config/*",
        "rm -rf ${PWD}/config",
        'rm "$(pwd)/config/prod.yaml"',
        "rm `pwd`/config/prod.yaml",
        "rm ~+/config/prod.yaml",
        "cd $PWD/config && rm prod.yaml",
        'cd "$(pwd)/config"; rm prod.yaml',
        "cd config && rm $PWD/prod.yaml",
        "cd config && rm $PWD/../config/prod.yaml",
        'sed -i s/a/b/ "$PWD"/config/prod.yaml',
        "cp x $PWD/config/prod.yaml",
        "mv x ${PWD}/config/prod.yaml",
        "tee $PWD/config/prod.yaml",
        "find $PWD/config -delete",
        "cp x.yaml $PWD/config/prod.yaml && cd web",
        "git -C web rm $PWD/config/prod.yaml",
        "git -C $PWD rm config/prod.yaml",
        "git -C web -C $PWD rm config/prod.yaml",
        "env -C web rm $PWD/config/prod.yaml",
        "bash -c 'rm $PWD/config/prod.yaml'",
        "D=$PWD; rm $D/config/prod.yaml",
        'D=$(pwd); echo > "$D/config/prod.yaml"',
        'D="$PWD/config"; rm ${D}/prod.yaml',
        "D=$PWD/config; (cd web; ls); rm $D/prod.yaml",
        "f() { rm $1/config/prod.yaml; }; f $PWD",
    ],
    "*.pem": ["rm keys/a.pem", "tee a.pem"],
    ".env": ["sed -i s/a/b/ .env*", "rm .e*", "rm .env"],
    ".github/workflows/ci.yml": ["for f in .git*/workflows/*.yml; do sed -i s/a/b/ $f; done"],
    "/etc/hosts": ["sudo tee -a /etc/hosts", "sed -i s/a/b/ /etc/hosts", "cd /etc && rm hosts"],
    "~/.npmrc": ["rm ~/.npmrc", "echo x >> ~/.npmrc", "cd ~ && rm .npmrc", "cd ~; tee .npmrc"],
}
UNCHANGED = {
    "dist/bundle.js": [
        "cat dist/bundle.js",
        "cp dist/bundle.js /tmp/",
        "rm dist/other.js",
        "rm -rf distribution",
        "rm other/dist/bundle.js",
        "rm /tmp/dist/bundle.js",
        "rm -rf /work/other",
        "rm -rf other/*",
        "rm *.log",
        "rm .*",
        "rm *.js",
        "cd /tmp && rm -rf dist",
        "find dist -name '*.map' -delete",
        "find . -name '*.pyc' -delete",
        "find . -path ./dist -prune -o -name '*.js' -exec rm {} +",
        "find dist -mtime +30 -delete",
        "find . -not -name '*.js' -delete",
        "find dist -name bundle.js",
        "find dist -name bundle.js -exec cat {} +",
        "find dist -name bundle.js | xargs cat",
        "find src -print0 | xargs -0 rm",
        "git restore --staged dist/bundle.js",
        "git rm --cached dist/bundle.js",
        "git rm -n dist/bundle.js",
        "git add dist/bundle.js",
        "git checkout dist",
        "git checkout -b dist/bundle.js",
        "git clean -n dist/bundle.js",
        "git diff -- dist/bundle.js",
        "git log -- dist/bundle.js",
        "prettier --check dist/bundle.js",
        "prettier --write src",
        "eslint dist/bundle.js",
        "sed -n p dist/bundle.js",
        "sed -i 's#a#dist/bundle.js#' README.md",
        "sed s/a/b/ dist/bundle.js > /tmp/x",
        "perl -pi -e 's#a#dist/bundle.js#' README.md",
        "dd if=dist/bundle.js of=/tmp/x",
        "mv /tmp/a /tmp/dist/bundle.js",
        "install -d dist/bundle.js",
        "tar czf a.tgz dist",
        "rsync -a dist/bundle.js host:",
        "ssh host 'rm -rf dist'",
        "ssh host rm dist/bundle.js",
        "docker run --rm img rm -rf dist",
        "echo rm dist/bundle.js",
        "gzip -k dist/bundle.js",
        "black --check dist/bundle.js",
        "git commit -m 'rm dist/bundle.js'",
        "touch /tmp/dist/bundle.js",
        "ln -s dist/bundle.js latest.js",
        "curl -o /tmp/x https://x/dist/bundle.js",
        "truncate -s 0 /tmp/log",
        "git -C /tmp/other rm dist/bundle.js",
        "cd web && rm dist/bundle.js",
    ],
    "dist/": [
        "rm dist.tgz",
        "rm -rf distribution",
        "ls dist/*",
        "sed -i s/a/dist/ x",
        "mkdir -p dist",
    ],
    "prod.yaml": [
        "rm logs/*.yaml",
        "rm prod.yaml.bak",
        "rm -rf config",
        "mv /tmp/prod.yaml /tmp/b",
    ],
    "config/prod.yaml": [
        "tee other/config/prod.yaml",
        "tee /srv/config/prod.yaml",
        "rm config/dev.yaml",
        "rm config/*.json",
        "mv config/dev.yaml config/test.yaml",
        "rm $PWD/config/dev.yaml",
        "rm $PWD/other/config/prod.yaml",
        "cat $PWD/config/prod.yaml",
        "cp $PWD/config/prod.yaml /tmp/",
        "cd web && rm $PWD/config/prod.yaml",
        "cd /tmp && rm $PWD/config/prod.yaml",
        "cd /tmp && rm ~+/config/prod.yaml",
        'cd /tmp; rm "$(pwd)/config/prod.yaml"',
        "cd $PWD/web && rm config/prod.yaml",
        "cd $PWD/../other && rm config/prod.yaml",
        "(cd /tmp && D=$PWD; rm $D/config/prod.yaml)",
        "cd /tmp; D=$PWD; rm -rf $D/config",
        "PWD=/tmp; rm $PWD/config/prod.yaml",
        "D=$PWD; D=/tmp; rm $D/config/prod.yaml",
        "D=$PWD; cd /tmp; D=$PWD; rm $D/config/prod.yaml",
        "rm $PWDX/config/prod.yaml.bak ${PWD}x/config/prod.yaml",
        "ssh host 'rm $PWD/config/prod.yaml'",
        "docker run -v $PWD:/app img rm config/prod.yaml",
        "git -C $PWD/web rm config/prod.yaml",
    ],
    "*.pem": ["rm keys/a.pub", "cat a.pem"],
    ".env": ["rm *", "sed -i s/a/b/ *env", "rm .envrc*", "rm .g*"],
    "/etc/hosts": ["cat /etc/hosts", "tee etc/hosts", "rm /etc/hosts.bak"],
    "~/.npmrc": ["tee .npmrc", "cat ~/.npmrc"],
}


def _meets(guard: str, command: str) -> bool:
    call = views_of(Call("Bash", {"command": command}), PLACE)["shop"]
    return matches(parse_guard(f"Edit: {guard}"), call)


WITH_PATHS = {
    ("Bash: `rm` with `dist/`", True): [
        "rm -rf dist",
        "rm -rf dist/*",
        "rm -rf di*",
        "rm -rf web/dist",
        "rm -rf /work/shop/dist",
    ],
    ("Bash: `rm` with `dist/`", False): [
        "cd /tmp && rm -rf dist",
        "rm dist.tgz",
        "rm -rf /tmp/dist",
    ],
    ("Bash: `rm` with `config/prod.yaml`", True): [
        "rm config/prod.yaml",
        "cd config && rm prod.yaml",
        "rm config/*.yaml",
        "rm $PWD/config/prod.yaml",
        "env -C web rm $PWD/config/prod.yaml",
    ],
    ("Bash: `rm` with `config/prod.yaml`", False): [
        "cd /tmp && rm $PWD/config/prod.yaml",
        "rm other/config/prod.yaml",
        "rm config/dev.yaml",
    ],
    ("Bash: `cp` with `/etc/`", True): ["cp a /etc/hosts", "cd / && cp a etc/hosts"],
    ("Bash: `cp` with `/etc/`", False): ["cp a etc/hosts", "cp -r etc /tmp"],
}


@pytest.mark.parametrize(("guard", "is_met"), WITH_PATHS)
def test_a_path_in_a_guard_of_a_program_is_compared_as_that_of_a_file(
    guard: str, *, is_met: bool
) -> None:
    for command in WITH_PATHS[guard, is_met]:
        call = views_of(Call("Bash", {"command": command}), PLACE)["shop"]
        assert matches(parse_guard(guard), call) is is_met, command
        assert not is_met or matches(without_paths(parse_guard(guard)), call)


HONEST_GUARDS = (
    "Bash: `git push` with `--force` or `-f` without `--force-with-lease`",
    "Bash: `rm` with `-rf` and `dist/`",
    "Bash: `tsc` without `--noEmit`",
    "Bash: `terraform destroy`",
    "Bash: `kubectl delete` with `prod`",
    "Bash: `npm publish`",
    "Bash: `make deploy`",
    "Bash: `read` with `--force`",
    "Edit: dist/bundle.js",
    "Edit: dist/",
    "Edit: config/prod.yaml",
    "Edit: prod.yaml",
)


@pytest.mark.parametrize("guard", HONEST_GUARDS)
def test_no_honest_command_is_refused(guard: str) -> None:
    """The commands were written by one who had read only parts of how guards read them."""
    text = (Path(__file__).parent / "cases" / "honest.txt").read_text("utf-8")
    commands = [block.strip() for block in text.split("\n\n")]
    commands = [
        one for block in commands for one in ([block] if "<<" in block else block.split("\n"))
    ]
    assert len(commands) > 150
    parsed = parse_guard(guard)
    refused: list[str] = []
    for command in commands:
        call = views_of(Call("Bash", {"command": command}), PLACE)["shop"]
        if matches(parsed, call) or may_be_met(parsed, call):
            refused.append(command)
    assert refused == []


@pytest.mark.parametrize("guard", CHANGED)
def test_what_changes_the_file_is_held(guard: str) -> None:
    assert [command for command in CHANGED[guard] if not _meets(guard, command)] == []


@pytest.mark.parametrize("guard", UNCHANGED)
def test_what_leaves_the_file_as_it_is_passes(guard: str) -> None:
    assert [command for command in UNCHANGED[guard] if _meets(guard, command)] == []


@pytest.mark.parametrize(
    "command",
    [
        "rm " + " ".join(f"a{number}" for number in range(9_000)),
        "; ".join(f"rm a{number}/b*" for number in range(1_900)),
        "rm " + " ".join("*/" * 50 + "a*b*c*d*" for _ in range(500)),
        "find . " + " ".join("-name '*a*b*c*'" for _ in range(3_000)) + " -delete",
        "; ".join(f"git -C ../p{number} rm x" for number in range(1_500)),
    ],
    ids=("operands", "patterns", "stars", "names", "folders"),
)
def test_many_changes_in_many_projects_take_no_time(command: str) -> None:
    folders = (ProjectFolder(f"p{number}", f"/work/p{number}") for number in range(2_000))
    place = CallPlace(own="shop", folder=SHOP, known_folders=(*PLACE.known_folders, *folders))
    guards = [
        parse_guard(f"Edit: {path}") for path in ("config/prod.yaml", "dist/", "*.pem", "a*b*c*d")
    ]
    began = time.process_time()
    for call in views_of(Call("Bash", {"command": command}), place).values():
        for guard in guards:
            matches(guard, call)
    assert time.process_time() - began < 3


def test_a_file_is_found_among_very_many() -> None:
    others = " ".join(f"a{number}" for number in range(3_000))
    assert _meets("config/prod.yaml", f"rm {others} config/prod.yaml {others}")
    assert _meets("dist/", f"rm {others} dist/x {others}")
    assert not _meets("config/prod.yaml", f"rm {others} other/config/prod.yaml")


PROD = parse_guard("Edit or a shell redirect: config/prod.yaml")

OVERWRITES = """\
git restore config/
git restore config
git restore --source=HEAD~1 config
git checkout -- config
git checkout HEAD~1 -- config/
cd config && git restore .
for f in config/*; do echo x >> $f; done
for f in config/*.yaml; do echo x > "$f"; done
for f in README.md config/prod.yaml; do date >> $f; done
if a; then f=config/prod.yaml; else f=b; fi; echo x > $f
yq eval --inplace '.a=1' config/prod.yaml
sops -e -i config/prod.yaml
sops --encrypt --in-place config/prod.yaml
tar -xf a.tar config/prod.yaml
tar xzf a.tgz config/prod.yaml
tar -xvf a.tar ./config/prod.yaml
unzip -o a.zip config/prod.yaml
unzip -qo a.zip config/prod.yaml
aws s3 cp s3://b/x config/prod.yaml
aws s3 cp s3://b/prod.yaml config/ --profile dev
gsutil cp gs://b/x config/prod.yaml
gcloud storage cp gs://b/x config/prod.yaml
docker cp c:/x config/prod.yaml
docker cp c:/etc/prod.yaml config
kubectl cp -n web p:/x config/prod.yaml
gpg -o config/prod.yaml -d x.gpg
gpg --output=config/prod.yaml -d x.gpg
kustomize build . -o config/prod.yaml
sd a b config/prod.yaml
rpl a b config/prod.yaml"""

LEAVES = """\
git restore .
git checkout -- .
git restore src
git restore --staged config
git checkout config
git diff -- config
prettier --write .
npx prettier --write config
cp -r other/. config/
for f in config/*; do cat $f; done
for f in config/*; do cat $f > /tmp/all; done
for f in config/*; do jq . < $f; done
for f in src/*; do echo x >> $f; done
yq eval '.a' config/prod.yaml
sops -d config/prod.yaml
tar -tf a.tar config/prod.yaml
tar -cf a.tar config/prod.yaml
tar -xf a.tar -C /tmp config/prod.yaml
tar -xOf a.tar config/prod.yaml
tar -xf config/prod.yaml
tar -xf a.tar
unzip -p a.zip config/prod.yaml
unzip -o a.zip config/prod.yaml -d /tmp
unzip -l a.zip config/prod.yaml
aws s3 cp config/prod.yaml s3://b/x
aws s3 cp s3://b/x config/prod.yaml --dryrun
aws s3 cp s3://b/x -
docker cp config/prod.yaml c:/x
kubectl cp config/prod.yaml p:/x
gpg -d config/prod.yaml
gpg -o /tmp/x -d config/prod.yaml
kustomize build config/prod.yaml
sd -p a b config/prod.yaml
sd config/prod.yaml b README.md"""


@pytest.mark.parametrize("command", OVERWRITES.splitlines())
def test_what_writes_over_a_file_is_held(command: str) -> None:
    assert matches(PROD, Call("Bash", {"command": command}))


@pytest.mark.parametrize("command", LEAVES.splitlines())
def test_what_may_leave_the_file_as_it_is_passes(command: str) -> None:
    call = Call("Bash", {"command": command})
    assert not matches(PROD, call)
    assert not may_be_met(PROD, call)


def test_a_folder_that_git_restores_is_no_file_that_is_guarded_by_its_name_alone() -> None:
    """It may be one that git does not know: `.env`."""
    call = Call("Bash", {"command": "git restore web"})
    assert not matches(parse_guard("Edit: .env"), call)
