#!/usr/bin/env python3
"""What a stranger sees first: the tour of ./quickstart and its recording, the README, the workflows."""
import os
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path += [os.path.join(TESTS, "meta"), os.path.join(TESTS, "extension")]

import readme
import recording
import runner
import walk
import workflows

runner.main([walk, recording, readme, workflows], "tour")
