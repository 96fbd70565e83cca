# SPDX-License-Identifier: BSD-2-Clause
"""What all tests share."""

from __future__ import annotations

import sys
from pathlib import Path

# Helpers of the tests lie beside them; tests are no package, so that the installed one is tested.
sys.path.insert(0, str(Path(__file__).parent))
