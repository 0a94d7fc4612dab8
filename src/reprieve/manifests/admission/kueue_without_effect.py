"""What of Kueue can be said and has no effect here: whoever says it is told so by name."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from reprieve.manifests import kueue
from reprieve.manifests.meta import Manifest
from reprieve.manifests.problems import Finding, join_path

_KUEUE = "kueue.x-k8s.io/"
LABELS = {f"{_KUEUE}prebuilt-workload-name": "its Workload is made for it"}
ANNOTATIONS = {
    f"{_KUEUE}retriable-in-group": "a pod that fails ends with its group",
    f"{_KUEUE}job-completions-equal-parallelism": "completions stay as they are where it is admitted smaller",
    f"{_KUEUE}elastic-job": "a Job that changes its size asks again",
}
FIELDS = {
    "admission_scope": ("admissionScope", "usage of LocalQueues has no say in whose turn it is"),
    "concurrent_admission_policy": ("concurrentAdmissionPolicy", "a workload asks for one flavor at a time"),
}


def check_without_effect(manifest: Any) -> Iterator[Finding]:
    if isinstance(manifest, Manifest):
        yield from _said("$.metadata.labels", manifest.metadata.labels, LABELS)
        yield from _said("$.metadata.annotations", manifest.metadata.annotations, ANNOTATIONS)
    if isinstance(manifest, kueue.ClusterQueue):
        for name, (field, what) in FIELDS.items():
            if getattr(manifest.spec, name) is not None:
                yield _warning(f"$.spec.{field}", what)
    elif isinstance(manifest, kueue.LocalQueue) and manifest.spec.fair_sharing is not None:
        yield _warning("$.spec.fairSharing", FIELDS["admission_scope"][1])


def _said(path: str, said: Mapping[str, str], known: Mapping[str, str]) -> Iterable[Finding]:
    if known.keys().isdisjoint(said):
        return ()
    return (_warning(join_path(path, name), what) for name, what in known.items() if name in said)


def _warning(place: str, what: str) -> Finding:
    return Finding(place, f"it has no effect here: {what}", "", "", "warning")
