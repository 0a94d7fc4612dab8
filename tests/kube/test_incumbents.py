"""Nothing is decided beside a program that decides by the same design in a cluster: what counts as one that runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest

from reprieve.policies.incumbents import KARMADA, KUEUE, YUNIKORN
from reprieve.stores.kubernetes import incumbents as looking
from reprieve.stores.kubernetes.access import open_access
from reprieve.stores.kubernetes.incumbents import IncumbentFound, Lookout
from reprieve.stores.kubernetes.rate_limit import RateLimit
from reprieve.stores.kubernetes.requests import Requests
from tests.kube.client import KubeClient
from tests.kube.cluster import Cluster
from tests.kube.incumbents import deployment, lease, renew, there
from tests.kube.second_scheduler import own_kubeconfig

ALL = (KUEUE, KARMADA, YUNIKORN)
KUEUE_LEASE = "c1f6bfd2.kueue.x-k8s.io"


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "_RENEWED_WITHIN", 1.0)
    monkeypatch.setattr(looking, "_NO_RIGHT_SECONDS", 0.0)


def looked(kubeconfig: object, what: Any) -> Any:
    """With the rights of `deploy/rbac.yaml`, or whose file this is."""

    async def main() -> Any:
        requests = Requests(await open_access(str(kubeconfig)), RateLimit(0, 1))
        try:
            return await what(Lookout(requests, every=0.2))
        finally:
            await requests.close()

    return asyncio.run(main())


def found(cluster: Cluster, admin: KubeClient) -> dict[str, str]:
    async def find(lookout: Lookout) -> dict[str, str]:
        return {sign.incumbent.name: sign.what for sign in await lookout.find(ALL)}

    signs: dict[str, str] = looked(own_kubeconfig(cluster, admin), find)
    return signs


KUEUES = partial(lease, KUEUE_LEASE)
HELD = f"manager-1 holds the Lease kueue-system/{KUEUE_LEASE}"


@pytest.mark.parametrize(
    ("namespace", "make", "want"),
    [
        ("kueue-system", KUEUES, {"Kueue": HELD}),
        ("elsewhere", partial(KUEUES, "m-2"), {"Kueue": f"m-2 holds the Lease elsewhere/{KUEUE_LEASE}"}),
        ("kueue-system", partial(KUEUES, renewed_ago=60), {"Kueue": HELD}),
        ("kueue-system", partial(KUEUES, renewed_ago=-300), {"Kueue": HELD}),
        ("kueue-system", partial(KUEUES, renewed_ago=3600), {}),
        ("kueue-system", partial(KUEUES, holder=""), {}),
        ("kueue-system", partial(lease, "another.kueue.x-k8s.io"), {}),
        (
            "kueue-system",
            partial(deployment, "kueue-controller-manager"),
            {"Kueue": "there is the Deployment kueue-system/kueue-controller-manager"},
        ),
        ("kueue-system", partial(deployment, "kueue-controller-manager", replicas=0), {}),
        ("karmada-system", partial(lease, "karmada-scheduler"), {"Karmada": "manager-1 holds"}),
        ("karmada-system", partial(lease, "karmada-controller-manager"), {"Karmada": "manager-1 holds"}),
        ("karmada-system", partial(deployment, "karmada-scheduler"), {"Karmada": "there is the Deployment"}),
        ("yunikorn", partial(deployment, "yunikorn-scheduler"), {"YuniKorn": "there is the Deployment"}),
        ("yunikorn", partial(deployment, "yunikorn-admission-controller"), {"YuniKorn": "there is the Deployment"}),
    ],
)
def test_by_what_somebody_is_known_to_run(
    kube: Cluster, admin: KubeClient, namespace: str, make: Callable[[], dict[str, Any]], want: Mapping[str, str]
) -> None:
    with there(admin, namespace, make()):
        signs = found(kube, admin)
    assert signs.keys() == want.keys()
    assert all(signs[name].startswith(text) for name, text in want.items())


def test_a_lease_that_is_renewed_while_one_looks_is_alive_whatever_its_time_says(
    kube: Cluster, admin: KubeClient
) -> None:
    """The clock of its holder is an hour behind."""

    async def look(lookout: Lookout) -> list[str]:
        looks = asyncio.create_task(lookout.find(ALL))
        await asyncio.sleep(0.7)
        await asyncio.to_thread(renew, admin, "kueue-system", KUEUE_LEASE, 3590)
        return [sign.incumbent.name for sign in await looks]

    with there(admin, "kueue-system", KUEUES(renewed_ago=3600)):
        assert looked(own_kubeconfig(kube, admin), look) == ["Kueue"]


def test_one_that_comes_later_is_noticed(kube: Cluster, admin: KubeClient) -> None:
    asked = {KUEUE: ["quota of --policies", "quota of --controllers"]}

    async def look(lookout: Lookout) -> None:
        await lookout.stay_away(asked)
        looks = asyncio.create_task(lookout.keep_looking(asked))
        await asyncio.sleep(0.5)
        assert not looks.done()
        with there(admin, "kueue-system", KUEUES()):
            await asyncio.wait_for(looks, 10)

    with pytest.raises(IncumbentFound) as why:
        looked(own_kubeconfig(kube, admin), look)
    assert str(why.value) == (
        f"Kueue runs in this cluster ({HELD}), and two of a kind undo each other's decisions: leave out quota of "
        "--policies and quota of --controllers, only watch with --shadow, or remove Kueue"
    )


def test_who_may_not_look_is_refused(kube: Cluster) -> None:
    async def look(lookout: Lookout) -> None:
        await lookout.stay_away({KUEUE: ["quota of --policies"]})

    with pytest.raises(IncumbentFound, match=r"no right to look .*\(Kueue\): .* apply deploy/rbac.yaml"):
        looked(kube.kubeconfig("nobody-special"), look)
