# SPDX-License-Identifier: Apache-2.0
"""Loader of a daemon's whole configuration, checked before anything starts, and warnings about unknown options."""

import importlib.util
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from oslo_config import cfg
from oslo_log import log

from rpcapi import errors, version
from rpcapi.conf import transport
from rpcapi.daemon import logs, options

RegisterOpts = Callable[[cfg.ConfigOpts], None]
LOG = log.getLogger(__name__)


def load(prog: str, register_opts: Iterable[RegisterOpts], argv: Sequence[str] | None) -> cfg.ConfigOpts:
    """Load and check the files of ``argv`` or oslo.config's defaults; raises BadConfiguration with one line."""
    conf = cfg.ConfigOpts()
    logs.register_opts(conf)
    options.register_opts(conf)
    for register in register_opts:
        register(conf)
    try:
        conf(argv, project="gantt", prog=prog, version=version.installed_version())
        _read_all(conf)
    except (cfg.Error, ValueError) as exc:
        raise errors.BadConfiguration(why=" ".join(str(exc).split())) from exc
    return conf


def check_present(conf: cfg.ConfigOpts) -> None:
    """Raise BadConfiguration without file and URL: oslo.messaging would wait at a default address."""
    if not files(conf) and transport.read_url(conf) is None:
        raise errors.BadConfiguration(
            why=f"no configuration file was found and transport_url is not set: write /etc/gantt/{conf.prog}.conf or "
            "/etc/gantt/gantt.conf, or pass --config-file"
        )


def files(conf: cfg.ConfigOpts) -> list[Path]:
    in_folders = (file for folder in conf.config_dir or [] for file in sorted(Path(folder).glob("*.conf")))
    return [*map(Path, conf.config_file or []), *in_folders]


def check_executor(conf: cfg.ConfigOpts) -> None:
    """Raise BadConfiguration if the executor's package is not installed, without importing it."""
    if conf.executor == "eventlet" and importlib.util.find_spec("eventlet") is None:
        raise errors.BadConfiguration(
            why="executor = eventlet needs the package eventlet; run: pip install eventlet, or use threading"
        )


def _read_all(values: Mapping[str, object]) -> None:
    """Read every option, because oslo.config checks values only on access."""
    for name in values:
        value = values[name]
        if isinstance(value, Mapping) and isinstance(value, cfg.ConfigOpts.GroupAttr):
            _read_all(value)


def warn_of_unknown_options(conf: cfg.ConfigOpts) -> None:
    """Log unknown options; call it when the service serves, because libraries register options on first use."""
    for path in files(conf):
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
