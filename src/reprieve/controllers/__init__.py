"""What keeps objects as their owners want them: pods of Jobs and ReplicaSets, budgets, queues, bindings, leftovers."""
