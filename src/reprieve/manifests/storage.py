"""Volumes, as far as scheduling reads them: what a claim is bound to, where that can be used, and who may share it."""

from typing import Any, Literal

from reprieve.manifests.meta import Count, Manifest, Model
from reprieve.manifests.pods import NodeSelector

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
ONE_POD = "ReadWriteOncePod"
FIRST_CONSUMER = "WaitForFirstConsumer"


class ClaimSpec(Model):
    volume_name: str = ""
    storage_class_name: str | None = None
    access_modes: tuple[str, ...] = ()


class ClaimStatus(Model):
    phase: Literal["", "Pending", "Bound", "Lost"] = ""


class PersistentVolumeClaim(Manifest):
    api_version: Literal["v1"] = "v1"
    kind: Literal["PersistentVolumeClaim"] = "PersistentVolumeClaim"
    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()

    @property
    def bound(self) -> bool:
        """Whether it has its volume for good; one that only names a volume may still lose it to another claim."""
        done = BIND_COMPLETED in self.metadata.annotations or self.status.phase == "Bound"
        return bool(self.spec.volume_name) and done and self.status.phase != "Lost"

    @property
    def for_one_pod(self) -> bool:
        return ONE_POD in self.spec.access_modes


class VolumeNodeAffinity(Model):
    required: NodeSelector | None = None


class CsiVolume(Model):
    driver: str


class VolumeSpec(Model):
    """Where it is and, of what it is made of, only what nodes may have a limit for."""

    node_affinity: VolumeNodeAffinity | None = None
    csi: CsiVolume | None = None
    aws_elastic_block_store: dict[str, Any] | None = None
    azure_disk: dict[str, Any] | None = None
    azure_file: dict[str, Any] | None = None
    cinder: dict[str, Any] | None = None
    gce_persistent_disk: dict[str, Any] | None = None
    portworx_volume: dict[str, Any] | None = None
    vsphere_volume: dict[str, Any] | None = None


# Which driver serves volumes that name none: the ones that Kubernetes once had built in.
_DRIVERS = {
    "aws_elastic_block_store": "ebs.csi.aws.com",
    "azure_disk": "disk.csi.azure.com",
    "azure_file": "file.csi.azure.com",
    "cinder": "cinder.csi.openstack.org",
    "gce_persistent_disk": "pd.csi.storage.gke.io",
    "portworx_volume": "pxd.portworx.com",
    "vsphere_volume": "csi.vsphere.vmware.com",
}


class PersistentVolume(Manifest):
    api_version: Literal["v1"] = "v1"
    kind: Literal["PersistentVolume"] = "PersistentVolume"
    spec: VolumeSpec = VolumeSpec()

    @property
    def selector(self) -> NodeSelector | None:
        """The nodes where it can be used; None: all."""
        return self.spec.node_affinity.required if self.spec.node_affinity is not None else None

    @property
    def driver(self) -> str:
        """What attaches it to nodes; empty: nothing that nodes have limits for."""
        if self.spec.csi is not None:
            return self.spec.csi.driver
        return next((driver for name, driver in _DRIVERS.items() if getattr(self.spec, name) is not None), "")


class StorageClass(Manifest):
    api_version: Literal["storage.k8s.io/v1"] = "storage.k8s.io/v1"
    kind: Literal["StorageClass"] = "StorageClass"
    provisioner: str = ""
    volume_binding_mode: Literal["Immediate", "WaitForFirstConsumer"] = "Immediate"


class VolumeLimit(Model):
    count: Count | None = None


class NodeDriver(Model):
    name: str
    allocatable: VolumeLimit | None = None

    @property
    def limited(self) -> bool:
        return self.allocatable is not None and self.allocatable.count is not None


class CsiNodeSpec(Model):
    drivers: tuple[NodeDriver, ...] = ()


class CSINode(Manifest):
    """What a node's kubelet knows of its volume drivers."""

    api_version: Literal["storage.k8s.io/v1"] = "storage.k8s.io/v1"
    kind: Literal["CSINode"] = "CSINode"
    spec: CsiNodeSpec = CsiNodeSpec()
