# SPDX-License-Identifier: Apache-2.0
"""Warnings about unknown options in the configuration files, mostly typos."""

from oslo_config import cfg
from oslo_log import log

from rpcapi.daemon import configuration

LOG = log.getLogger(__name__)


def warn(conf: cfg.ConfigOpts) -> None:
    """Log unknown options; call it when the service serves, because libraries register options on first use."""
    for path in configuration.files(conf):
        sections: dict[str, dict[str, list[str]]] = {}
        try:
            cfg.ConfigParser(str(path), sections).parse()
        except (OSError, UnicodeDecodeError, cfg.ParseError) as exc:
            LOG.warning("%s can no longer be read: %s", path, exc)
            continue
        for section, entries in sections.items():
            if section != "DEFAULT" and section not in conf:
                LOG.info("%s: this daemon does not read section [%s]", path, section)
                continue
            registered = conf if section == "DEFAULT" else conf[section]
            for name in entries:
                if name.replace("-", "_") not in registered:
                    LOG.warning("%s: unknown option '%s' in section [%s]; check its spelling", path, name, section)
