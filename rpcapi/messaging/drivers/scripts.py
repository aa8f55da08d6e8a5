# SPDX-License-Identifier: Apache-2.0
"""The bus's Lua scripts, one file per verb in `lua/`."""

from functools import cache
from pathlib import Path

from rpcapi.messaging.drivers.errors import BusInstallationError

VERBS = ("claim", "restore", "ring", "send", "take")
FOLDER = Path(__file__).parent / "lua"


@cache
def text(verb: str) -> str:
    """Return the source of this verb's script.

    :raises BusInstallationError: when it cannot be read
    """
    try:
        return (FOLDER / f"{verb}.lua").read_text(encoding="utf-8")
    except OSError as error:
        # An OSError would be taken for a broken connection and retried for ever.
        raise BusInstallationError(f"The bus's script {verb}.lua cannot be read: {error}. Reinstall gantt.") from error


def load() -> None:
    """Read all scripts.

    :raises BusInstallationError: when one cannot be read
    """
    for verb in VERBS:
        text(verb)
