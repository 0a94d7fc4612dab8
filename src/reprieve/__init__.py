"""Reprieve decides who makes way: a priority and preemption scheduler for Kubernetes."""

__all__ = ["__version__"]

__version__ = "0.1.0"
