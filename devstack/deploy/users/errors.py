# SPDX-License-Identifier: Apache-2.0
"""Errors of folders, and the base class of all errors that are shown to the user."""


class DevstackError(Exception):
    """Raised when a folder or a server cannot be used; the message says why."""


class FolderUnusable(DevstackError):
    """Raised when a private folder cannot be created, written, or protected from other users."""
