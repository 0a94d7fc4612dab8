"""The GPUs of this machine, and which container was given which."""

import subprocess
from collections.abc import Iterable, Mapping

from reprieve.manifests.problems import ReprieveError

_QUERY = ("nvidia-smi", "--query-gpu=index", "--format=csv,noheader")
_PATIENCE = 5.0


class NotEnoughDevices(ReprieveError):
    """More GPUs are asked for than are free."""


def find_devices(own: Mapping[str, str]) -> tuple[str, ...]:
    """The GPUs that the driver lists, as far as the agent itself may see them; none without a driver that answers."""
    listed = _listed(own)
    visible = own.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return listed
    wanted = [device.strip() for device in visible.split(",") if device.strip()]
    # Devices may also be named by an identifier, which is passed on as it is.
    return tuple(device for device in wanted if device in listed or (listed and device.startswith(("GPU-", "MIG-"))))


def _listed(own: Mapping[str, str]) -> tuple[str, ...]:
    try:
        answer = subprocess.run(_QUERY, capture_output=True, text=True, timeout=_PATIENCE, check=True, env=own)  # noqa: S603
    except (OSError, ValueError, subprocess.SubprocessError):
        return ()
    return tuple(line.strip() for line in answer.stdout.splitlines() if line.strip().isdigit())


class Devices:
    """Who has which device. It keeps nothing itself: after a restart it is told what runs, and knows again."""

    def __init__(self, devices: Iterable[str], assigned: Mapping[str, Iterable[str]] | None = None) -> None:
        self._devices = tuple(devices)
        self._assigned = {owner: tuple(given) for owner, given in (assigned or {}).items()}

    @property
    def free(self) -> tuple[str, ...]:
        taken = {device for given in self._assigned.values() for device in given}
        return tuple(device for device in self._devices if device not in taken)

    def assigned(self, owner: str) -> tuple[str, ...]:
        return self._assigned.get(owner, ())

    def assign(self, owner: str, count: int) -> tuple[str, ...]:
        """Devices for an owner, who keeps those it has: asked again, the answer is the same."""
        if owner in self._assigned:
            return self._assigned[owner]
        free = self.free
        if count > len(free):
            raise NotEnoughDevices(f"{owner} asks for {count} GPUs, and {len(free)} of {len(self._devices)} are free")
        self._assigned[owner] = free[:count]
        return self._assigned[owner]

    def release(self, owner: str) -> None:
        self._assigned.pop(owner, None)

    def variables(self, owner: str) -> dict[str, str]:
        """What makes programs use these devices and no others; nothing is said on a machine that has none."""
        if not self._devices:
            return {}
        given = self.assigned(owner)
        return {
            # Numbers are those of nvidia-smi, which counts by bus; CUDA by itself puts the fastest first.
            "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
            "CUDA_VISIBLE_DEVICES": ",".join(given),
            "NVIDIA_VISIBLE_DEVICES": ",".join(given) or "void",
        }
