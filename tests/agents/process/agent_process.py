"""An agent to be killed: starts containers one after the other, says so, and waits for its end."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import msgspec

from reprieve.agents.process.containers import ContainerSpec, Directory
from reprieve.agents.process.processes import ContainerProcess


async def main(root: Path, count: int) -> None:
    spec = msgspec.json.decode(sys.stdin.buffer.read(), type=ContainerSpec)
    print("begin", flush=True)
    for attempt in range(count):
        container = await ContainerProcess.start(Directory.of(root, spec.pod.uid, spec.name, attempt), spec)
        print(container.pid, flush=True)
    await asyncio.sleep(600)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
