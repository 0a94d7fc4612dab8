"""Reprieve decides who makes way: a priority and preemption scheduler for Kubernetes."""

from reprieve.objects.problems import InvalidInput, Problem, ReprieveError
from reprieve.planning import plan
from reprieve.questions import Unsupported
from reprieve.result import Decision, Result

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
