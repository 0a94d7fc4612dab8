"""The store that is a Kubernetes API server: the objects are in etcd, and this is how they are read and written."""
