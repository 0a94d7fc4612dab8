"""Every sentence a person reads, made from typed reasons and never parsed back: one room for each audience.

Whoever reads a decision: `pods`, `groups`, `queues`, `quota`, `federation` by what it is about, `reasons` for why
somebody makes way or stays, `claims` for what is short and what stands in the way, `remarks` beside a decision,
`explanations`, `questions`, `tables`, and `history` long afterwards. Whoever watches the control plane: `events` of the
loop, `controllers`, `agents`. Whoever types or calls: `cli`, `attempts`, `server`, `demo`.
"""

from reprieve.texts import (
    claims,
    explanations,
    federation,
    groups,
    parts,
    pods,
    questions,
    queues,
    quota,
    reasons,
    remarks,
    tables,
    task_groups,
)

__all__ = [
    "claims",
    "explanations",
    "federation",
    "groups",
    "parts",
    "pods",
    "questions",
    "queues",
    "quota",
    "reasons",
    "remarks",
    "tables",
    "task_groups",
]
