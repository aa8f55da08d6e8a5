# SPDX-License-Identifier: Apache-2.0
"""docs/install.md can be read by the test that runs it, and what it configures exists."""

import re
import subprocess

import pytest
from oslo_config import cfg
from oslo_messaging import opts as messaging_opts

from tests.contract.test_documentation import sample_options
from tests.functional.packaging import guide

BLOCKS = guide.blocks()
# Sections that are read, and those that the test runs.
PROSE = {"", "Sizing", "Firewall"}


def test_every_block_names_machines_of_the_table() -> None:
    assert set(guide.machines()) == {"controller1", "controller2", "compute1"}
    for block in BLOCKS:
        assert set(block.machines) <= set(guide.machines()), block.commands


def test_the_guide_has_no_other_commands() -> None:
    fences = re.findall(r"^```(.+)$", guide.PAGE.read_text(), re.MULTILINE)
    assert set(fences) == {"bash"}
    assert {block.section for block in BLOCKS} == guide.sections().keys() - PROSE


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.section)
def test_commands_are_valid_shell(block: guide.Block) -> None:
    checked = subprocess.run(["bash", "-n"], input=block.commands, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    for path, text in block.files():
        if text.startswith("#!/bin/sh\n"):
            checked = subprocess.run(["sh", "-n"], input=text, capture_output=True, text=True, check=False)
            assert checked.returncode == 0, f"{path}: {checked.stderr}"


def test_options_exist(tmp_path) -> None:
    options = sample_options()
    libraries = dict(messaging_opts.list_opts())
    rabbit = {option.name for option in libraries["oslo_messaging_rabbit"]}
    files = {path: text for block in BLOCKS for path, text in block.files() if re.match(r"/etc/gantt/.*\.conf", path)}
    assert len(files) == 5
    for text in files.values():
        path = tmp_path / "gantt.conf"
        path.write_text(text)
        sections: dict[str, dict[str, list[str]]] = {}
        cfg.ConfigParser(str(path), sections).parse()
        for section, values in sections.items():
            assert set(values) <= (rabbit if section == "oslo_messaging_rabbit" else options[section]), section


def test_addresses_agree() -> None:
    for name, address in re.findall(r"\b(controller[12]|compute1) (192\.0\.2\.\d+)", guide.PAGE.read_text()):
        assert guide.machines()[name] == address
