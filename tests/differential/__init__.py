# SPDX-License-Identifier: Apache-2.0
"""The same questions put to Nova and to OpenStack Placement, which run in environments of their own."""
