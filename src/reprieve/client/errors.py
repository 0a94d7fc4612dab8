"""What can go wrong between a client and its server.

ServerError
├── Unreachable: nobody answers at that address
└── Refused: the server answers, and says no
"""

from reprieve.manifests.problems import ReprieveError


class ServerError(ReprieveError):
    """The question was right, and still there is no answer."""


class Unreachable(ServerError):
    """Nobody answers; `url` is where somebody was expected."""

    def __init__(self, url: str, why: str) -> None:
        super().__init__(f"{url} cannot be reached: {why}")


class Refused(ServerError):
    """The server says no, in its own words."""

    def __init__(self, message: str, code: int = 0, reason: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason

    @property
    def not_found(self) -> bool:
        return self.code == 404

    @property
    def conflict(self) -> bool:
        return self.reason == "Conflict"

    @property
    def already_exists(self) -> bool:
        return self.reason == "AlreadyExists"

    @property
    def expired(self) -> bool:
        """The version that was asked for is too old: list again."""
        return self.code == 410
