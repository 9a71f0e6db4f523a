#!/usr/bin/env python3
"""The benchmarks still run: every case once at a tiny size, the run that takes turns, the report, the plots."""
import os
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(TESTS)
sys.path += [os.path.join(TESTS, "meta"), os.path.join(ROOT, "bench")]

import report
import runner
import tiny

at = sys.argv.index("--backend")
runner.backend = tiny.backend = sys.argv[at + 1]
del sys.argv[at:at + 2]
if "--list" not in sys.argv:
    tiny.start(sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else "")
# What needs no database is tested once.
runner.main([tiny, report] if runner.backend == "sqlite" else [tiny], "bench")
