# SPDX-License-Identifier: Apache-2.0
"""Fake installed plugin distributions: a module, and metadata with its entry points."""

import importlib
import itertools
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from oslo_config import cfg

from scheduler_svc import conf as scheduler_conf
from tests.support import CHECKOUT

EXAMPLE = CHECKOUT / "docs" / "plugins"
_NUMBERS = itertools.count()


def install_example(folders: pytest.TempPathFactory) -> Path:
    """Install the documented package with pip and return the folder to add to sys.path.

    A copy is built, because building writes files next to the source.
    """
    source, target = folders.mktemp("source") / "plugins", folders.mktemp("site")
    shutil.copytree(EXAMPLE, source, ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
    install = ["install", "--no-index", "--no-build-isolation", "--no-deps", "--quiet", "--target", str(target)]
    subprocess.run([sys.executable, "-m", "pip", *install, str(source)], check=True, timeout=100)
    return target


class PluginInstaller:
    """Installs fake distributions, one module each, into a folder on sys.path."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        monkeypatch.syspath_prepend(folder)
        self.modules: list[str] = []

    def install(
        self,
        source: str,
        filters: Mapping[str, str] | None = None,
        weighers: Mapping[str, str] | None = None,
        dist: str = "acme",
    ) -> str:
        """Install ``source``; ``filters`` and ``weighers`` map entry point names to names in it."""
        module = f"acme_plugin_{next(_NUMBERS)}"
        (self._folder / f"{module}.py").write_text(textwrap.dedent(source))
        dist_info = self._folder / f"{dist}-1.2.dist-info"
        dist_info.mkdir()
        (dist_info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {dist}\nVersion: 1.2\n")
        groups = {"gantt.filters": filters, "gantt.weighers": weighers}
        lines = []
        for group, points in groups.items():
            lines += [f"[{group}]", *(f"{name} = {module}:{what}" for name, what in (points or {}).items())]
        (dist_info / "entry_points.txt").write_text("\n".join(lines))
        importlib.invalidate_caches()
        self.modules.append(module)
        return module

    def unload_modules(self) -> None:
        for module in self.modules:
            sys.modules.pop(module, None)


def make_conf(**options: Any) -> cfg.ConfigOpts:
    """Return a configuration with these options of [filter_scheduler]."""
    conf = cfg.ConfigOpts()
    conf([], project="gantt", default_config_files=[], default_config_dirs=[])
    scheduler_conf.register_opts(conf)
    for name, value in options.items():
        conf.set_override(name, value, group="filter_scheduler")
    return conf
