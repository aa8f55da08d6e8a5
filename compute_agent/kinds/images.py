# SPDX-License-Identifier: Apache-2.0
"""What the guests of a node were booted from: counts by image property, which ImagePropertiesWeigher reads."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oslo_config import cfg

from compute_agent.kinds.kind import Assignment, AssignmentRequest, NodeProvider, ResourceKind

MAX_COUNTS = 32  # counts that a node reports: those of the commonest values
MAX_VALUE_LENGTH = 100  # characters of a property's value; one that is longer is not counted


@dataclass(frozen=True, slots=True)
class ImageKind(ResourceKind):
    """Nothing that could run out: a guest is given what its image says, so that it is known after a restart too."""

    properties: tuple[str, ...]

    @classmethod
    def of_shape(cls, conf: cfg.ConfigOpts, group: str) -> "ImageKind | None":
        """Read which properties count."""
        names = tuple(conf[group].counted_image_properties)
        return cls(names) if names else None

    def inventory(self) -> Sequence[NodeProvider]:
        """Return the node, of which it tells something."""
        return [NodeProvider("")]

    def concerns(self, request: AssignmentRequest) -> bool:
        """Tell whether the guest's image has one of the properties."""
        return bool(self._counted_properties(request.requirements.image))

    def assign(self, request: AssignmentRequest, assignments: Sequence[Assignment]) -> Assignment:
        """Return the properties that count."""
        return self._counted_properties(request.requirements.image)

    def report(self, assignments: Sequence[Assignment]) -> Mapping[str, Any]:
        """Return a metric for each value of each property."""
        counts = Counter(
            f"image.{name}={value}" for assignment in assignments for name, value in sorted(assignment.items())
        )
        return {"metrics": dict(counts.most_common(MAX_COUNTS))}

    def _counted_properties(self, image: Mapping[str, Any]) -> dict[str, str]:
        properties = image.get("properties", {})
        values = {name: str(properties[name]) for name in self.properties if name in properties}
        return {name: value for name, value in values.items() if len(value) <= MAX_VALUE_LENGTH}
