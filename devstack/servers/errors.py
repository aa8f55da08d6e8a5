# SPDX-License-Identifier: Apache-2.0
"""What goes wrong with a private server, as sentences for the person at the terminal."""


class ServerError(Exception):
    """Raised when a private server cannot be installed, started, reached or stopped."""


class BinaryMissing(ServerError):
    """Raised when a server's program is on this machine nowhere; the message says how to install it."""


class PortInUse(ServerError):
    """Raised when another process already listens on a port that the server was told to use."""


class FolderUnusable(ServerError):
    """Raised when the run folder cannot be made, written, or kept from other users."""


class AlreadyRunning(ServerError):
    """Raised by a start when the server of this run folder is up; it is left as it is."""


class NotReady(ServerError):
    """Raised when a server ended or stayed silent instead of answering; it has been stopped again."""
