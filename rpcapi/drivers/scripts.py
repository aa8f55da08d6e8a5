# SPDX-License-Identifier: Apache-2.0
"""The bus's Lua scripts, one file per verb in `lua/`."""

from functools import cache
from pathlib import Path

from rpcapi.drivers.errors import BusInstallationError

VERBS = ("claim", "restore", "ring")
FOLDER = Path(__file__).parent / "lua"


@cache
def text(verb: str) -> str:
    """The script of this verb.

    :raises BusInstallationError: when it cannot be read
    """
    try:
        return (FOLDER / f"{verb}.lua").read_text(encoding="utf-8")
    except OSError as error:
        # As it is, it would be taken for a broken connection, and waited out for ever.
        raise BusInstallationError(
            f"The bus's script {verb}.lua cannot be read: {error}. Install gantt anew."
        ) from error


def load() -> None:
    """Read all of them.

    :raises BusInstallationError: when one cannot be read
    """
    for verb in VERBS:
        text(verb)
