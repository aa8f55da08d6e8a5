# SPDX-License-Identifier: Apache-2.0
"""Request builder: translates flavor, image, devices, ports and volumes into a request spec."""
