# SPDX-License-Identifier: BSD-2-Clause
"""A SAT solver as a program: the file with clauses is its argument; the exit status is 10 or 20."""

import sys

from pysat.formula import CNF
from pysat.solvers import Cadical195

if __name__ == "__main__":
    with Cadical195(bootstrap_with=CNF(from_file=sys.argv[1]).clauses) as solver:
        sys.exit(10 if solver.solve() else 20)
