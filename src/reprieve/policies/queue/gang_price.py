"""What it costs that pods leave for an application that starts as a whole: as for a single pod, over all of them."""

from collections.abc import Iterable

from reprieve.engine.lost_work import NOTHING_SAID, Totals
from reprieve.engine.nodes.ledger import NodeLedger
from reprieve.engine.nodes.lost_work import all_there_is
from reprieve.engine.plan import Victim
from reprieve.engine.price import Price, UnitCost, price
from reprieve.model.names import key_of
from reprieve.policies.queue.laws import priorities
from reprieve.policies.queue.pods import opted_out
from reprieve.policies.queue.policy import QueuePolicy
from reprieve.world import PodFacts


def gang_price(queues: QueuePolicy, ledger: NodeLedger, victims: Iterable[Victim], now: int) -> Price:
    asks = ledger.settings.asks_for_lost_work
    totals = Totals(all_there_is(ledger.table), now, asks)
    pods = (ledger.world.pods[key_of(victim.unit)] for victim in victims)
    return price(_cost(queues, ledger, totals, facts) for facts in pods)


def _cost(queues: QueuePolicy, ledger: NodeLedger, totals: Totals, facts: PodFacts) -> UnitCost:
    opted, leads = opted_out(ledger.world, facts, ledger.settings.queues), queues.tree.applications.leads(facts)
    seen = priorities(facts.priority, queues.tree.queue_of(facts))[::-1]
    size = totals.size(facts.requests)
    said = ledger.table.units.said_of_work(facts) if totals.asks else NOTHING_SAID
    lost = totals.lost(size, facts.created, said)
    return UnitCost(0, (2 * opted + leads, *seen), 1, seen[0], lost, size)
