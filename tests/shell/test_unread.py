"""A script that could not be read holds an enforced guard wherever the guard's program may run in it."""

import time

import pytest

from mcp_reflect.guards.call import Call
from mcp_reflect.guards.guard import parse_guard
from mcp_reflect.guards.matching import may_be_met
from mcp_reflect.shell import read_script

GUARD = parse_guard("Bash: `rm` with `-rf`")
OPEN = "\necho 'open"  # a quote without its end: the parser errs, and nothing is read


@pytest.mark.parametrize(
    "text",
    [
        "cat > a <<EOF\n$(rm -rf x)\nEOF",
        "cat > a <<EOF\n`rm -rf x`\nEOF",
        "cat <<-EOF > a\n\tone $(date; rm -rf x) two\n\tEOF",
        'cat > a <<EOF\n$(echo ")"; rm -rf x)\nEOF',
        "cat > a <<EOF\n${x:-$(rm -rf x)}\nEOF",
        "cat > a <<EOF\n$(\nls\nrm -rf x\n)\nEOF",
        "cat > a <<EOF\n\\$(no) $(rm -rf x)\nEOF",
        "{ cat <<'EOF'\nrm -rf x\nEOF\n} | bash",
        "cat <<'EOF' |\nrm -rf x\nEOF\nbash",
        "while read -r a; do echo $a; done <<'EOF' | sh\nrm -rf x\nEOF",
        "bash \\\n  -s <<'EOF'\nrm -rf x\nEOF",
        "f() { cat <<'EOF'\nrm -rf x\nEOF\n}\nf | sudo bash",
        "exec > >(bash)\ncat <<'EOF'\nrm -rf x\nEOF",
        "$SHELL <<'EOF'\nrm -rf x\nEOF",
        "su - deploy <<'EOF'\nrm -rf x\nEOF",
        "sudo -i <<'EOF'\nrm -rf x\nEOF",
        "xargs rm -rf <<'EOF'\nx\nEOF",
        "cat <<< word\nrm -rf x\nword",
        "echo $((1 <<a))\nrm -rf x\na",
        "# see <<EOF\nrm -rf x\nEOF",
        "echo 'a <<EOF'\nrm -rf x\nEOF",
        "r''m -rf x",
        "r\\m -rf x",
        'r"m" -rf x',
        "r\\\nm -rf x",
        "/bin/rm -rf x",
    ],
)
def test_a_guard_holds_where_its_program_may_run_in_what_was_not_read(text: str) -> None:
    call = Call("Bash", {"command": text + OPEN})
    assert call.script.is_partial
    assert may_be_met(GUARD, call)


@pytest.mark.parametrize(
    "text",
    [
        "cat > a <<'EOF'\n$(rm -rf x)\nEOF",
        "cat > a <<\\EOF\n`rm -rf x`\nEOF",
        "cat > a <<EOF\nrm -rf x\nEOF",
        "cat > a <<EOF\nuse \\$(rm -rf x)\nEOF",
        "cat > a <<EOF\nuse \\`rm -rf x\\`\nEOF",
        "cat > a <<EOF\nof $(date): then rm -rf x\nEOF",
        "cat > a.md <<'EOF'\nrm -rf x\nEOF\nbash a.sh",
        "python - <<'EOF'\nrm = 1\nEOF",
        "git commit -F - <<'EOF'\nrm the old one\nEOF",
        "rmdir x; farm -rf",
    ],
)
def test_what_no_shell_runs_holds_nothing(text: str) -> None:
    call = Call("Bash", {"command": text + OPEN})
    assert call.script.is_partial
    assert not may_be_met(GUARD, call)


def test_a_powershell_that_was_not_read_names_what_its_escapes_hide() -> None:
    script = read_script("Remove`-Item x;" + "a;" * 2_001, is_powershell=True)
    assert script.is_partial
    assert script.may_start("remove-item")


@pytest.mark.parametrize("unit", ["cat <<A\n$(\n", "cat <<A\n`\nA\n", "<<A ", "\\\n", "'", "$("])
def test_the_words_of_a_large_text_are_found_in_bounded_time(unit: str) -> None:
    began = time.process_time()
    assert read_script(unit * (1_000_000 // len(unit)) + OPEN).is_partial
    assert time.process_time() - began < 2
