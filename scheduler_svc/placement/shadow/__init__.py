# SPDX-License-Identifier: Apache-2.0
"""gantt-placement in the shadow of another Placement: a proxy sends it the same requests and compares answers."""
