"""What a container wrote, as its reader sees it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from reprieve.agents.process.containers import Directory
from reprieve.agents.process.logs import follow_log, read_log
from reprieve.agents.process.shim import container_files as files
from tests.agents.process.containers import PATIENCE, World, until


def log_of(root: Path, current: bytes | None, old: bytes | None = None) -> Directory:
    directory = Directory.of(root, "uid", "main")
    directory.create()
    for name, content in ((files.LOG, current), (files.OLD_LOG, old)):
        if content is not None:
            directory.file(name).write_bytes(content)
    return directory


def read(directory: Directory, tail: int | None = None, limit: int | None = None) -> bytes:
    return b"".join(read_log(directory, tail=tail, limit=limit))


@pytest.mark.parametrize(
    ("old", "current", "tail", "limit", "want"),
    [
        (None, None, None, None, b""),
        (None, None, 5, None, b""),
        (None, b"", 1, None, b""),
        (None, b"a\nb\nc\n", None, None, b"a\nb\nc\n"),
        (None, b"a\nb\nc\n", 0, None, b""),
        (None, b"a\nb\nc\n", 1, None, b"c\n"),
        (None, b"a\nb\nc", 1, None, b"c"),
        (None, b"a\nb\nc", 2, None, b"b\nc"),
        (None, b"a\n\n\n", 2, None, b"\n\n"),
        (None, b"a\nb\nc\n", 99, None, b"a\nb\nc\n"),
        (b"a\nb\n", b"c\nd\n", None, None, b"a\nb\nc\nd\n"),
        (b"a\nb\n", b"c\nd\n", 2, None, b"c\nd\n"),
        (b"a\nb\n", b"c\nd\n", 3, None, b"b\nc\nd\n"),
        (b"a\nb", b"b\nd\n", 2, None, b"bb\nd\n"),
        (b"a\nb\n", b"", 1, None, b"b\n"),
        (b"a\nb\n", None, 1, None, b"b\n"),
        (None, b"a\nb\nc\n", None, 3, b"a\nb"),
        (None, b"a\nb\nc\n", 2, 3, b"b\nc"),
        (b"aa", b"bb", None, 3, b"aab"),
        (None, b"abc", None, 0, b""),
        (None, b"\xff\x00\xfe\n", 1, None, b"\xff\x00\xfe\n"),
        (None, b"x" * 200_000 + b"\nend\n", 2, None, b"x" * 200_000 + b"\nend\n"),
        (None, b"line\n" * 100_000, 40_000, None, b"line\n" * 40_000),
    ],
)
def test_the_last_lines_and_a_number_of_bytes(
    tmp_path: Path, old: bytes | None, current: bytes | None, tail: int | None, limit: int | None, want: bytes
) -> None:
    assert read(log_of(tmp_path, current, old), tail, limit) == want


@pytest.mark.parametrize("name", ["tail", "limit"])
def test_negative_numbers_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must not be negative: -1"):
        next(read_log(log_of(tmp_path, b"a"), **{name: -1}))


@pytest.mark.parametrize("kind", ["link", "directory", "pipe"])
def test_only_a_plain_file_in_the_directory_is_read(tmp_path: Path, kind: str) -> None:
    directory = log_of(tmp_path, None)
    place = directory.file(files.LOG)
    secret = tmp_path / "secret"
    secret.write_text("hidden")
    match kind:
        case "link":
            place.symlink_to(secret)
        case "directory":
            place.mkdir()
        case _:
            os.mkfifo(place)
    assert read(directory) == b""


def test_a_link_in_place_of_the_log_is_not_followed_when_writing(here: World) -> None:
    async def scene() -> None:
        precious = here.root / "precious"
        precious.write_text("mine")
        directory = here.directory()
        directory.create()
        directory.file(files.LOG).symlink_to(precious)
        ended = await (await here.shell("echo overwritten")).wait()
        assert ended.reason == "StartError"
        assert precious.read_text() == "mine"

    asyncio.run(scene())


def test_big_output_is_bounded_and_its_end_is_kept(here: World) -> None:
    async def scene() -> None:
        limit = 1 << 18
        container = await here.shell("seq 1 400000", log_limit=limit)
        assert (await container.wait()).exit_code == 0
        sizes = [container.directory.file(name).stat().st_size for name in (files.LOG, files.OLD_LOG)]
        assert all(size <= limit for size in sizes)
        lines = read(container.directory).split(b"\n")
        assert lines[-2:] == [b"400000", b""]
        numbers = [int(line) for line in lines[1:-1]]
        assert numbers == list(range(numbers[0], 400001)), "nothing is missing between the oldest kept and the end"
        assert len(read(container.directory)) > limit

    asyncio.run(scene())


def test_output_that_a_child_writes_last_is_kept(here: World) -> None:
    async def scene() -> None:
        container = await here.shell("head -c 60000 /dev/zero; (echo child) & wait; echo last")
        await container.wait()
        assert read(container.directory) == bytes(60000) + b"child\nlast\n"

    asyncio.run(scene())


async def collected(pieces: AsyncIterator[bytes], into: bytearray) -> None:
    async for piece in pieces:
        into += piece


def test_following_shows_what_is_written_until_the_end_across_new_files(here: World) -> None:
    async def scene() -> None:
        os.mkfifo(here.root / "source")
        container = await here.start("cat", "source", log_limit=4096)
        seen, tail = bytearray(), bytearray()
        whole = asyncio.create_task(collected(follow_log(container.directory), seen))
        written = bytearray()
        with (here.root / "source").open("wb", buffering=0) as source:
            for number in range(12):
                piece = f"{number:04} ".encode() * 200 + b"\n"
                source.write(piece)
                written.extend(piece)
                await until(lambda: seen == written)
            last = asyncio.create_task(collected(follow_log(container.directory, tail=1), tail))
            await until(lambda: tail)
            source.write(b"end\n")
        await asyncio.wait_for(asyncio.gather(whole, last), PATIENCE)
        assert seen == written + b"end\n"
        assert tail == piece + b"end\n"

    asyncio.run(scene())


def test_following_ends_with_the_number_of_bytes_asked_for(here: World) -> None:
    async def scene() -> None:
        container = await here.shell("echo 123456789; sleep 600")
        seen = bytearray()
        await asyncio.wait_for(collected(follow_log(container.directory, limit=4), seen), PATIENCE)
        assert seen == b"1234"
        await container.terminate(20)

    asyncio.run(scene())


def test_following_what_has_ended_ends(here: World) -> None:
    async def scene() -> None:
        container = await here.shell("echo done")
        await container.wait()
        seen = bytearray()
        await asyncio.wait_for(collected(follow_log(container.directory), seen), PATIENCE)
        assert seen == b"done\n"

    asyncio.run(scene())
