"""Which nodes have which container images already, and what that is worth to a pod: ImageLocality of kube-scheduler.

1. An image that a node has is worth its size, times the share of all nodes that have it: what only few have would draw
   everybody to these.
2. What all images of a pod are worth on a node is set against 23 MiB, below which it is nothing, and 1000 MiB for each
   of its images, above which it is no more: 0 to 100 points in between.

Where nodes give an image different sizes the largest counts; kube-scheduler takes that of whichever node it saw first.
"""

from collections.abc import Sequence

import numpy as np

from reprieve.engine.arrays import Ints
from reprieve.engine.nodes.columns import LARGEST
from reprieve.manifests.core import NodeImage
from reprieve.manifests.pods import PodSpec

_LEAST = 23 * 2**20
_MOST = 1000 * 2**20
_BEST = 100


class NodeImages:
    """The images of all nodes. Where no node lists any, it is empty and costs nothing."""

    def __init__(self) -> None:
        self._listed: dict[int, tuple[NodeImage, ...]] = {}
        self._nodes: dict[str, dict[int, int]] = {}
        """For each name the nodes that have the image, and how large it is there."""

    def put(self, node: int, images: tuple[NodeImage, ...]) -> None:
        """What a node lists now; as a rule the same as before."""
        before = self._listed.get(node, ())
        if before == images:
            return
        for name in {name for image in before for name in image.names}:
            having = self._nodes[name]
            del having[node]
            if not having:
                del self._nodes[name]
        self._listed.pop(node, None)
        for image in images:
            for name in image.names:
                having = self._nodes.setdefault(name, {})
                having[node] = max(having.get(node, 0), min(image.size_bytes, LARGEST))
        if images:
            self._listed[node] = images

    def matter_to(self, spec: PodSpec) -> tuple[str, ...]:
        """The images of a pod that any node has; pods that differ in nothing else are alike without them."""
        return tuple(name for name in images_of(spec) if name in self._nodes) if self._nodes else ()

    def points(self, spec: PodSpec, nodes: Ints, everywhere: int) -> Ints:
        """0 to 100 for each of some nodes; `everywhere` is how many nodes there are in all."""
        images = images_of(spec) if self._nodes else ()
        worth = np.zeros(len(nodes), dtype=np.int64)
        known = [having for name in images if (having := self._nodes.get(name))]
        for having in known:
            here = int(max(having.values()) * (len(having) / everywhere))
            worth += here * np.isin(nodes, np.fromiter(having, dtype=np.int64, count=len(having)))
        if not known:
            return worth
        most = _MOST * len(images)
        return np.asarray(_BEST * (np.clip(worth, _LEAST, most) - _LEAST) // (most - _LEAST))


def images_of(spec: PodSpec) -> Sequence[str]:
    """What a pod needs on its node, one for each container and for each volume that is an image."""
    named = [container.image for container in (*spec.init_containers, *spec.containers)]
    named += [volume.image.reference for volume in spec.volumes if volume.image is not None]
    return [_whole(name) for name in named]


def _whole(name: str) -> str:
    """A name without a tag means the latest; a colon before the last slash is that of a port."""
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"
