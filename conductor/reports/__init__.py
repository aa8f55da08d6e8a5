# SPDX-License-Identifier: Apache-2.0
"""Reports of hosts about their guests, applied to the instance records."""
