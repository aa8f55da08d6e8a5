# SPDX-License-Identifier: Apache-2.0
"""Keystone on a loopback port: run as a program of its environment, with a configuration file and the port."""

import sys

from cheroot import wsgi


def main() -> None:
    """Serve until the process ends."""
    _, config_file, port = sys.argv
    del sys.argv[1:]  # Keystone reads them too
    from keystone.server.flask import core  # noqa: PLC0415

    application = core.initialize_application(name="public", config_files=[config_file])
    wsgi.Server(("127.0.0.1", int(port)), application).start()


if __name__ == "__main__":
    main()
