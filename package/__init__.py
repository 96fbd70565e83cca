# SPDX-License-Identifier: BSD-2-Clause
"""utf8fpga: a UTF-8 decoder in hardware, and the Python library that specifies its behaviour."""

__version__ = "0.1.0"
