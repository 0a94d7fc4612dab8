"""DaemonSets: one pod of a template on each node that takes it.

1. Which nodes these are, and what the pod for each looks like, is in `daemon_nodes`. A node gets its next pod when the
   one before is gone.
2. Where there are several on a node the one that has been there longest stays; on nodes that do not take it, or are
   gone, none does.
3. A pod that failed by itself is replaced after a while that grows with each one; one that had to make way, or ended
   well, at once.
4. A new template replaces pods as spec.updateStrategy says: RollingUpdate takes so many at a time that no more than
   maxUnavailable nodes are without a pod that is available, or puts the new one beside the old one on maxSurge nodes;
   OnDelete waits until somebody deletes the old one.
5. However many nodes there are, one turn makes or deletes no more than 250 pods.
6. A DaemonSet that a propagation policy selects is left alone.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from reprieve.controllers.pods import daemon_nodes, templates
from reprieve.controllers.pods.daemon_nodes import REVISION, Taker
from reprieve.controllers.pods.templates import AT_ONCE
from reprieve.controllers.runner import OWNED, controller_key, earliest, own_key, patience_for
from reprieve.manifests.core import scaled
from reprieve.manifests.kinds import DAEMON_SETS, NODES, PODS
from reprieve.model.backoff import Backoff
from reprieve.model.clock import Clock
from reprieve.stores.protocol import Store
from reprieve.stores.records import Record
from reprieve.stores.writing import by_controller, is_leaving, oldest_first, together
from reprieve.texts import controllers as texts

_GATHER = 0.1
"""Seconds to collect changes of nodes: they come in crowds."""
_BACK_OFF = Backoff(first=1.0, longest=900.0)
_NO_NODE = Taker(wants=False, keeps=False)


class DaemonSetController(templates.TemplateController):
    component = "daemonset-controller"

    def __init__(self, store: Store, clock: Clock) -> None:
        super().__init__(store, clock)
        self._sets = self.watch(DAEMON_SETS, own_key)
        of_set = controller_key(DAEMON_SETS.kind)
        self._pods = self.watch(
            PODS, of_set, {"owner": by_controller}, concern=templates.standing, patience=self._patience, mark=OWNED
        )
        self._nodes = self.watch_changes(NODES, self._node_changed)
        self._nodes_seen = 0
        self._takers: dict[str, tuple[object, dict[str, Taker]]] = {}
        """By DaemonSet: what nodes are to it, as long as neither its template nor any node changes."""
        self._failures: dict[tuple[str, str], int] = {}
        """By DaemonSet and node: how many pods failed there, one after the other."""
        self.watch_policies(self._sets)

    def _patience(self, key: Any) -> float:
        daemon_set = self._sets.get(key[1], key[0])
        return patience_for(self._pods.count("owner", daemon_set.uid)) if daemon_set is not None else 0.0

    def _node_changed(self, before: Record | None, after: Record | None) -> None:
        if before is not None and after is not None and _face(before) == _face(after):
            return
        self._nodes_seen += 1
        for daemon_set in self._sets:
            self.enqueue(daemon_set.key, _GATHER)

    async def reconcile(self, key: Any) -> float | None:
        daemon_set = self._sets.get(key[1], key[0])
        if daemon_set is None or is_leaving(daemon_set) or self.is_federated(daemon_set):
            return None
        turn = DaemonSetTurn(
            daemon_set, self._takers_of(daemon_set), self._pods.by("owner", daemon_set.uid), self.clock()
        )
        turn.keep_one_each()
        turn.update()
        wait = self._hold_up_failures(turn)
        doomed, missing = turn.doomed[:AT_ONCE], turn.missing[:AT_ONCE]
        await self._count_failures(turn, doomed)
        await together(self.delete(pod, grace=0 if turn.node_is_gone(pod) else None) for pod in doomed)
        await self.create_pods(daemon_set, [daemon_nodes.pod_for(daemon_set, node, turn.revision) for node in missing])
        now = DaemonSetTurn(daemon_set, turn.takers, self._pods.by("owner", daemon_set.uid), self.clock())
        await self.modify_status(daemon_set, now.write_status)
        more = 0.0 if len(turn.doomed) > AT_ONCE or len(turn.missing) > AT_ONCE else None
        return earliest(wait, more, now.next_available())

    def _takers_of(self, daemon_set: Record) -> dict[str, Taker]:
        state = daemon_set.metadata.get("generation"), self._nodes_seen
        known = self._takers.get(daemon_set.uid)
        if known is None or known[0] != state:
            gone = self._takers.keys() - {each.uid for each in self._sets}
            for uid in gone:
                del self._takers[uid]
            known = self._takers[daemon_set.uid] = state, daemon_nodes.takers(daemon_set, self._nodes)
        return known[1]

    def _hold_up_failures(self, turn: "DaemonSetTurn") -> float | None:
        """Pods that failed by themselves stay until their back-off is over; seconds until the first of them is."""
        waits = []
        for pod in [pod for pod in turn.doomed if _failed(pod)]:
            failures = self._failures.get((turn.daemon_set.uid, daemon_nodes.node_of(pod)), 0) + 1
            due = templates.finished_at(pod) + timedelta(seconds=_BACK_OFF.wait(failures))
            if due > turn.now:
                turn.doomed.remove(pod)
                waits.append((due - turn.now).total_seconds())
        return min(waits, default=None)

    async def _count_failures(self, turn: "DaemonSetTurn", doomed: Iterable[Record]) -> None:
        for node, pod in turn.there() if self._failures else ():
            since = templates.ready_since(pod)
            if since is not None and (turn.now - since).total_seconds() > _BACK_OFF.longest:
                self._failures.pop((turn.daemon_set.uid, node), None)
        for pod in filter(_failed, doomed):
            node = daemon_nodes.node_of(pod)
            key = turn.daemon_set.uid, node
            self._failures[key] = self._failures.get(key, 0) + 1
            await self.tell(turn.daemon_set, "FailedDaemonPod", texts.daemon_pod_failed(pod.name, node), kind="Warning")


class DaemonSetTurn:
    """One look at a DaemonSet: who is where, who has to go (`doomed`), and which nodes lack a pod (`missing`)."""

    def __init__(self, daemon_set: Record, takers: dict[str, Taker], pods: list[Record], now: datetime) -> None:
        self.daemon_set = daemon_set
        self.takers = takers
        self.now = now
        self.revision = templates.hash_of(daemon_set.data["spec"]["template"])
        self._on: dict[str, list[Record]] = {}
        for pod in oldest_first(pods):
            self._on.setdefault(daemon_nodes.node_of(pod), []).append(pod)
        self.doomed: list[Record] = []
        self.missing: list[str] = []

    def there(self) -> list[tuple[str, Record]]:
        """The pod that counts on each node that wants one: of several that run, or will, the oldest."""
        found = ((node, self._active(node)) for node, taker in self.takers.items() if taker.wants)
        return [(node, pods[0]) for node, pods in found if pods]

    def _active(self, node: str) -> list[Record]:
        return [pod for pod in self._on.get(node, ()) if templates.is_active(pod)]

    def node_is_gone(self, pod: Record) -> bool:
        """Whether nobody is left on its node who could tell that it has ended."""
        return daemon_nodes.node_of(pod) not in self.takers

    def keep_one_each(self) -> None:
        for node in {**self.takers, **self._on}:
            taker, pods = self.takers.get(node, _NO_NODE), self._on.get(node, [])
            staying = self._staying(self._active(node)) if taker.keeps else []
            gone = node not in self.takers
            self.doomed += [pod for pod in pods if gone or (pod not in staying and not is_leaving(pod))]
            if taker.wants and not pods:
                self.missing.append(node)

    def _staying(self, active: list[Record]) -> list[Record]:
        """Of several pods on a node the oldest; but a new one beside an old one is to replace that, which stays until
        the new one is available."""
        fresh = [pod for pod in active if self._is_new(pod)]
        if self._strategy != "RollingUpdate" or not self._most("maxSurge", 0) or not fresh or self._is_new(active[0]):
            return active[:1]
        waits = self._available(active[0]) and not self._available(fresh[0])
        return [active[0], fresh[0]] if waits else fresh[:1]

    # New templates

    @property
    def _strategy(self) -> str:
        return str((self.daemon_set.data["spec"].get("updateStrategy") or {}).get("type") or "RollingUpdate")

    def _most(self, field: str, otherwise: int) -> int:
        """maxUnavailable or maxSurge: a number, or a share of the nodes that want a pod, rounded up."""
        said = (self.daemon_set.data["spec"].get("updateStrategy") or {}).get("rollingUpdate") or {}
        return scaled(said.get(field, otherwise), sum(taker.wants for taker in self.takers.values()))

    def _is_new(self, pod: Record) -> bool:
        return bool((pod.metadata.get("labels") or {}).get(REVISION) == self.revision)

    def update(self) -> None:
        """Old pods that make room for new ones now; those that are of no use first."""
        if self._strategy != "RollingUpdate":
            return
        going = {pod.uid for pod in self.doomed}
        old = [(node, pod) for node, pod in self.there() if not self._is_new(pod) and pod.uid not in going]
        useless = [pod for _, pod in old if not self._available(pod)]
        self.doomed += useless
        useful = [(node, pod) for node, pod in old if self._available(pod)]
        surge = self._most("maxSurge", 0)
        if surge:
            under_way = sum(len(self._active(node)) > 1 for node, _ in useful)
            self.missing += [node for node, _ in useful if len(self._on[node]) == 1][: max(0, surge - under_way)]
        else:
            wanting = sum(taker.wants for taker in self.takers.values())
            without = wanting - sum(self._available(pod) for _, pod in self.there() if pod.uid not in going)
            left = max(1, self._most("maxUnavailable", 1)) - without
            self.doomed += [pod for _, pod in useful[: max(0, left)]]

    # How it stands

    def _needed(self) -> float:
        return float(self.daemon_set.data["spec"].get("minReadySeconds", 0))

    def _available(self, pod: Record) -> bool:
        since = templates.ready_since(pod)
        return since is not None and (self.now - since).total_seconds() >= self._needed()

    def next_available(self) -> float | None:
        """After how many seconds the next pod will have been ready for long enough."""
        ready = (templates.ready_since(pod) for pods in self._on.values() for pod in pods)
        left = (self._needed() - (self.now - since).total_seconds() for since in ready if since is not None)
        return min((seconds for seconds in left if seconds > 0), default=None)

    def write_status(self, status: dict[str, Any]) -> None:
        there = [pod for _, pod in self.there()]
        unwanted = {node for node in self._on if not self.takers.get(node, _NO_NODE).wants and self._active(node)}
        status["desiredNumberScheduled"] = sum(taker.wants for taker in self.takers.values())
        status["currentNumberScheduled"] = len(there)
        status["numberMisscheduled"] = len(unwanted)
        status["numberReady"] = sum(map(templates.is_ready, there))
        status["numberAvailable"] = sum(map(self._available, there))
        status["numberUnavailable"] = status["desiredNumberScheduled"] - status["numberAvailable"]
        status["updatedNumberScheduled"] = sum(map(self._is_new, there))
        status["observedGeneration"] = self.daemon_set.metadata.get("generation", 1)


def _failed(pod: Record) -> bool:
    return templates.phase_of(pod) == "Failed" and not templates.was_disrupted(pod)


def _face(node: Record) -> tuple[object, ...]:
    """What decides whether a node takes a pod."""
    return node.metadata.get("labels"), (node.data.get("spec") or {}).get("taints")
