"""Reprieve decides who makes way: a priority and preemption scheduler for Kubernetes."""

from reprieve.manifests.problems import InvalidInput, Problem, ReprieveError
from reprieve.planning.planner import plan
from reprieve.planning.questions import Unsupported
from reprieve.planning.result import Decision, Result
from reprieve.planning.toleration import can_tolerate_preemption

__all__ = [
    "Decision",
    "InvalidInput",
    "Problem",
    "ReprieveError",
    "Result",
    "Unsupported",
    "__version__",
    "can_tolerate_preemption",
    "plan",
]

__version__ = "0.1.0"
