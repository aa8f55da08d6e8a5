# SPDX-License-Identifier: Apache-2.0
"""Errors of packaging."""


class PackagingError(Exception):
    """Raised when a part of a release cannot be built or is not fit for release."""
