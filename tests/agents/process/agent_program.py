"""An agent to be killed: opens the store of a test, runs the pods that it is given, says so, and waits for its end."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import msgspec

from tests.agents.process.scenes import Scene


async def main(directory: Path) -> None:
    scene = Scene(directory)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await scene.begin()
    print("begin", flush=True)
    records = []
    for pod in msgspec.json.decode(sys.stdin.buffer.read()):
        records.append(await scene.run(pod))
        print(records[-1].uid, flush=True)
    for record in records:
        await scene.phase(record, "Running", "Succeeded", "Failed")
    print("told", flush=True)
    await stop.wait()
    await scene.stop()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
