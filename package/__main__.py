# SPDX-License-Identifier: BSD-2-Clause
"""``python -m utf8fpga``."""

from __future__ import annotations

from utf8fpga.cli.main import main

if __name__ == "__main__":
    main()
