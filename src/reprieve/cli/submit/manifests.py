"""What `reprieve submit` makes of a command: a Job, and for a gang the group that its pods start with."""

import re
import secrets
from pathlib import PurePath
from typing import Any

import msgspec

from reprieve.cli.figures import GPU

Data = dict[str, Any]
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
YUNIKORN_QUEUE, YUNIKORN_APPLICATION = "yunikorn.apache.org/queue", "yunikorn.apache.org/app-id"
CONTAINER = "main"
IMAGE = "reprieve.scheduling/process"
"""No image is pulled: what runs is a command of the machine."""
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_INTERPRETERS = re.compile(r"python[\d.]*|bash|sh|dash|zsh|env|nice|perl|ruby|node|Rscript|julia")
_DOLLARS = re.compile(r"\$+(?=\()|\${2,}")
_LONGEST_NAME = 40


class WaitingPlace(msgspec.Struct, frozen=True):
    """A queue, and whose: one of YuniKorn's, or a LocalQueue."""

    name: str
    yunikorn: bool


class Submission(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for."""

    name: str
    namespace: str
    command: list[str]
    resources: dict[str, str]
    replicas: int
    gang: bool
    queue: WaitingPlace | None
    priority_class: str
    environment: dict[str, str]
    directory: str
    restart: str
    retries: int

    def job(self) -> Data:
        metadata: Data = {"name": self.name, "namespace": self.namespace}
        labels: Data = {"app": self.name}
        if self.queue is not None and self.queue.yunikorn:
            labels |= {YUNIKORN_QUEUE: self.queue.name, YUNIKORN_APPLICATION: self.name}
        elif self.queue is not None:
            metadata["labels"] = {QUEUE_LABEL: self.queue.name}
        spec: Data = {
            "parallelism": self.replicas,
            "completions": self.replicas,
            "backoffLimit": self.retries,
            "template": {"metadata": {"labels": labels}, "spec": self._pod()},
        }
        if self.restart == "Never":
            # Who had to make way has not failed: it comes back, however often.
            ignored = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
            spec["podFailurePolicy"] = {"rules": [ignored]}
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}

    def _pod(self) -> Data:
        container: Data = {
            "name": CONTAINER,
            "image": IMAGE,
            "command": [literally(word) for word in self.command],
            "workingDir": self.directory,
            "resources": {"requests": self.resources},
        }
        if GPU in self.resources:
            container["resources"]["limits"] = {GPU: self.resources[GPU]}
        if self.environment:
            container["env"] = [{"name": name, "value": literally(value)} for name, value in self.environment.items()]
        pod: Data = {"restartPolicy": self.restart, "containers": [container]}
        if self.priority_class:
            pod["priorityClassName"] = self.priority_class
        if self.gang:
            pod["schedulingGroup"] = {"podGroupName": self.name}
        return pod

    def pod_group(self, job: Data) -> Data:
        """All pods or none, to start and to make way; it goes with the Job."""
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": self.name, "uid": job["metadata"]["uid"]}
        spec: Data = {"schedulingPolicy": {"gang": {"minCount": self.replicas}}, "disruptionMode": {"all": {}}}
        if self.priority_class:
            spec["priorityClassName"] = self.priority_class
        metadata = {"name": self.name, "namespace": self.namespace, "ownerReferences": [owner]}
        return {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": metadata, "spec": spec}


def literally(text: str) -> str:
    """As it was typed: in manifests `$(NAME)` is a reference and `$$` a dollar; for a shell they are something else."""
    return _DOLLARS.sub(lambda found: found[0] * 2, text)


def name_for(command: list[str]) -> str:
    """A name that says what runs: of the program, or of the script that an interpreter runs; and a few letters."""
    words = [PurePath(word) for word in command[:2] if not word.startswith("-")]
    script = len(words) == 2 and _INTERPRETERS.fullmatch(words[0].name) is not None
    base = re.sub(r"[^a-z0-9]+", "-", words[1 if script else 0].stem.lower() if words else "").strip("-")
    suffix = "".join(secrets.choice(_LETTERS) for _ in range(5))
    return f"{base[:_LONGEST_NAME].strip('-') or 'job'}-{suffix}"


def priority_class_name(value: int) -> str:
    return f"priority-{value}" if value >= 0 else f"priority-minus-{-value}"


def priority_class(value: int) -> Data:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": priority_class_name(value)},
        "value": value,
    }
