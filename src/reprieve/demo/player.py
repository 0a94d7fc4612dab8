"""Plays the scenes, one after the other: each act is applied when the one before has come about."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

from rich.console import Console, RenderableType

from reprieve.control_plane import ControlPlane
from reprieve.demo import scenes
from reprieve.demo.accounts import Accounts
from reprieve.demo.happenings import Happenings
from reprieve.demo.lines import show_line
from reprieve.demo.narrator import Narrator
from reprieve.demo.scenes import IMPORTANT, LOW, STAGE, TOO_LARGE, Data, InTheWay, Scene, SceneAct
from reprieve.demo.stage import Stage, Work
from reprieve.demo.table import is_furnished, table
from reprieve.model.clock import precise_timestamp
from reprieve.stores.errors import StoreError
from reprieve.texts import demo as texts
from reprieve.texts import history

_GATHER = 0.25
_TICK = 1.0
_PAUSE = 2.0
_SCENE_SECONDS, _AT_LEAST = 90.0, 30.0
_WORKS = ("Job", "ReplicaSet", "Deployment")
_COLOURS = {"Preempt": "yellow", "Unschedulable": "red", "Wait": "cyan"}


class Unfinished(Exception):
    """A scene did not come to its end, and what it lacks."""


class Player:
    """Plays scenes on a control plane, `speed` times as fast as a person would like to read."""

    def __init__(
        self, plane: ControlPlane, console: Console, speed: float, show: Callable[[RenderableType], None]
    ) -> None:
        self._store = plane.store
        self._clock = plane.clock
        self._console = console
        self._speed = speed
        self._show = show
        self._happenings = Happenings()
        self._stage = Stage(plane.store)
        self.accounts = Accounts(plane.history, self._stage, plane.clock)
        self._narrator = Narrator(self._stage, self.accounts)

    def close(self) -> None:
        self._stage.close()

    async def prepare(self, manifests: list[Data]) -> None:
        """What all scenes share."""
        await scenes.apply(self._store, manifests)

    async def play(self, number: int, scene: Scene) -> str:
        """Play a scene to its end; what it lacked, if it did not come there."""
        self._print("")
        self._print(f"{number}. {scene.title}", "bold")
        self._print(scene.rule)
        began = self._clock()
        limit = max(_SCENE_SECONDS / self._speed, _AT_LEAST)
        try:
            await self._clear(scene, limit)
            for act in scene.acts(self._speed):
                await self._act(scene, act, limit)
        except Unfinished as lacks:
            return self._fail(texts.not_reached(scene.title, self._since(began), str(lacks)))
        except (InTheWay, StoreError) as refusal:
            return self._fail(texts.not_played(scene.title, str(refusal)))
        self._say(texts.scene_over(self._since(began)), "green")
        await self._pause(scene)
        return ""

    def _fail(self, sentence: str) -> str:
        self._say(sentence, "red")
        return sentence

    async def _clear(self, scene: Scene, limit: float) -> None:
        await scenes.begin_to_clear(self._store, scene)
        try:
            async with asyncio.timeout(limit):
                while not await scenes.is_clear(self._store, scene):
                    await asyncio.sleep(_GATHER)
        except TimeoutError:
            raise Unfinished(texts.NOT_CLEARED) from None
        await self._stage.follow()  # whatever happened until now is not of this scene
        self.accounts.begin(scene.namespace)

    async def _act(self, scene: Scene, act: SceneAct, limit: float) -> None:
        """Apply it, and see it come about."""
        works = [data for data in act.manifests if data["kind"] in _WORKS]
        if works:
            self._say(texts.applied([_described(data) for data in works]), "bold")
        await scenes.apply(self._store, act.manifests)
        lacks = self._goal(scene, act, [_work(data) for data in works])
        await self._until(scene, lambda: not lacks(), limit)
        if why := lacks():
            raise Unfinished(why)
        if act.name in (LOW, TOO_LARGE):
            await self._pause(scene)

    def _goal(self, scene: Scene, act: SceneAct, works: list[Work]) -> Callable[[], str]:
        """What is still missing before an act has come about; empty: nothing."""

        def unless(done: Callable[[], bool], lacks: str) -> Callable[[], str]:
            return lambda: "" if done() else lacks

        goals = {
            STAGE: unless(lambda: is_furnished(scene, self._stage), texts.STAGE_NOT_READY),
            LOW: unless(lambda: all(self._stage.standing(work).whole for work in works), texts.LOW_DOES_NOT_RUN),
            TOO_LARGE: unless(lambda: self.accounts.refused(scene, works[0].name), texts.TOO_LARGE_NOT_REFUSED),
            IMPORTANT: lambda: self.accounts.missing(scene),
        }
        return goals[act.name]

    # Time passes

    async def _until(self, scene: Scene, done: Callable[[], bool], seconds: float) -> None:
        """Look and tell until something is so, or so many seconds are over."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while True:
            await self._look(scene)
            left = deadline - loop.time()
            if done() or left <= 0:
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(min(left, _TICK)):
                    await self._stage.signal.wait()
            await asyncio.sleep(min(left, _GATHER / self._speed))

    async def _pause(self, scene: Scene) -> None:
        """For whoever reads."""
        await self._until(scene, lambda: False, _PAUSE / self._speed)

    async def _look(self, scene: Scene) -> None:
        happenings = self._happenings.read(await self._stage.follow(), self._clock())
        for sentence, outcome in self._narrator.lines(scene.namespace, happenings):
            self._say(sentence, _COLOURS.get(outcome, ""))
        if self._console.is_terminal:
            self._show(table(scene, self._stage, self._console.width))

    # Words

    def _since(self, began: datetime) -> float:
        return (self._clock() - began).total_seconds()

    def _say(self, sentence: str, style: str = "") -> None:
        self._print(history.decided(precise_timestamp(self._clock()), sentence), style)

    def _print(self, line: str, style: str = "") -> None:
        show_line(self._console, line, style)


def _work(data: Data) -> Work:
    return Work(data["kind"], data["metadata"]["namespace"], data["metadata"]["name"])


def _described(data: Data) -> str:
    spec = data["spec"]
    pods = spec.get("parallelism") or spec.get("replicas") or 1
    return texts.work(str(_work(data)), pods, spec["template"]["spec"]["priorityClassName"])
