# SPDX-License-Identifier: Apache-2.0
"""Access to the other Placement, by URL or configuration file."""

import os
from pathlib import Path

from oslo_config import cfg

from scheduler_svc.placement.migration.copying import Progress
from scheduler_svc.placement.migration.database import PlacementDatabase
from scheduler_svc.placement.migration.database_reader import DatabaseReader
from scheduler_svc.placement.migration.failures import PlacementUnavailable
from scheduler_svc.placement.migration.http_client import PlacementClient, credentials
from scheduler_svc.placement.migration.http_reader import HttpReader


def open_database(source: str) -> PlacementDatabase:
    """Open the database at ``source``: a URL, or the path of a placement.conf. Raises PlacementUnavailable."""
    return PlacementDatabase(database_url(source))


def open_source(source: str, progress: Progress) -> DatabaseReader | HttpReader:
    """Return a reader of the Placement at ``source``. Raises PlacementUnavailable.

    ``source`` is an HTTP URL, for which the OpenStack client's environment variables have the credentials; a database
    URL; or the path of a placement.conf.
    """
    if source.startswith(("http://", "https://")):
        return HttpReader(PlacementClient(source, credentials(source, os.environ)), progress)
    return DatabaseReader(open_database(source))


def database_url(source: str) -> str:
    """Return the database URL: ``source``, or the URL in the file ``source``. Raises PlacementUnavailable."""
    if "://" in source:
        return source
    if not Path(source).is_file():
        raise PlacementUnavailable("it is neither a file nor a URL")
    conf = cfg.ConfigOpts()
    conf.register_opt(cfg.StrOpt("connection", secret=True), group="placement_database")
    try:
        conf([], project="placement", default_config_files=[source], default_config_dirs=[])
    except (cfg.Error, ValueError) as error:
        raise PlacementUnavailable(f"it cannot be read: {' '.join(str(error).split())}") from error
    if not conf.placement_database.connection:
        raise PlacementUnavailable("it has no option connection in group placement_database")
    return str(conf.placement_database.connection)
