# SPDX-License-Identifier: Apache-2.0
"""The version of gantt."""

import importlib.metadata


def installed_version() -> str:
    """Return the installed version, or 'unknown' when run from a source tree."""
    try:
        return importlib.metadata.version("gantt")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
