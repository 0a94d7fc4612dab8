"""The command line as a whole: help, version, mistakes, and completion in the shell."""

from __future__ import annotations

from pathlib import Path

import pytest

import reprieve as package
from tests.cli.command import reprieve

# What each command's help must speak of.
HELP: dict[tuple[str, ...], tuple[str, ...]] = {
    (): (
        *("decides who makes way", "plan", "explain", "test", "check", "--version"),
        *("--install-completion", "--show-completion", "--help", "-h"),
    ),
    ("check",): (
        *("Kubernetes, Kueue, YuniKorn and Karmada", "--filename", "-f", "--old", "--strict", "--output", "-o"),
        *("FILE|DIR|-", "Repeatable", "text|json", "default: text", "Exits with 0"),
    ),
    ("plan",): (
        *("--filename", "-f", "--for", "KIND/NAMESPACE/NAME", "--now", "TIME", "--config", "--feature-gates"),
        *("A=true,B=false", "--output", "-o", "text|json|yaml", "default: text", "Exits with 0"),
    ),
    ("explain",): ("--filename", "-f", "--for", "--why-not", "--now", "--config", "--feature-gates", "Exits with 2"),
    ("test",): ("PATH", "--output", "-o", "text|json", "Exits with 0", "with 1 when one fails"),
}


@pytest.mark.parametrize(("command", "option"), [(command, "--help") for command in HELP] + [((), "-h")])
def test_help_speaks_of_every_option(command: tuple[str, ...], option: str) -> None:
    done = reprieve(*command, option)
    assert done.returncode == 0
    assert done.stderr == ""
    assert f"Usage: {' '.join(('reprieve', *command))} [OPTIONS]" in done.stdout
    assert [word for word in HELP[command] if word not in " ".join(done.stdout.split())] == []
    assert "<bool>" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_without_a_command_there_is_help() -> None:
    done = reprieve()
    assert "Usage: reprieve" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_the_version_is_that_of_the_package() -> None:
    done = reprieve("--version")
    assert (done.returncode, done.stdout) == (0, f"reprieve {package.__version__}\n")


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        (("check",), "Missing option '--filename'"),
        (("chek",), "No such command 'chek'. Did you mean 'check'?"),
        (("check", "-f", "x", "--srict"), "No such option: --srict"),
        (("check", "-f", "x", "-o", "xml"), "'xml' is not one of 'text', 'json'"),
    ],
)
def test_a_mistake_is_named_and_exits_with_2(arguments: tuple[str, ...], want: str) -> None:
    done = reprieve(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert want in done.stderr
    assert "Usage: reprieve" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("shell", "want"), [("bash", "complete -o default"), ("zsh", "#compdef reprieve"), ("fish", "complete ")]
)
def test_completion_is_shown_for_every_shell(shell: str, want: str) -> None:
    done = reprieve("--show-completion", shell)
    assert done.returncode == 0
    assert want in done.stdout
    assert "_REPRIEVE_COMPLETE" in done.stdout


def test_completion_is_installed_at_home(tmp_path: Path) -> None:
    done = reprieve("--install-completion", "bash", HOME=str(tmp_path))
    assert done.returncode == 0
    script = tmp_path / ".bash_completions" / "reprieve.sh"
    assert "_reprieve_completion" in script.read_text()
    assert str(script) in (tmp_path / ".bashrc").read_text()


@pytest.mark.parametrize(("typed", "want"), [("reprieve ch", ["check"]), ("reprieve check --st", ["--strict"])])
def test_the_shell_is_told_what_can_follow(typed: str, want: list[str]) -> None:
    words = str(len(typed.split()) - 1)
    done = reprieve(_REPRIEVE_COMPLETE="complete_bash", COMP_WORDS=typed, COMP_CWORD=words)
    assert done.stdout.split() == want
