# SPDX-License-Identifier: Apache-2.0
"""URLs of cell databases: templates in cell mappings, and separate credentials for the bridge."""

from urllib.parse import urlsplit

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from scheduler_svc.databases import DatabaseUnusable


def cell_url(connection: str, template: str = "", username: str = "", password: str = "") -> str:
    """Return the URL of a cell's database. Raises DatabaseUnusable with a message without the password.

    Args:
        connection: database_connection of the cell mapping.
        template: URL whose parts replace {username}, {hostname} and so on in ``connection``; '' if it has none.
        username: Replaces, with ``password``, the credentials of the mapping; '' keeps them.
    """
    text = _fill(template, connection) if template else connection
    if not username:
        return text
    try:
        url = make_url(text)
    except (ArgumentError, ValueError) as error:
        raise DatabaseUnusable("database_connection is not a URL that SQLAlchemy can read") from error
    if url.get_backend_name() != "sqlite":  # SQLite files have no users
        url = url.set(username=username, password=password)
    return url.render_as_string(hide_password=False)


def _fill(template: str, connection: str) -> str:
    parts = urlsplit(template)
    values = {
        "username": parts.username,
        "password": parts.password,
        "hostname": parts.hostname,
        "port": parts.port,
        "scheme": parts.scheme,
        "path": parts.path.lstrip("/"),
        "query": parts.query,
        "fragment": parts.fragment,
    }
    try:
        return connection.format(**values)
    except (LookupError, ValueError, AttributeError) as error:
        raise DatabaseUnusable(f"database_connection is not a template of {', '.join(values)}") from error
