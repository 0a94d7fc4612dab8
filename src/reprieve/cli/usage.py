"""A command that cannot be carried out as it was typed."""

from reprieve.manifests.problems import ReprieveError


class BadUsage(ReprieveError):
    """What was typed names something that there is not, or says two things at once."""
