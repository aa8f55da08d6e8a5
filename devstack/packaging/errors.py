# SPDX-License-Identifier: Apache-2.0
"""Errors of packaging."""


class PackagingError(Exception):
    """Raised when something cannot be built, or is not as a release must be."""
