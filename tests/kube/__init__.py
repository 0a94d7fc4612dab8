"""A real Kubernetes control plane for tests, and what is seen on it."""
