"""The HTTP API: Kubernetes' own paths, verbs and errors, and what Reprieve adds to them."""

from reprieve.server.app import create_app
from reprieve.server.plane import HistoryReader, Plane
from reprieve.server.serving import AddressInUse, Serving, TokenRequired, serve

__all__ = ["AddressInUse", "HistoryReader", "Plane", "Serving", "TokenRequired", "create_app", "serve"]
