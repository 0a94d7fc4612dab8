"""The columns in which people see the objects of a kind, as data; `server/tables.py` fills them."""

from typing import Literal

import msgspec

from reprieve.manifests.kueue import QUEUE_NAME_LABEL

UNSET = "<none>"


class Column(msgspec.Struct, frozen=True):
    """What stands at a path or, where that is not enough, in a cell that is worked out, by its name in `CELLS`."""

    name: str
    path: tuple[str, ...] = ()
    cell: str = ""
    condition: str = ""
    """The condition whose status is shown."""
    default: str = UNSET
    description: str = ""
    wide: bool = False
    """For wide output only."""
    type: Literal["string", "integer"] = "string"
    format: str = ""


def at(name: str, path: str, *, default: str = UNSET, wide: bool = False, description: str = "") -> Column:
    return Column(name, tuple(path.split(".")), default=default, wide=wide, description=description)


def count(name: str, path: str, description: str = "", *, wide: bool = False) -> Column:
    return Column(name, tuple(path.split(".")), description=description, wide=wide, type="integer")


def worked_out(name: str, cell: str, description: str = "", *, wide: bool = False) -> Column:
    return Column(name, cell=cell, description=description, wide=wide)


def condition(name: str, kind: str) -> Column:
    return Column(name, condition=kind)


NAME = Column("Name", ("metadata", "name"), description="The name, unique in its namespace.", format="name")
AGE = worked_out("Age", "age", "How long ago it was created.")

POD = (
    NAME,
    worked_out("Ready", "pod_ready", "Containers that are ready, of all."),
    worked_out("Status", "pod_status", "How the pod is doing, in one word."),
    Column("Restarts", cell="pod_restarts", description="How often its containers started again.", type="integer"),
    AGE,
    at("IP", "status.podIP", wide=True),
    at("Node", "spec.nodeName", wide=True, description="Where it runs."),
    at("Nominated Node", "status.nominatedNodeName", wide=True, description="Where victims make way for it."),
    at("Priority", "spec.priority", wide=True, description="The larger, the more important."),
)
NODE = (
    NAME,
    worked_out("Status", "node_status"),
    worked_out("Roles", "node_roles"),
    AGE,
    at("Version", "status.nodeInfo.kubeletVersion", default=""),
    at("CPU", "status.allocatable.cpu", wide=True, description="What pods may use."),
    at("Memory", "status.allocatable.memory", wide=True, description="What pods may use."),
)
EVENT = (
    worked_out("Last Seen", "last_seen"),
    at("Type", "type"),
    at("Reason", "reason"),
    worked_out("Object", "event_object"),
    at("Message", "message", default=""),
    at("Name", "metadata.name", wide=True),
)
BUDGET = (
    NAME,
    at("Min Available", "spec.minAvailable", default="N/A"),
    at("Max Unavailable", "spec.maxUnavailable", default="N/A"),
    count("Allowed Disruptions", "status.disruptionsAllowed"),
    AGE,
)
JOB = (
    NAME,
    worked_out("Status", "job_status"),
    worked_out("Completions", "job_completions"),
    worked_out("Duration", "job_duration"),
    AGE,
    Column("Queue", ("metadata", "labels", QUEUE_NAME_LABEL), wide=True),
)
JOB_SET = (
    NAME,
    at("TerminalState", "status.terminalState", default="", description="Completed or Failed, once it is over."),
    count("Restarts", "status.restarts"),
    condition("Completed", "Completed"),
    at("Suspended", "spec.suspend", default="false"),
    AGE,
    Column("Queue", ("metadata", "labels", QUEUE_NAME_LABEL), wide=True),
)
REPLICA_SET = (
    NAME,
    count("Desired", "spec.replicas"),
    count("Current", "status.replicas"),
    count("Ready", "status.readyReplicas"),
    AGE,
)
DAEMON_SET = (NAME, count("Desired", "status.desiredNumberScheduled"), count("Ready", "status.numberReady"), AGE)
CLASS_VALUE = count("Value", "value", "The larger, the more important.")
PRIORITY_CLASS = (
    NAME,
    CLASS_VALUE,
    worked_out("Global-Default", "global_default"),
    AGE,
    at("PreemptionPolicy", "preemptionPolicy", default="PreemptLowerPriority"),
)
VOLUME_CLAIM = (
    NAME,
    at("Status", "status.phase", default="Pending"),
    at("Volume", "spec.volumeName", default=""),
    at("StorageClass", "spec.storageClassName", default=""),
    AGE,
)
VOLUME = (
    NAME,
    at("Status", "status.phase", default="Available"),
    at("Claim", "spec.claimRef.name", default=""),
    at("StorageClass", "spec.storageClassName", default=""),
    AGE,
)
STORAGE_CLASS = (
    NAME,
    at("Provisioner", "provisioner"),
    at("VolumeBindingMode", "volumeBindingMode", default="Immediate"),
    AGE,
)
POD_GROUP = (
    NAME,
    worked_out("Policy", "gang", "Gang(n): at least n pods together."),
    condition("Scheduled", "PodGroupInitiallyScheduled"),
    at("Priority Class", "spec.priorityClassName", wide=True),
    AGE,
)
# Those of Kueue, in its order: people and their scripts know them. What is not Kueue's stands last, in wide output.
CLUSTER_QUEUE = (
    NAME,
    worked_out("Cohort", "cohort", "The cohort that it belongs to."),
    at("Strategy", "spec.queueingStrategy", default="BestEffortFIFO", wide=True, description="Who comes first."),
    count("Pending Workloads", "status.pendingWorkloads", "Workloads that wait."),
    count("Admitted Workloads", "status.admittedWorkloads", "Workloads that run.", wide=True),
)
LOCAL_QUEUE = (
    NAME,
    at("ClusterQueue", "spec.clusterQueue", description="The ClusterQueue behind it."),
    count("Pending Workloads", "status.pendingWorkloads", "Workloads that wait."),
    count("Admitted Workloads", "status.admittedWorkloads", "Workloads that run."),
)
QUOTA_WORKLOAD = (
    NAME,
    at("Queue", "spec.queueName", default="", description="The LocalQueue it was submitted to."),
    at("Reserved in", "status.admission.clusterQueue", default="", description="The ClusterQueue it has quota of."),
    condition("Admitted", "Admitted"),
    condition("Finished", "Finished"),
    AGE,
    at("Priority", "spec.priority", wide=True, description="The larger, the more important."),
)
CLUSTER = (
    NAME,
    at("Version", "status.kubernetesVersion", default=""),
    at("Mode", "spec.syncMode", default="Push"),
    condition("Ready", "Ready"),
    AGE,
)
BINDING = (
    NAME,
    condition("Scheduled", "Scheduled"),
    worked_out("Clusters", "clusters", "Where its replicas are."),
    count("Replicas", "spec.replicas"),
    AGE,
    at("Priority", "spec.schedulePriority.priority", default="0", wide=True, description="The larger, the sooner."),
    at("Preemption", "spec.schedulePriority.preemptionPolicy", default="Never", wide=True),
    worked_out("Requests", "requests", "What one replica asks for.", wide=True),
    worked_out("Leaving", "leaving", "The clusters it still leaves.", wide=True),
    worked_out("Waits For", "waits_for", "Why it has no clusters yet.", wide=True),
)
