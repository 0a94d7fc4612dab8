"""`reprieve up`: a whole control plane in one process."""

import asyncio
import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from reprieve.cli.connecting import TOKEN, default_directory
from reprieve.cli.manifests import read_manifests
from reprieve.cli.options import BadUsage, Config, Gates, check_quantity, settings_from
from reprieve.cli.up.gates import for_demo
from reprieve.manifests.reading import unheard
from reprieve.texts import cli as texts

DEFAULT_PORT = 7410


class Agent(StrEnum):
    process = "process"
    hollow = "hollow"


Data = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", help="Where everything is kept; else `reprieve` below the user's data home."),
]
Host = Annotated[
    str, typer.Option("--host", metavar="ADDRESS", help="Where to listen; beyond this machine only with a token.")
]
Port = Annotated[int, typer.Option("--port", metavar="PORT", min=0, max=65535, help="The port; 0: any that is free.")]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        "--token-file", metavar="FILE", help="Only serve who sends the token in this file; else REPRIEVE_TOKEN's."
    ),
]
Agents = Annotated[
    list[Agent] | None,
    typer.Option(
        "--agent",
        metavar="process|hollow",
        help="process: this machine is a node and runs real processes (default). hollow: nodes on which pods only "
        "pretend to run. Repeatable.",
    ),
]
Nodes = Annotated[int, typer.Option("--nodes", metavar="N", min=0, max=100_000, help="How many hollow nodes.")]
NodeCpu = Annotated[str, typer.Option("--node-cpu", metavar="QUANTITY", help="CPUs of each hollow node.")]
NodeMemory = Annotated[str, typer.Option("--node-memory", metavar="QUANTITY", help="Memory of each hollow node.")]
NodeGpus = Annotated[int, typer.Option("--node-gpus", metavar="N", min=0, help="GPUs of each hollow node.")]
Shadow = Annotated[bool, typer.Option("--shadow", help="Decide and record, and write nothing.")]
Names = Annotated[
    list[str] | None,
    typer.Option(
        "--scheduler-name", metavar="NAME", help="Serve only pods that name this scheduler. Repeatable; else all."
    ),
]
Manifests = Annotated[
    list[str] | None,
    typer.Option("--filename", "-f", metavar="FILE|DIR|-", help="Manifests to apply at the start. Repeatable."),
]
Demo = Annotated[bool, typer.Option("--demo", help="Show what it does, on hollow clusters; keeps nothing.")]


def up(
    data: Data = None,
    host: Host = "127.0.0.1",
    port: Port = DEFAULT_PORT,
    token_file: TokenFile = None,
    agent: Agents = None,
    nodes: Nodes = 3,
    node_cpu: NodeCpu = "8",
    node_memory: NodeMemory = "32Gi",
    node_gpus: NodeGpus = 0,
    config: Config = None,
    feature_gates: Gates = None,
    shadow: Shadow = False,
    scheduler_name: Names = None,
    filename: Manifests = None,
    demo: Demo = False,
) -> None:
    """Run a control plane on this machine: API, scheduler, controllers and nodes.

    Without any option this machine becomes one node, and what is submitted shares it fairly. The other commands find it
    by themselves. Ctrl-C stops it; what is stored stays. Exits with 2 when the data is in use, the port is taken, or
    the settings cannot be used.
    """
    settings = settings_from(config, feature_gates)
    settings = for_demo(settings) if demo else settings
    manifests = read_manifests(filename or [])
    token = _token(token_file)
    # Imported here: no other verb needs a scheduler or a server.
    from reprieve.cli.up.nodes import HollowNodes
    from reprieve.cli.up.run import Setup, run

    agents = agent if agent is not None else [] if demo else [Agent.process]
    hollow = HollowNodes(nodes, node_cpu, node_memory, node_gpus) if Agent.hollow in agents else None
    if hollow is not None:
        check_quantity("--node-cpu", "cpu", node_cpu)
        check_quantity("--node-memory", "memory", node_memory)
    setup = Setup(
        directory=None if demo and data is None and not agents else (data or default_directory()).absolute(),
        host=host,
        port=port,
        token=token,
        token_file=str(token_file.absolute()) if token_file is not None else "",
        processes=Agent.process in agents,
        hollow=hollow,
        settings=settings,
        shadow=shadow,
        names=tuple(scheduler_name or ()),
        manifests=manifests,
        demo=demo,
    )
    with unheard():
        asyncio.run(run(setup))


def _token(file: Path | None) -> str:
    if file is None:
        return os.environ.get(TOKEN, "")
    try:
        token = file.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadUsage(texts.unusable(str(file), error)) from error
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise BadUsage(texts.no_such("--token-file", str(file), "it must hold one word of printable ASCII characters"))
    return token
