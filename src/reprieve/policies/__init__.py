"""The policies: one for each design, and the only place that knows all of them.

Each is registered with the units it decides for. Over one ledger, the earlier one claims a unit first: a pod of a group
goes with its group or application, a pod in a queue by its queue, and every other one by itself.
"""

from reprieve.policies.federation.entry import FederationEntry
from reprieve.policies.incumbents import KARMADA, KUEUE, YUNIKORN
from reprieve.policies.pod import PodEntry
from reprieve.policies.podgroup.entry import PodGroupEntry
from reprieve.policies.queue.entry import LimitEntry, QueueEntry
from reprieve.policies.queue.gang_entry import GangEntry
from reprieve.policies.quota.entry import QuotaEntry
from reprieve.policies.registry import register

register(QuotaEntry.name, QuotaEntry, incumbent=KUEUE)
register(LimitEntry.name, LimitEntry, part_of=QueueEntry.name)
register(PodGroupEntry.name, PodGroupEntry)
register(GangEntry.name, GangEntry, part_of=QueueEntry.name)
register(QueueEntry.name, QueueEntry, incumbent=YUNIKORN)
register(PodEntry.name, PodEntry)
register(FederationEntry.name, FederationEntry, incumbent=KARMADA)
