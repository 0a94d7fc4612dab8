"""How a pod gets its node, and how it is evicted: as far as its disruption budget allows.

1. Pods that have finished, wait, or are on their way out disrupt nothing: no budget is asked.
2. A pod that two budgets select cannot be evicted: nobody could say which one pays.
3. A pod that is not ready may go without payment while as many are healthy as must be; always, if its budget says so.
4. Otherwise the budget must allow one more disruption, and pays in the same transaction. It remembers the pod until it
   is seen to go.
"""

from datetime import timedelta

from reprieve.manifests.core import PodDisruptionBudget, PodDisruptionBudgetStatus
from reprieve.manifests.kinds import BUDGETS, NODES, PODS
from reprieve.manifests.meta import find_condition
from reprieve.manifests.pods import Pod
from reprieve.model.clock import timestamp
from reprieve.model.conditions import set_condition
from reprieve.stores.api.incoming import Data, decode
from reprieve.stores.embedded.deletion import is_over, mark_deleted
from reprieve.stores.embedded.writer import Writer
from reprieve.stores.errors import StoreError, TooManyRequests, conflict
from reprieve.stores.records import EventType, Record, WatchEvent

_RETRY_SECONDS = 10
_REMEMBERED = timedelta(minutes=2)
"""How long a budget counts a pod whose eviction it has allowed as gone, should nobody see it go."""


def bind(writer: Writer, name: str, namespace: str, node: str, uid: str = "", version: int | None = None) -> Record:
    """Give a pod its node."""
    old = writer.expected(PODS, name, namespace, version, uid)
    writer.existing(NODES, node)
    refusal = _why_not_bind(old.manifest)
    if refusal:
        raise conflict(PODS, name, refusal)
    new: Data = decode(old.raw)
    new["spec"]["nodeName"] = node
    status = new.setdefault("status", {})
    status.pop("nominatedNodeName", None)
    set_condition(status, "PodScheduled", "True", now=writer.clock())
    new["metadata"]["generation"] = new["metadata"].get("generation", 0) + 1
    return writer.write("MODIFIED", PODS, new, old, check=False)


def _why_not_bind(pod: Pod) -> str:
    if pod.spec.node_name:
        return f"it is on node {pod.spec.node_name} already"
    if pod.terminating:
        return "it is being deleted"
    if pod.spec.scheduling_gates:
        gates = ", ".join(gate.name for gate in pod.spec.scheduling_gates)
        return f"it still has scheduling gates: {gates}"
    return "it has finished" if pod.finished else ""


def evict(writer: Writer, name: str, namespace: str, grace: int | None = None, uid: str = "") -> Record:
    old = writer.expected(PODS, name, namespace, None, uid)
    budgets = _budgets_of(writer, old) if _disrupts(old.manifest) else []
    if len(budgets) > 1:
        names = ", ".join(sorted(budget.name for budget in budgets))
        raise StoreError(f'pods "{name}" cannot be evicted: more than one PodDisruptionBudget selects it: {names}')
    if not budgets or _is_free(old.manifest, budgets[0]):
        return writer.delete(old, grace, "Background")
    return _delete_with(writer, old, grace, budgets[0], _pay(writer, budgets[0], name))


def _disrupts(pod: Pod) -> bool:
    return not pod.finished and not pod.terminating and pod.status.phase != "Pending"


def _budgets_of(writer: Writer, pod: Record) -> list[Record]:
    labels = pod.manifest.metadata.labels
    return [
        budget
        for budget in writer.journal.of_kind(BUDGETS).records(pod.namespace)
        if (selector := budget.manifest.spec.selector) is not None and selector.matches(labels)
    ]


def _is_free(pod: Pod, budget: Record) -> bool:
    ready = find_condition(pod.status.conditions, "Ready")
    if ready is not None and ready.status == "True":
        return False
    status: PodDisruptionBudgetStatus = budget.manifest.status
    always: bool = decode(budget.raw).get("spec", {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow"
    return always or status.current_healthy >= status.desired_healthy > 0


def _pay(writer: Writer, budget: Record, pod: str) -> Data:
    """The budget after one more disruption."""
    manifest: PodDisruptionBudget = budget.manifest
    paid: Data = decode(budget.raw)
    status = paid.setdefault("status", {})
    observed = status.get("observedGeneration")
    if isinstance(observed, int) and observed < paid["metadata"].get("generation", 0):
        raise _not_now(pod, budget.name, "it has changed and is not yet counted anew")
    if manifest.status.disruptions_allowed <= 0:
        healthy, needed = manifest.status.current_healthy, manifest.status.desired_healthy
        raise _not_now(pod, budget.name, f"{needed} pods have to be healthy, and {healthy} are")
    now = writer.clock()
    remembered = manifest.status.disrupted_pods.items()
    status["disruptionsAllowed"] = manifest.status.disruptions_allowed - 1
    status["disruptedPods"] = {name: timestamp(at) for name, at in remembered if now - at < _REMEMBERED}
    status["disruptedPods"][pod] = timestamp(now)
    return paid


def _not_now(pod: str, budget: str, why: str) -> TooManyRequests:
    message = f'pods "{pod}" cannot be evicted now: it would violate the PodDisruptionBudget "{budget}": {why}'
    causes = [("DisruptionBudget", f"the budget {budget} does not allow it: {why}", "")]
    return TooManyRequests(message, kind=PODS.plural, name=pod, causes=causes, retry_after=_RETRY_SECONDS)


def _delete_with(writer: Writer, old: Record, grace: int | None, budget: Record, paid: Data) -> Record:
    new: Data = decode(old.raw)
    mark_deleted(new, grace, "Background", writer.clock())
    kind: EventType = "DELETED" if is_over(new) else "MODIFIED"
    events = [
        WatchEvent("MODIFIED", writer.draft("MODIFIED", BUDGETS, paid, budget, check=False)),
        WatchEvent(kind, writer.draft(kind, PODS, new, old, ahead=2, check=False)),
    ]
    writer.commit(events)
    return events[1].record
