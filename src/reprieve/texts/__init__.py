"""Every sentence a person reads, made from typed reasons and never parsed back: one room for each audience.

Whoever reads a decision: `pods`, `groups`, `queues`, `quota`, `federation` by what it is about, `reasons` for why
somebody makes way or stays, `explanations`, `questions`, `tables`, and `history` long afterwards. Whoever watches the
control plane: `events` of the loop, `controllers`, `agents`. Whoever types or calls: `cli`, `server`, `demo`.
"""

from reprieve.texts import explanations, federation, groups, parts, pods, questions, queues, quota, reasons, tables

__all__ = ["explanations", "federation", "groups", "parts", "pods", "questions", "queues", "quota", "reasons", "tables"]
