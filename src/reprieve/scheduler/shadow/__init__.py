"""In shadow, beside another scheduler: what it decides, and whether this one would have decided the same."""

from reprieve.scheduler.shadow.observer import Observer

__all__ = ["Observer"]
