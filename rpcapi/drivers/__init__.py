# SPDX-License-Identifier: Apache-2.0
"""Drivers of oslo.messaging: the embedded bus over Redis, and RabbitMQ with replies confined."""
