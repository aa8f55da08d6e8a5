# SPDX-License-Identifier: Apache-2.0
"""The kind that docs/resource-kinds.md shows does what the page says, as it stands there."""

import re
from pathlib import Path

from compute_agent.conf import shape as shape_conf
from compute_agent.kinds.kind import AssignmentRequest, BuildRequirements

PAGE = (Path(__file__).parents[4] / "docs" / "resource-kinds.md").read_text()


def test_the_pages_example_hands_out_numbered_licences(conf):
    (source,) = re.findall(r"```python\n(.*?class LicenceKind.*?)```", PAGE, re.DOTALL)
    shown: dict = {}
    exec(compile(source, "resource-kinds.md", "exec"), shown)  # noqa: S102 - what it shows is what is tested
    conf.register_opts(shape_conf.OPTS, group="shape:small")
    assert shown["LicenceKind"].of_shape(conf, "shape:small") is None
    conf.set_override("licences", 3, group="shape:small")
    kind = shown["LicenceKind"].of_shape(conf, "shape:small")
    (below,) = kind.inventory()
    assert (below.path, below.inventories["CUSTOM_LICENCE"].total, below.traits) == ("", 3, ("CUSTOM_LICENSED",))
    amounts = {"": {"CUSTOM_LICENCE": 2}}
    asked = AssignmentRequest(BuildRequirements(), amounts, amounts, lambda: [])
    assert kind.assign(asked, [{"numbers": [1]}]) == {"numbers": [0, 2]}
    assert kind.describe({"numbers": [0, 2]}) == "licences [0, 2]"
