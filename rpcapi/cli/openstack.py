# SPDX-License-Identifier: Apache-2.0
"""openstackclient plug-in for gantt's commands; osc-lib reads the module-level names."""

import argparse
import functools
import os
from collections.abc import Callable
from typing import Any

from rpcapi.admin import Session
from rpcapi.cli.command import CommandFailed

API_NAME = "scheduler"
API_VERSION_OPTION = "os_scheduler_api_version"
DEFAULT_API_VERSION = "1"
API_VERSIONS = ("1",)
FILE_VARIABLE = "OS_SCHEDULER_CONFIG_FILE"


def build_option_parser(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument(
        "--os-scheduler-config-file",
        metavar="PATH",
        default=os.environ.get(FILE_VARIABLE),
        help=f"gantt's configuration file, with transport_url. Default: ${FILE_VARIABLE}, then as for `gantt`.",
    )
    parser.add_argument(
        "--os-scheduler-api-version",
        metavar="VERSION",
        default=os.environ.get("OS_SCHEDULER_API_VERSION", DEFAULT_API_VERSION),
        help=f"Version of gantt's commands. Default: $OS_SCHEDULER_API_VERSION, else {DEFAULT_API_VERSION}.",
    )
    return parser


def make_client(instance: Any) -> Callable[[], Session]:
    """Return an opener of sessions for the token's project and user; raises CommandFailed without a project."""
    from rpcapi.admin.session import Session  # noqa: PLC0415 - each command of openstack imports the plug-in

    token = instance.auth_ref
    if token is None or not token.project_id:
        raise CommandFailed("openstack scheduler needs a project-scoped Keystone token: see --os-project-name")
    path = instance.get_configuration().get("scheduler_config_file")
    return functools.partial(Session, [path] if path else [], token.project_id, token.user_id)
