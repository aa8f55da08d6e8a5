# SPDX-License-Identifier: Apache-2.0
"""Entry point of ``gantt-status upgrade check``."""

import sys
import warnings
from collections.abc import Sequence

from oslo_config import cfg

from rpcapi import conf as rpc_conf
from rpcapi import errors
from rpcapi.admin.error_messages import describe_error
from rpcapi.conf import client


def main(argv: Sequence[str] | None = None) -> int:
    """Run the checks; return 0 if all pass, 1 on a warning, 2 on a failure, 255 if they cannot run."""
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # library deprecations do not concern operators
    from oslo_upgradecheck import upgradecheck  # noqa: PLC0415 - the libraries warn on import

    from rpcapi.cli.checks import StatusChecks  # noqa: PLC0415 - as above

    conf = cfg.ConfigOpts()
    rpc_conf.register_opts(conf)
    checks = StatusChecks(conf)
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        files = client.files()
        return int(upgradecheck.main(conf, "gantt", checks, arguments, default_config_files=files))
    except (errors.BadConfiguration, cfg.Error) as error:
        sys.stderr.write(f"{describe_error(error)}\n")
        return 255
    finally:
        checks.session.close()


if __name__ == "__main__":
    sys.exit(main())
