# SPDX-License-Identifier: Apache-2.0
"""Guest counts of a node by image property, for ImagePropertiesWeigher."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oslo_config import cfg

from compute_agent.resources.kinds.kind import Assignment, AssignmentRequest, NodeProvider, ResourceKind

MAX_COUNTS = 32  # most common property values that a node reports
MAX_VALUE_LENGTH = 100  # maximum length of a counted property value


@dataclass(frozen=True, slots=True)
class ImageKind(ResourceKind):
    """Kind without capacity that stores the guests' image properties as assignments, so that they survive a restart."""

    properties: tuple[str, ...]

    @classmethod
    def of_shape(cls, conf: cfg.ConfigOpts, group: str) -> "ImageKind | None":
        names = tuple(conf[group].counted_image_properties)
        return cls(names) if names else None

    def inventory(self) -> Sequence[NodeProvider]:
        return [NodeProvider("")]

    def concerns(self, request: AssignmentRequest) -> bool:
        return bool(self._counted_properties(request.requirements.image))

    def assign(self, request: AssignmentRequest, assignments: Sequence[Assignment]) -> Assignment:
        return self._counted_properties(request.requirements.image)

    def report(self, assignments: Sequence[Assignment]) -> Mapping[str, Any]:
        """Return a metric per property value."""
        counts = Counter(
            f"image.{name}={value}" for assignment in assignments for name, value in sorted(assignment.items())
        )
        return {"metrics": dict(counts.most_common(MAX_COUNTS))}

    def _counted_properties(self, image: Mapping[str, Any]) -> dict[str, str]:
        properties = image.get("properties", {})
        values = {name: str(properties[name]) for name in self.properties if name in properties}
        return {name: value for name, value in values.items() if len(value) <= MAX_VALUE_LENGTH}
