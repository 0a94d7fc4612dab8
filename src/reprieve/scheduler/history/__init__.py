"""What was decided, what became of each unit, and which objects there were: kept in a file, and asked afterwards."""

from reprieve.scheduler.history.history import History
from reprieve.scheduler.history.stories import Step

__all__ = ["History", "Step"]
