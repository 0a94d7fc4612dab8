"""Nodes on which pods run: this machine, with every container a process of it."""
