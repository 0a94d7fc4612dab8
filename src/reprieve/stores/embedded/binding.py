"""How a pod gets its node."""

from reprieve.manifests.kinds import NODES, PODS
from reprieve.manifests.pods import Pod
from reprieve.model.conditions import set_condition
from reprieve.stores.api.incoming import Data, decode
from reprieve.stores.api.refusals import conflict
from reprieve.stores.embedded.writer import Writer
from reprieve.stores.records import Record


def bind(writer: Writer, name: str, namespace: str, node: str, uid: str = "") -> Record:
    """Give a pod its node."""
    old = writer.expected(PODS, name, namespace, None, uid)
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
