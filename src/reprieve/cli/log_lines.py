"""Log lines of a program that runs for long: for people, or as JSON for whoever collects them."""

import json
import logging
import sys
from datetime import UTC, datetime

from reprieve.cli.options import BadUsage
from reprieve.model.clock import precise_timestamp

_FORMATS = ("text", "json")
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        facts = "".join(f" {name}={value}" for name, value in _facts(record).items())
        moment = precise_timestamp(datetime.fromtimestamp(record.created, UTC))
        lines = f"{moment} {record.levelname} {record.getMessage()}{facts}"
        return f"{lines}\n{self.formatException(record.exc_info)}" if record.exc_info else lines


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "ts": precise_timestamp(datetime.fromtimestamp(record.created, UTC)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": record.getMessage(),
            **_facts(record),
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def _facts(record: logging.LogRecord) -> dict[str, object]:
    """What was said beside the sentence: which decision, which unit."""
    return {name: value for name, value in vars(record).items() if name not in _STANDARD}


def log_to_stderr(form: str) -> None:
    if form not in _FORMATS:
        raise BadUsage(f"--log-format: {form!r} is not one of {' and '.join(_FORMATS)}")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if form == "json" else _Text())
    logging.basicConfig(handlers=[handler], level=logging.WARNING)
    logging.getLogger("reprieve").setLevel(logging.INFO)
