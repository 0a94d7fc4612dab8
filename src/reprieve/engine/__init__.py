"""The search that all policies share: ledgers, rules, orders, criteria, plans. Knows nothing of YAML or stores."""
