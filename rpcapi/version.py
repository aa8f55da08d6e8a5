# SPDX-License-Identifier: Apache-2.0
"""Which gantt this is."""

import importlib.metadata


def installed() -> str:
    """Return the installed version, or 'unknown' when run from a source tree."""
    try:
        return importlib.metadata.version("gantt")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
