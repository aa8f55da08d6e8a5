# SPDX-License-Identifier: Apache-2.0
"""State report of a worker on standard error after SIGUSR2; secrets are masked as in logs."""

import io
import logging
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from types import FrameType

from oslo_config import cfg

from rpcapi.daemon.garbage import collection_suspended
from rpcapi.daemon.logs import redact

Describe = Callable[[], Mapping[str, object]]

_sections: dict[str, Describe] = {}


def add_section(title: str, describe: Describe) -> None:
    _sections[title] = describe


def write(name: str, conf: cfg.ConfigOpts) -> None:
    print(redact(text(name, conf)), file=sys.stderr, flush=True)


def text(name: str, conf: cfg.ConfigOpts) -> str:
    lines = [f"==== State of {name} ===="]
    for title, describe in _sections.items():
        lines += [f"---- {title} ----", *_described(describe)]
    lines += ["---- Threads ----", *_stacks(), "---- Configuration ----", *_options(conf)]
    return "\n".join([*lines, f"==== End of the state of {name} ===="])


def _described(describe: Describe) -> list[str]:
    try:
        return [f"{key}: {value}" for key, value in describe().items()]
    except Exception as why:  # A failing section must not hide the others.
        return [f"cannot be described: {why!r}"]


def _stacks() -> Iterator[str]:
    # Under eventlet this is only the green thread that writes the report.
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    for ident, frame in _frames().items():
        yield f"Thread {names.get(ident, ident)}:"
        yield "".join(traceback.format_stack(frame)).rstrip()


def _frames() -> dict[int, FrameType]:
    # Python up to 3.11.8 holds an interpreter lock here, on which a garbage collection that frees a threading.local
    # would deadlock (https://github.com/python/cpython/issues/106883).
    with collection_suspended():
        return sys._current_frames()


def _options(conf: cfg.ConfigOpts) -> list[str]:
    buffer = io.StringIO()
    logger = logging.Logger("options")
    logger.addHandler(logging.StreamHandler(buffer))
    conf.log_opt_values(logger, logging.INFO)
    return buffer.getvalue().splitlines()
