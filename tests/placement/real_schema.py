# SPDX-License-Identifier: Apache-2.0
"""Makes Placement's tables: run as a program of Placement's environment, with a placement.conf and a revision."""

import sys

from oslo_config import cfg


def main(path: str, revision: str) -> None:
    """Upgrade the database to a revision of Placement's schema."""
    from placement import conf, db_api  # type: ignore[import-not-found]  # noqa: PLC0415
    from placement.db.sqlalchemy import migration  # type: ignore[import-not-found]  # noqa: PLC0415

    configuration = cfg.ConfigOpts()
    conf.register_opts(configuration)
    configuration([], project="placement", default_config_files=[path])
    db_api.configure(configuration)
    migration.upgrade(revision)


if __name__ == "__main__":
    main(*sys.argv[1:])
