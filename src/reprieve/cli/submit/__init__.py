"""`reprieve submit`: run a command when its turn has come."""

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reprieve.cli.connecting import connected
from reprieve.cli.figures import GPU
from reprieve.cli.options import BadUsage, Namespace, Server, Token, check_quantity
from reprieve.cli.output import Form, Shape, as_list, print_object
from reprieve.cli.submit.manifests import Submission, name_for, priority_class, priority_class_name
from reprieve.cli.submit.queues import wait_in
from reprieve.cli.watching import pauses, progress
from reprieve.client.errors import Refused
from reprieve.client.paths import short_name
from reprieve.manifests.identity import DEFAULT_NAMESPACE
from reprieve.manifests.kinds import JOBS, POD_GROUPS, PRIORITY_CLASSES
from reprieve.manifests.problems import nearest
from reprieve.model.conditions import true_condition
from reprieve.texts import cli as texts

if TYPE_CHECKING:
    from reprieve.client.connection import Client

Data = dict[str, Any]
GANGS = "GenericWorkload"
"""The feature gate that a gang needs."""


class Restart(StrEnum):
    never = "Never"
    on_failure = "OnFailure"


Command = Annotated[
    list[str] | None, typer.Argument(metavar="COMMAND", help="Behind `--`: what to run, with its arguments.")
]
Name = Annotated[str, typer.Option("--name", metavar="NAME", help="What the Job is called; else after the command.")]
Priority = Annotated[
    str,
    typer.Option(
        "--priority", metavar="NUMBER|CLASS", help="How important it is: a number, or a PriorityClass by name."
    ),
]
Cpu = Annotated[str, typer.Option("--cpu", metavar="QUANTITY", help="CPUs of each replica.")]
Memory = Annotated[str, typer.Option("--memory", metavar="QUANTITY", help="Memory of each replica, such as 4Gi.")]
Gpu = Annotated[int, typer.Option("--gpu", metavar="N", min=0, help="GPUs of each replica.")]
Replicas = Annotated[int, typer.Option("--replicas", metavar="N", min=1, help="How many to run, side by side.")]
Gang = Annotated[bool, typer.Option("--gang", help="All replicas start together, and make way together.")]
Queue = Annotated[
    str, typer.Option("--queue", metavar="NAME", help="The queue to wait in: one of YuniKorn's, or a LocalQueue.")
]
Env = Annotated[
    list[str] | None,
    typer.Option("--env", "-e", metavar="NAME[=VALUE]", help="A variable; without a value, as it is here. Repeatable."),
]
Workdir = Annotated[
    Path | None, typer.Option("--workdir", metavar="DIR", help="Where it runs; else where this command is called.")
]
RestartPolicy = Annotated[
    Restart, typer.Option("--restart", metavar="Never|OnFailure", help="Whether a command that fails starts again.")
]
Retries = Annotated[
    int, typer.Option("--retries", metavar="N", min=0, help="How often it may fail; making way is no failure.")
]
Wait = Annotated[bool, typer.Option("--wait", help="Wait for the end; exits with 1 if it fails.")]


def submit(
    command: Command = None,
    name: Name = "",
    priority: Priority = "",
    cpu: Cpu = "1",
    memory: Memory = "",
    gpu: Gpu = 0,
    replicas: Replicas = 1,
    gang: Gang = False,
    queue: Queue = "",
    env: Env = None,
    workdir: Workdir = None,
    restart: RestartPolicy = Restart.never,
    retries: Retries = 0,
    wait: Wait = False,
    namespace: Namespace = None,
    output: Shape = Form.table,
    server: Server = None,
    token: Token = None,
) -> None:
    """Submit a command as a Job; it runs when there is room, or when others make way for it.

    A Job that has to make way comes back by itself. Exits with 1 when the server refuses it.
    """
    if not command:
        raise BadUsage(texts.NO_COMMAND)
    if gang and replicas < 2:
        raise BadUsage(texts.GANG_OF_ONE)
    resources, variables = _resources(cpu, memory, gpu), _variables(env or [])
    with connected(server, token) as client:
        wanted = Submission(
            name=name or name_for(command),
            namespace=namespace or DEFAULT_NAMESPACE,
            command=command,
            resources=resources,
            replicas=replicas,
            gang=gang,
            queue=wait_in(client, queue, namespace or DEFAULT_NAMESPACE) if queue else None,
            priority_class=_class_for(client, priority) if priority else "",
            environment=variables,
            directory=str((workdir or Path.cwd()).absolute()),
            restart=restart.value,
            retries=retries,
        )
        _print(_create(client, wanted), output)
        if wait:
            _wait(client, wanted, output)


def _resources(cpu: str, memory: str, gpus: int) -> dict[str, str]:
    asked = {"cpu": cpu, "memory": memory, GPU: str(gpus) if gpus else ""}
    for resource, text in asked.items():
        check_quantity(f"--{resource}", resource, text or "0")
    return {resource: text for resource, text in asked.items() if text}


def _variables(given: list[str]) -> dict[str, str]:
    variables: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not name or (not equals and name not in os.environ):
            raise BadUsage(texts.no_such("--env", text, "it must be NAME=VALUE, or the NAME of one that is set here"))
        variables[name] = value if equals else os.environ[name]
    return variables


def _class_for(client: "Client", priority: str) -> str:
    """The PriorityClass that is meant; for a number one is made where there is none."""
    try:
        value = int(priority)
    except ValueError:
        return _class_named(client, priority)
    name = priority_class_name(value)
    found = client.find(PRIORITY_CLASSES, name)
    if found is None:
        try:
            found = client.create(PRIORITY_CLASSES, priority_class(value))
        except Refused as error:
            if not error.already_exists:
                raise
            found = client.get(PRIORITY_CLASSES, name)
    if found["value"] != value:
        raise Refused(texts.class_differs(name, found["value"], value))
    return name


def _class_named(client: "Client", name: str) -> str:
    known = [item["metadata"]["name"] for item in client.items(PRIORITY_CLASSES)]
    if name not in known and not name.startswith("system-"):
        raise Refused(texts.no_class(name, nearest(name, known)))
    return name


def _create(client: "Client", wanted: Submission) -> list[Data]:
    """The Job, then its group: the pods wait for it, and it goes with the Job."""
    if wanted.gang and client.feature_gates().get(GANGS) is False:
        raise BadUsage(texts.no_gangs(GANGS))
    job = client.create(JOBS, wanted.job(), wanted.namespace)
    if not wanted.gang:
        return [job]
    try:
        return [job, client.create(POD_GROUPS, wanted.pod_group(job), wanted.namespace)]
    except Refused:
        client.delete(JOBS, wanted.name, wanted.namespace)
        raise


def _print(made: list[Data], output: Form) -> None:
    if output in (Form.json, Form.yaml):
        print_object(made[0] if len(made) == 1 else as_list(made), output)
        return
    for resource, each in zip((JOBS, POD_GROUPS), made, strict=False):
        name = short_name(resource, each["metadata"]["name"])
        typer.echo(name if output is Form.name else f"{name} created")


def _wait(client: "Client", wanted: Submission, output: Form) -> None:
    name = short_name(JOBS, wanted.name)
    with progress(f"{name}: {texts.PENDING}") as tell:
        for _ in pauses():
            job = client.get(JOBS, wanted.name, wanted.namespace)
            ended = true_condition(job, "Complete", "Failed")
            if ended:
                break
            tell(f"{name}: {_state(job)}")
    if ended["type"] == "Failed":
        raise Refused(texts.job_failed(name, ended.get("message", "")))
    if output in (Form.table, Form.wide):
        typer.echo(f"{name} complete")


def _state(job: Data) -> str:
    if job["spec"].get("suspend"):
        return texts.QUEUED
    status = job.get("status", {})
    return texts.running(status.get("ready") or 0, status.get("succeeded") or 0, job["spec"]["completions"])
