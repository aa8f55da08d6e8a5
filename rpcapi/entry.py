# SPDX-License-Identifier: Apache-2.0
"""Runs console scripts; reports which extra to install when a package is missing."""

import importlib.util
import pkgutil
import sys
from collections.abc import Callable, Sequence
from typing import Any


def run(script: str, extra: str, target: str, needs: Sequence[str] = ()) -> int:
    """Run ``target``, as ``package.module:function``, and return its exit status.

    If a package that ``target`` imports, or one of ``needs`` (imported later), is missing: print which ``extra`` to
    install, and return 1.
    """
    missing = next((name for name in needs if importlib.util.find_spec(name) is None), None)
    if missing is None:
        try:
            main: Callable[[], Any] = pkgutil.resolve_name(target)
        except ModuleNotFoundError as error:
            missing = error.name or ""
            if missing.partition(".")[0] in ("rpcapi", target.partition(".")[0]):
                raise  # a missing module of gantt itself is a bug
        else:
            return int(main())
    print(f"{script}: {missing} is not installed; run: pip install 'gantt[{extra}]'", file=sys.stderr)
    return 1
