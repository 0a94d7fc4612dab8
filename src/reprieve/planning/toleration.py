"""Preemption toleration for other programs: the rule that decisions go by, asked about one pod."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from reprieve.engine.toleration import is_unknown, is_unreadable, tolerates_until, toleration_against
from reprieve.manifests.loading import load_objects
from reprieve.manifests.pods import Pod
from reprieve.manifests.priorities import PriorityClasses
from reprieve.manifests.problems import InvalidInput, Origin, Problem
from reprieve.manifests.scheduling import PriorityClass
from reprieve.planning.planner import read, usable
from reprieve.planning.questions import moment_of, question
from reprieve.texts import questions as texts
from reprieve.world import PodFacts, microseconds

_CANDIDATE, _PREEMPTOR = "victim_candidate", "preemptor"


def can_tolerate_preemption(
    victim_candidate: Mapping[str, Any],
    preemptor: Mapping[str, Any],
    priority_classes: str | Path | Iterable[Mapping[str, Any]],
    now: str | datetime | None = None,
) -> bool:
    """Whether a pod tolerates preemption by another one, by what its PriorityClass says.

    Both pods are manifests as plain data; `priority_classes` is a path, a text, or manifests, of which only
    PriorityClasses count. `now` is the moment that is asked about; by default this one. Whether the pod ranks below the
    preemptor at all is another question. Raises `InvalidInput` where nobody can say: the class does not exist, or what
    it tolerates is written in something other than numbers.
    """
    manifests = usable(read(priority_classes)).objects
    classes = PriorityClasses(item for item in manifests if isinstance(item, PriorityClass))
    victim, other = (
        PodFacts(_pod(data, about), classes)
        for data, about in ((victim_candidate, _CANDIDATE), (preemptor, _PREEMPTOR))
    )
    if other.preemption_policy == "Never":
        return True
    name = victim.pod.spec.priority_class_name
    if is_unknown(classes, name) or is_unreadable(classes, name):
        message = texts.toleration_in_doubt(name, exists=classes.get(name) is not None)
        raise InvalidInput([Problem(origin=Origin(_CANDIDATE, 0), message=message, object=victim.unit)])
    until = tolerates_until(toleration_against(classes, name, other.priority), victim.scheduled)
    return until > microseconds(moment_of(now))


def _pod(data: Mapping[str, Any], about: str) -> Pod:
    objects = usable(load_objects([data], name=about)).objects
    if len(objects) == 1 and isinstance(objects[0], Pod):
        return objects[0]
    raise question(texts.no_pod(), "it must be a Pod", about=about)
