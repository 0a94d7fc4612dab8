"""`make bench-kube`: the whole path against a real API server, next to kube-scheduler."""
