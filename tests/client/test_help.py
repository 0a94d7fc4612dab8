"""The help of the verbs that talk to a control plane: every option is there, and explained."""

from __future__ import annotations

import pytest

from tests.cli.running import call

SERVER = ("--server", "REPRIEVE_SERVER", "--token", "REPRIEVE_TOKEN")
PLACE = ("--namespace", "-n", *SERVER)
FORMS = ("--output", "-o", "table|wide|json|yaml|name")
HELP: dict[str, tuple[str, ...]] = {
    "up": (
        *("--data", "--host", "--port", "7410", "--token-file", "--agent", "process|hollow", "--nodes", "--node-cpu"),
        *("--node-memory", "--node-gpus", "--config", "--feature-gates", "--shadow", "--scheduler-name", "--filename"),
        *("--demo", "Ctrl-C", "Exits with 2"),
    ),
    "get": (*PLACE, *FORMS, "--all-namespaces", "-A", "--selector", "-l", "--field-selector", "--watch", "-w"),
    "describe": (*PLACE, "--selector"),
    "apply": (*PLACE, *FORMS, "--filename", "-f", "Exits with 1", "with 2"),
    "delete": (*PLACE, "--filename", "--all", "--grace-period", "--force", "--wait", "--no-wait", "--timeout"),
    "logs": (*PLACE, "--container", "-c", "--follow", "-f", "--tail", "--since", "--previous", "--timestamps"),
    "events": (*PLACE, *FORMS, "--for", "--watch", "--all-namespaces"),
    "submit": (
        *(*PLACE, "--name", "--priority", "NUMBER|CLASS", "--cpu", "default: 1", "--memory", "--gpu", "--replicas"),
        *("--gang", "--queue", "--env", "--workdir", "--restart", "Never|OnFailure", "--retries", "--wait"),
    ),
    "top": (*PLACE, "nodes|pods|queues", "--watch", "--selector"),
    "explain": (*PLACE, "KIND/NAMESPACE/NAME", "--why-not"),
    "plan": (*SERVER, "--live"),
}


@pytest.mark.parametrize("verb", HELP)
def test_help_speaks_of_every_option(verb: str) -> None:
    done = call(verb, "--help")
    assert (done.code, done.stderr) == (0, "")
    assert f"Usage: reprieve {verb} [OPTIONS]" in done.stdout
    words = " ".join(done.stdout.replace("│", " ").split())
    assert [word for word in HELP[verb] if word not in words] == []
    assert max(map(len, done.lines)) <= 100


def test_all_verbs_are_listed() -> None:
    text = call("--help").stdout
    assert [verb for verb in HELP if f" {verb} " not in text] == []
