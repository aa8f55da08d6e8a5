# SPDX-License-Identifier: Apache-2.0
"""A console script, as far as it comes where only the library, or another of its extras, is installed."""

import importlib.util
import pkgutil
import sys
from collections.abc import Callable, Sequence
from typing import Any


def run(script: str, extra: str, target: str, needs: Sequence[str] = ()) -> int:
    """Run ``target``, as ``package.module:function``, and return its exit status.

    Where a package is missing that ``target`` imports, or one of ``needs``, which it imports only later: 1, with one
    line that says which ``extra`` to install.
    """
    missing = next((name for name in needs if importlib.util.find_spec(name) is None), None)
    if missing is None:
        try:
            main: Callable[[], Any] = pkgutil.resolve_name(target)
        except ModuleNotFoundError as error:
            missing = error.name or ""
            if missing.partition(".")[0] in ("rpcapi", target.partition(".")[0]):
                raise  # what is ours is never a matter of installing
        else:
            return int(main())
    print(f"{script}: {missing} is not installed; run: pip install 'gantt[{extra}]'", file=sys.stderr)
    return 1
