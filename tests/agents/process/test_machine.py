"""This machine as a node."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reprieve.agents.process.gpus import Devices, NotEnoughDevices, find_devices
from reprieve.agents.process.machine import Machine, node_name, usable_cpu, usable_memory
from reprieve.manifests.core import Node
from reprieve.manifests.loading import load_objects

GIB = 1 << 30


def write(root: Path, content: dict[str, str]) -> Path:
    for name, text in content.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text + "\n")
    return root


SECOND = {"proc/self/cgroup": "0::/work.slice/agent.service"}
FIRST = {"proc/self/cgroup": "4:memory:/work\n3:cpu,cpuacct:/work\n1:name=systemd:/"}
CGROUP = "sys/fs/cgroup"


@pytest.mark.parametrize(
    ("content", "want"),
    [
        ({}, None),
        ({**SECOND, f"{CGROUP}/work.slice/agent.service/cpu.max": "max 100000"}, None),
        ({**SECOND, f"{CGROUP}/work.slice/agent.service/cpu.max": "50000 100000"}, 500),
        ({**SECOND, f"{CGROUP}/work.slice/cpu.max": "25000 100000", f"{CGROUP}/cpu.max": "max 100000"}, 250),
        ({**SECOND, f"{CGROUP}/cpu.max": "30000 100000"}, 300),
        ({**SECOND, f"{CGROUP}/cpu.max": "999900000 100000"}, None),
        ({**SECOND, f"{CGROUP}/cpu.max": "nonsense"}, None),
        ({**FIRST, f"{CGROUP}/cpu,cpuacct/work/cpu.cfs_quota_us": "-1"}, None),
        (
            {
                **FIRST,
                f"{CGROUP}/cpu,cpuacct/work/cpu.cfs_quota_us": "70000",
                f"{CGROUP}/cpu,cpuacct/work/cpu.cfs_period_us": "100000",
            },
            700,
        ),
        ({**FIRST, f"{CGROUP}/cpu/cpu.cfs_quota_us": "10000", f"{CGROUP}/cpu/cpu.cfs_period_us": "50000"}, 200),
    ],
)
def test_cpus_are_those_that_may_be_used(tmp_path: Path, content: dict[str, str], want: int | None) -> None:
    everything = len(os.sched_getaffinity(0)) * 1000
    assert usable_cpu(write(tmp_path, content)) == (want or everything)


@pytest.mark.parametrize(
    ("content", "want"),
    [
        ({}, None),
        ({**SECOND, f"{CGROUP}/work.slice/agent.service/memory.max": "max"}, None),
        ({**SECOND, f"{CGROUP}/work.slice/agent.service/memory.max": "1048576"}, 1048576),
        ({**SECOND, f"{CGROUP}/work.slice/memory.max": "2097152"}, 2097152),
        ({**FIRST, f"{CGROUP}/memory/work/memory.limit_in_bytes": "9223372036854771712"}, None),
        ({**FIRST, f"{CGROUP}/memory/memory.limit_in_bytes": "4194304"}, 4194304),
    ],
)
def test_memory_is_what_may_be_used(tmp_path: Path, content: dict[str, str], want: int | None) -> None:
    built_in = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert usable_memory(write(tmp_path, content)) == (want or built_in)


@pytest.mark.parametrize(
    ("hostname", "want"),
    [
        ("node-1", "node-1"),
        ("Box.Example.COM", "box.example.com"),
        ("my_work station", "my-work-station"),
        ("-odd-.", "odd"),
        ("...", "localhost"),
        ("", "localhost"),
        ("ünïcode", "n-code"),
        ("a" * 70, "a" * 63),
    ],
)
def test_a_host_name_becomes_a_name_that_a_node_can_have(hostname: str, want: str) -> None:
    assert node_name(hostname) == want


def test_this_machine_is_a_node() -> None:
    machine = Machine.discover("This-Machine")
    manifest = machine.manifest()
    loaded = load_objects([manifest], strict=True)
    assert loaded.problems == []
    [node] = loaded.objects
    assert isinstance(node, Node)
    assert manifest["metadata"]["name"] == "this-machine"
    assert manifest["metadata"]["labels"]["kubernetes.io/hostname"] == "this-machine"
    assert manifest["metadata"]["labels"]["kubernetes.io/os"] == "linux"
    assert node.status.capacity == node.status.allocatable
    assert manifest["status"]["capacity"]["pods"] == "110"
    assert None not in manifest["status"]["nodeInfo"].values()


def test_amounts_are_written_as_people_write_them() -> None:
    plain = Machine(name="a", milli_cpu=4000, memory=2 * GIB)
    assert plain.capacity == {"cpu": "4", "memory": "2097152Ki", "pods": "110"}
    rich = Machine(name="a", milli_cpu=1500, memory=GIB, devices=("0", "1"))
    assert rich.capacity == {"cpu": "1500m", "memory": "1048576Ki", "pods": "110", "nvidia.com/gpu": "2"}


def driver(root: Path, script: str) -> dict[str, str]:
    program = root / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o700)
    return {"PATH": f"{root}:{os.environ['PATH']}"}


@pytest.mark.parametrize(
    ("script", "visible", "want"),
    [
        ("printf '0\\n1\\n2\\n'", None, ("0", "1", "2")),
        ("printf '0\\n1\\n2\\n'", "2,0", ("2", "0")),
        ("printf '0\\n1\\n'", "", ()),
        ("printf '0\\n1\\n'", "7", ()),
        ("printf '0\\n1\\n'", "GPU-6b1", ("GPU-6b1",)),
        ("echo 'No devices were found'", None, ()),
        ("echo 'NVIDIA-SMI has failed'; exit 9", None, ()),
    ],
)
def test_gpus_are_those_that_the_driver_lists(
    tmp_path: Path, script: str, visible: str | None, want: tuple[str, ...]
) -> None:
    own = driver(tmp_path, script)
    if visible is not None:
        own["CUDA_VISIBLE_DEVICES"] = visible
    assert find_devices(own) == want


def test_a_driver_that_does_not_answer_means_no_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reprieve.agents.process.gpus._PATIENCE", 0.1)
    assert find_devices(driver(tmp_path, "exec sleep 30")) == ()


def test_without_a_driver_there_are_no_gpus(tmp_path: Path) -> None:
    assert find_devices({"PATH": str(tmp_path)}) == ()


def test_a_device_has_one_owner_at_a_time() -> None:
    devices = Devices(("0", "1", "2"))
    assert devices.assign("a", 2) == ("0", "1")
    assert devices.assign("a", 2) == ("0", "1")
    with pytest.raises(NotEnoughDevices, match="b asks for 2 GPUs, and 1 of 3 are free"):
        devices.assign("b", 2)
    assert devices.assign("b", 1) == ("2",)
    devices.release("a")
    assert devices.free == ("0", "1")


def test_after_a_restart_devices_are_known_from_what_runs() -> None:
    devices = Devices(("0", "1", "2"), {"a": ("1",), "gone": ("9",)})
    assert devices.assigned("a") == ("1",)
    assert devices.assign("b", 2) == ("0", "2")


def test_programs_see_their_own_devices_and_no_others() -> None:
    devices = Devices(("0", "1", "2"), {"a": ("1", "2")})
    assert devices.variables("a")["CUDA_VISIBLE_DEVICES"] == "1,2"
    assert devices.variables("a")["NVIDIA_VISIBLE_DEVICES"] == "1,2"
    assert devices.variables("nobody")["CUDA_VISIBLE_DEVICES"] == ""
    assert devices.variables("nobody")["NVIDIA_VISIBLE_DEVICES"] == "void"
    assert Devices(()).variables("a") == {}
