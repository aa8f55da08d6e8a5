# SPDX-License-Identifier: Apache-2.0
"""The sample configuration tells of every option, as it is now."""

import importlib
import io
import re
from pathlib import Path

import pytest
from oslo_config import cfg, generator

ROOT = Path(__file__).parents[2]
ETC = ROOT / "devstack" / "etc"


def loaders():
    """Return {namespace: list_opts} of setup.py: what is installed may be of an earlier day."""
    text = (ROOT / "setup.py").read_text()
    listed = re.findall(r'"(gantt\.\w+) = ([\w.]+):(list_opts)"', text)
    return {name: getattr(importlib.import_module(module), function) for name, module, function in listed}


@pytest.fixture
def generated(monkeypatch):
    """The sample as it would be written now."""
    found = loaders()
    monkeypatch.setattr(
        generator, "_get_raw_opts_loaders", lambda names, *_: [(name, found.pop(name)) for name in names]
    )
    monkeypatch.setattr(generator, "_get_opt_default_updaters", lambda _names: [])
    conf = cfg.ConfigOpts()
    generator.register_cli_opts(conf)
    conf(["--config-file", str(ETC / "gantt-config-generator.conf")], default_config_dirs=[])
    assert set(conf.namespace) == set(found), "gantt-config-generator.conf and setup.py do not name the same options"
    text = io.StringIO()
    generator.generate(conf, text)
    return text.getvalue()


def test_the_sample_is_up_to_date(generated):
    assert (ETC / "gantt.conf.sample").read_text() == generated, "write it anew with `tox -e samples`"


def test_nothing_in_it_is_of_this_machine(generated):
    assert str(ROOT) not in generated
    assert not re.findall(r"/(home|root|tmp)/\w", generated)


@pytest.mark.parametrize("namespace", loaders())
def test_every_option_has_a_help_text_in_whole_sentences(namespace):
    for group, options in loaders()[namespace]():
        for option in options:
            assert option.help, f"[{group}] {option.name}"
            assert option.help[0].isupper() or option.help[0] in "'[", f"[{group}] {option.name}: {option.help}"
            assert option.help.endswith("."), f"[{group}] {option.name}: {option.help}"
