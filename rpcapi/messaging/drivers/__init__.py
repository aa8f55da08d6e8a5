# SPDX-License-Identifier: Apache-2.0
"""oslo.messaging drivers: the embedded bus over Redis, and RabbitMQ with a separate exchange for replies."""
