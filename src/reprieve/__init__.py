"""Reprieve decides who makes way: a priority and preemption scheduler for Kubernetes."""

from reprieve.manifests.problems import InvalidInput, Problem, ReprieveError
from reprieve.planning.planner import plan
from reprieve.planning.questions import Unsupported
from reprieve.planning.result import Decision, Result

__all__ = [
    "Decision",
    "InvalidInput",
    "Problem",
    "ReprieveError",
    "Result",
    "Unsupported",
    "__version__",
    "plan",
]

__version__ = "0.1.0"
