"""The loop that makes decisions real: watch, take, decide, commit; the same for every store and every policy."""
