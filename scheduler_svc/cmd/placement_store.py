# SPDX-License-Identifier: Apache-2.0
"""The store that gantt-placement serves, for commands that work on it directly."""

from collections.abc import Sequence

from rpcapi.daemon import configuration
from scheduler_svc.composition.stores import open_configured
from scheduler_svc.conf import placement_service as placement_conf
from scheduler_svc.store.interface import Store

EX_UNAVAILABLE = 69


def open_store(config_files: Sequence[str]) -> Store:
    """Open it by these files, without any by those of gantt-placement; raises BadConfiguration."""
    argv = [part for name in config_files for part in ("--config-file", name)]
    conf = configuration.load("gantt-placement", [placement_conf.register_opts], argv)
    placement_conf.check(conf)
    return open_configured(conf, conf.rpc.partition)
