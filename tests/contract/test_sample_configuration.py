# SPDX-License-Identifier: Apache-2.0
"""The sample configuration contains all options and is up to date."""

import importlib
import io
import re
from pathlib import Path

import pytest
from oslo_config import cfg, generator

ROOT = Path(__file__).parents[2]
ETC = ROOT / "devstack" / "deploy" / "etc"
OF_LIBRARIES = "gantt.placement"  # namespace of options that change with the libraries which they are of
LIBRARY_GROUPS = ("cors", "oslo_middleware", "oslo_policy")


def loaders():
    """Return {namespace: list_opts} of setup.py, as the installed metadata may be outdated."""
    text = (ROOT / "setup.py").read_text()
    listed = re.findall(r'"(gantt\.\w+) = ([\w.]+):(list_opts)"', text)
    return {name: getattr(importlib.import_module(module), function) for name, module, function in listed}


def sample():
    """Return the sample as it is stored."""
    return (ETC / "gantt.conf.sample").read_text()


def groups_of(text):
    """Return the text of each group of a sample."""
    parts = re.split(r"^\[(.+)\]$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def own_groups(groups):
    """Return the groups without those of libraries."""
    return {name: text for name, text in groups.items() if name not in LIBRARY_GROUPS}


@pytest.fixture
def generated(monkeypatch):
    """Return the newly generated sample."""
    list_opts_by_name = loaders()
    monkeypatch.setattr(
        generator, "_get_raw_opts_loaders", lambda names, *_: [(name, list_opts_by_name.pop(name)) for name in names]
    )
    monkeypatch.setattr(generator, "_get_opt_default_updaters", lambda _names: [])
    conf = cfg.ConfigOpts()
    generator.register_cli_opts(conf)
    conf(["--config-file", str(ETC / "gantt-config-generator.conf")], default_config_dirs=[])
    assert set(conf.namespace) == set(list_opts_by_name), (
        "gantt-config-generator.conf and setup.py have different namespaces"
    )
    text = io.StringIO()
    generator.generate(conf, text)
    return text.getvalue()


def test_sample_is_up_to_date(generated):
    assert own_groups(groups_of(sample())) == own_groups(groups_of(generated)), "regenerate it with `tox -e samples`"


@pytest.mark.parametrize(
    ("group", "option"),
    [
        ("cors", "#allowed_origin = <None>"),
        ("cors", "#allow_headers = X-Auth-Token,OpenStack-API-Version,X-OpenStack-Request-ID"),
        ("oslo_middleware", "#enable_proxy_headers_parsing = false"),
        ("oslo_policy", "#enforce_new_defaults = true"),
        ("oslo_policy", "#policy_file = policy.yaml"),
    ],
)
def test_sample_contains_documented_options_of_libraries(generated, group, option):
    for text in (sample(), generated):
        assert option in groups_of(text)[group].splitlines()


def test_sample_has_no_paths_of_this_machine(generated):
    assert str(ROOT) not in generated
    assert not re.findall(r"/(home|root|tmp)/\w", generated)


@pytest.mark.parametrize("namespace", sorted(loaders().keys() - {OF_LIBRARIES}))
def test_option_has_a_help_text_in_whole_sentences(namespace):
    for group, options in loaders()[namespace]():
        for option in options:
            assert option.help, f"[{group}] {option.name}"
            assert option.help[0].isupper() or option.help[0] in "'[", f"[{group}] {option.name}: {option.help}"
            assert option.help.endswith("."), f"[{group}] {option.name}: {option.help}"
