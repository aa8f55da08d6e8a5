# SPDX-License-Identifier: Apache-2.0
"""Where wishes become a request: flavors, images, devices, ports and volumes, translated once, before it is sent."""
