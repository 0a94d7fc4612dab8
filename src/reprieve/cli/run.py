"""`reprieve run`: a scheduler for a real Kubernetes cluster, beside the one that it has."""

import asyncio
import logging
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from reprieve.cli.options import BadUsage, Config, Context, Gates, Kubeconfig, Search, check_policies, settings_from
from reprieve.configuration import Settings
from reprieve.manifests.problems import Origin
from reprieve.texts import cli as texts
from reprieve.texts import incumbents

if TYPE_CHECKING:
    from reprieve.kubernetes_plane import ClusterSetup

DEFAULT_PORT = 7411
_LEASE = "kube-system/reprieve"

Names = Annotated[
    list[str] | None,
    typer.Option(
        "--scheduler-name", metavar="NAME", help="Pods that name this scheduler. Repeatable; else `reprieve`."
    ),
]
Shadow = Annotated[bool, typer.Option("--shadow", help="Decide and record, and write nothing.")]
LeaderElect = Annotated[
    bool, typer.Option("--leader-elect/--no-leader-elect", help="Of several replicas, only the holder of a Lease acts.")
]
LeaseName = Annotated[
    str, typer.Option("--lease", metavar="NAMESPACE/NAME", help="The Lease that replicas have in common.")
]
LeaseDuration = Annotated[
    float,
    typer.Option(
        "--leader-elect-lease-duration",
        metavar="SECONDS",
        min=1.0,
        help="How long a lease is good that is not renewed.",
    ),
]
RenewDeadline = Annotated[
    float,
    typer.Option(
        "--leader-elect-renew-deadline", metavar="SECONDS", min=0.1, help="Not renewed for so long, the lease is lost."
    ),
]
RetryPeriod = Annotated[
    float,
    typer.Option(
        "--leader-elect-retry-period", metavar="SECONDS", min=0.01, help="How often it is renewed, or asked for."
    ),
]
Qps = Annotated[float, typer.Option("--kube-api-qps", metavar="N", help="Requests a second; 0: no limit of ours.")]
Burst = Annotated[int, typer.Option("--kube-api-burst", metavar="N", min=1, help="Requests at once.")]
Host = Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Where health, figures and decisions are served.")]
Port = Annotated[int, typer.Option("--port", metavar="PORT", min=0, max=65535, help="The port; 0: any that is free.")]
HistoryFile = Annotated[
    Path | None,
    typer.Option("--history", metavar="FILE", help="Where decisions are remembered; else in memory only."),
]
Policies = Annotated[
    str | None,
    typer.Option("--policies", metavar="A,B", help="Which policies decide, over what --config says; else all."),
]
Controllers = Annotated[
    str | None,
    typer.Option("--controllers", metavar="A,B", help="Controllers that the cluster does not have; else none."),
]
LogFormat = Annotated[str, typer.Option("--log-format", metavar="text|json", help="How log lines are written.")]


def run(
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    scheduler_name: Names = None,
    shadow: Shadow = False,
    leader_elect: LeaderElect = True,
    lease: LeaseName = _LEASE,
    lease_duration: LeaseDuration = 15.0,
    renew_deadline: RenewDeadline = 10.0,
    retry_period: RetryPeriod = 2.0,
    config: Config = None,
    feature_gates: Gates = None,
    search: Search = None,
    policies: Policies = None,
    controllers: Controllers = None,
    kube_api_qps: Qps = 200.0,
    kube_api_burst: Burst = 400,
    host: Host = "127.0.0.1",
    port: Port = DEFAULT_PORT,
    history: HistoryFile = None,
    log_format: LogFormat = "text",
) -> None:
    """Schedule pods of a Kubernetes cluster that name this scheduler, and preempt for them.

    Nothing that it needs is kept here: the decisions are in the cluster's own objects, so that it can be ended at any
    moment, and another replica goes on. Only pods that it schedules itself make way, unless the settings say otherwise
    (`victims: Any`). Exits with 1 when its lease is lost, with 2 when the cluster or the settings cannot be used, and
    when another program decides by the same design there.
    """
    settings = _with_policies(settings_from(config, feature_gates, search), policies)
    # Imported here: no other verb needs them.
    from reprieve.cli.log_lines import log_to_stderr
    from reprieve.controllers.registry import check
    from reprieve.kubernetes_plane import ClusterSetup, names_or_own
    from reprieve.stores.kubernetes.leases import Timing

    log_to_stderr(log_format)
    if not retry_period < renew_deadline < lease_duration:
        raise BadUsage(texts.lease_timing(lease_duration, renew_deadline, retry_period))
    wanted = _words(controllers)
    check(wanted, Origin("--controllers", 0))
    if wanted and shadow:
        raise BadUsage(incumbents.ONLY_WATCHES)
    setup = ClusterSetup(
        kubeconfig=kubeconfig,
        context=context,
        qps=kube_api_qps,
        burst=kube_api_burst,
        names=names_or_own(scheduler_name),
        shadow=shadow,
        history=history,
        controllers=wanted,
        lease=lease if leader_elect and not shadow else "",
        timing=Timing(lease_duration, renew_deadline, retry_period),
    )
    asyncio.run(_run(setup, settings, host, port))


def _with_policies(settings: Settings, policies: str | None) -> Settings:
    if policies is None:
        return settings
    names = _words(policies)
    check_policies(names, Origin("--policies", 0))
    return msgspec.structs.replace(settings, policies=names)


def _words(text: str | None) -> tuple[str, ...]:
    return tuple(word.strip() for word in (text or "").split(",") if word.strip())


async def _run(setup: "ClusterSetup", settings: Settings, host: str, port: int) -> None:
    from reprieve.control_plane import load_calmly
    from reprieve.kubernetes_plane import open_scheduler
    from reprieve.server import serve
    from reprieve.server.app import create_scheduler_app
    from reprieve.stores.kubernetes.incumbents import IncumbentFound
    from reprieve.stores.kubernetes.leases import LeaseLost

    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with open_scheduler(setup, settings) as scheduler:
        serving = await serve(create_scheduler_app(scheduler.plane), host, port)
        logging.getLogger("reprieve").info(texts.serving(serving.url))
        running = asyncio.create_task(scheduler.run())
        stopped = asyncio.create_task(stop.wait())
        calm = asyncio.create_task(load_calmly(scheduler.plane))
        try:
            await asyncio.wait((running, stopped), return_when=asyncio.FIRST_COMPLETED)
            why = running.exception() if running.done() else None
            if isinstance(why, LeaseLost):
                _leave_at_once(str(why), 1)
            if isinstance(why, IncumbentFound) and scheduler.plane.started:
                _leave_at_once(str(why), 2)
            if running.done():
                running.result()
        finally:
            for task in (running, stopped, calm):
                task.cancel()
            await serving.stop()


def _leave_at_once(why: str, code: int) -> None:
    """Nothing may be written any more, not even what is on its way."""
    logging.getLogger("reprieve").error(why)
    sys.stderr.flush()
    os._exit(code)
