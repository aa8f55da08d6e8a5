# SPDX-License-Identifier: Apache-2.0
"""The example kind of docs/resource-kinds.md works as documented."""

import re
from pathlib import Path

from compute_agent.conf import shape as shape_conf
from compute_agent.resources.kinds.kind import AssignmentRequest, BuildRequirements

PAGE = (Path(__file__).parents[5] / "docs" / "resource-kinds.md").read_text()


def test_documented_example_assigns_numbered_licences(conf):
    (source,) = re.findall(r"```python\n(.*?class LicenceKind.*?)```", PAGE, re.DOTALL)
    namespace: dict = {}
    exec(compile(source, "resource-kinds.md", "exec"), namespace)  # noqa: S102 - what it shows is what is tested
    conf.register_opts(shape_conf.OPTS, group="shape:small")
    assert namespace["LicenceKind"].of_shape(conf, "shape:small") is None
    conf.set_override("licences", 3, group="shape:small")
    kind = namespace["LicenceKind"].of_shape(conf, "shape:small")
    (provider,) = kind.inventory()
    assert (provider.path, provider.inventories["CUSTOM_LICENCE"].total, provider.traits) == (
        "",
        3,
        ("CUSTOM_LICENSED",),
    )
    amounts = {"": {"CUSTOM_LICENCE": 2}}
    request = AssignmentRequest(BuildRequirements(), amounts, amounts, lambda cells=(): [])
    assert kind.assign(request, [{"numbers": [1]}]) == {"numbers": [0, 2]}
    assert kind.describe({"numbers": [0, 2]}) == "licences [0, 2]"
