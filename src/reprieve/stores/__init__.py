"""Where objects are kept: behind one small protocol, SQLite or a Kubernetes API server."""
