# SPDX-License-Identifier: Apache-2.0
"""A daemon with a fault at an exact point: its worker sends itself a signal before or after a given call.

Run as ``python -m tests.support.clusters.rigged DAEMON --config-file ...`` with GANTT_RIG, a JSON object: ``targets``
("package.module:Class.method" each), ``when`` ("before" or "after" the call), ``nth`` (the number of the call, of all
targets together), ``signal`` (a name), and ``flag``, a file that exists once the fault has occurred, so that it occurs
only once.
"""

import functools
import importlib
import itertools
import json
import os
import pkgutil
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

SERVICES = {"compute": "compute_agent", "conductor": "conductor", "scheduler": "scheduler_svc"}
RIG = "GANTT_RIG"
FACTORY = "GANTT_RIG_FACTORY"  # of the daemon's service, as package.module:name


def rig(
    targets: str | Sequence[str],
    flag: Path,
    *,
    when: str = "before",
    nth: int = 1,
    signal_name: str = "SIGKILL",
) -> dict[str, str]:
    """Return the environment variables that inject the fault into a daemon."""
    targets = [targets] if isinstance(targets, str) else list(targets)
    values = {"targets": targets, "when": when, "nth": nth, "signal": signal_name, "flag": str(flag)}
    return {RIG: json.dumps(values)}


def make_service(conf: Any, index: int) -> Any:
    """Inject the fault into the worker, then make the service as the daemon would."""
    values = json.loads(os.environ[RIG])
    numbers = itertools.count(1)
    for target in values["targets"]:
        module, _, path = target.partition(":")
        owner, _, method = path.partition(".")
        cls = getattr(importlib.import_module(module), owner)
        setattr(cls, method, _faulty(getattr(cls, method), values, numbers))
    return pkgutil.resolve_name(os.environ[FACTORY])(conf, index)


def _faulty(method: Callable[..., Any], values: dict[str, Any], numbers: Iterator[int]) -> Callable[..., Any]:
    @functools.wraps(method)
    def faulty(*args: Any, **kwargs: Any) -> Any:
        is_faulty_call = next(numbers) == values["nth"]
        if is_faulty_call and values["when"] == "before":
            _meet(values)
        result = method(*args, **kwargs)
        if is_faulty_call and values["when"] == "after":
            _meet(values)
        return result

    return faulty


def _meet(values: dict[str, Any]) -> None:
    flag = Path(values["flag"])
    if not flag.exists():
        flag.touch()
        # To this thread: another one may take a signal to the process, while this one runs on until that stops it.
        # Not by get_ident, which is that of the green thread with eventlet.
        signal.raise_signal(signal.Signals[values["signal"]])


def main() -> int:
    """Run the daemon with this module's service factory."""
    name = sys.argv.pop(1)
    command = importlib.import_module(f"{SERVICES[name]}.cmd.{name}")
    run = command.run

    def run_rigged(prog: str, factory: str, **options: Any) -> Any:
        os.environ[FACTORY] = factory
        return run(prog, "tests.support.clusters.rigged:make_service", **options)

    command.run = run_rigged  # type: ignore[attr-defined]
    code: int = command.main()
    return code


if __name__ == "__main__":
    sys.exit(main())
