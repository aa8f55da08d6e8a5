# SPDX-License-Identifier: Apache-2.0
"""Options in the files that nothing reads: most are typing errors, and silence would hide them."""

from collections.abc import Iterator
from pathlib import Path

from oslo_config import cfg
from oslo_log import log

LOG = log.getLogger(__name__)


def warn(conf: cfg.ConfigOpts) -> None:
    """Log each unknown option of the files that ``conf`` was read from.

    Call it when the service serves: libraries register their options when they are first used. A section that
    is unknown as a whole may be another daemon's, since one file can serve all of them, and is told at a
    lower level.
    """
    for path in _files(conf):
        sections: dict[str, dict[str, list[str]]] = {}
        try:
            cfg.ConfigParser(str(path), sections).parse()
        except (OSError, cfg.Error) as exc:
            LOG.warning("%s cannot be read any more: %s", path, exc)
            continue
        for section, entries in sections.items():
            if section != "DEFAULT" and section not in conf:
                LOG.info("%s: this daemon reads nothing of section [%s]", path, section)
                continue
            known = conf if section == "DEFAULT" else conf[section]
            for name in entries:
                if name.replace("-", "_") not in known:
                    LOG.warning(
                        "%s: nothing reads option '%s' of section [%s]; is it spelt right?",
                        path,
                        name,
                        section,
                    )


def _files(conf: cfg.ConfigOpts) -> Iterator[Path]:
    yield from map(Path, conf.config_file or [])
    for folder in conf.config_dir or []:
        yield from sorted(Path(folder).glob("*.conf"))
