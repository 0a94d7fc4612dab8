"""`reprieve up`: a whole control plane in one process."""

import asyncio
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from reprieve.cli.addresses import default_directory
from reprieve.cli.manifests import read_manifests
from reprieve.cli.options import Config, Gates, Search, check_quantity, settings_from
from reprieve.cli.up.access import NoToken, TokenFileOption, close_to_others, entrance
from reprieve.cli.up.gates import for_demo
from reprieve.manifests.reading import unheard

DEFAULT_PORT = 7410


class Agent(StrEnum):
    process = "process"
    hollow = "hollow"


Data = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", help="Where everything is kept; else `reprieve` below the user's data home."),
]
Host = Annotated[
    str, typer.Option("--host", metavar="ADDRESS", help="Where to listen; beyond this machine never without a token.")
]
Port = Annotated[int, typer.Option("--port", metavar="PORT", min=0, max=65535, help="The port; 0: any that is free.")]
Agents = Annotated[
    list[Agent] | None,
    typer.Option(
        "--agent",
        metavar="process|hollow",
        help="process: this machine is a node and runs real processes (default). hollow: nodes on which pods only "
        "pretend to run. Repeatable.",
    ),
]
UserOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--user",
        metavar="NAMESPACE=USER",
        help="Run the processes of a namespace as this user, and of namespaces without one not at all; for root. "
        "Repeatable.",
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
    token_file: TokenFileOption = None,
    insecure_no_token: NoToken = False,
    user: UserOptions = None,
    agent: Agents = None,
    nodes: Nodes = 3,
    node_cpu: NodeCpu = "8",
    node_memory: NodeMemory = "32Gi",
    node_gpus: NodeGpus = 0,
    config: Config = None,
    feature_gates: Gates = None,
    search: Search = None,
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
    settings = settings_from(config, feature_gates, search)
    settings = for_demo(settings) if demo else settings
    manifests = read_manifests(filename or [])
    # Imported here: no other verb needs a scheduler or a server.
    from reprieve.agents.process.users import Users
    from reprieve.cli.up.nodes import HollowNodes
    from reprieve.cli.up.run import Setup, run

    agents = agent if agent is not None else [] if demo else [Agent.process]
    hollow = HollowNodes(nodes, node_cpu, node_memory, node_gpus) if Agent.hollow in agents else None
    if hollow is not None:
        check_quantity("--node-cpu", "cpu", node_cpu)
        check_quantity("--node-memory", "memory", node_memory)
    directory = None if demo and data is None and not agents else (data or default_directory()).absolute()
    close_to_others(directory)
    setup = Setup(
        directory=directory,
        host=host,
        port=port,
        entrance=entrance(token_file, directory, insecure=insecure_no_token),
        processes=Agent.process in agents,
        users=Users.named(user or ()),
        hollow=hollow,
        settings=settings,
        shadow=shadow,
        names=tuple(scheduler_name or ()),
        manifests=manifests,
        demo=demo,
    )
    with unheard():
        asyncio.run(run(setup))
