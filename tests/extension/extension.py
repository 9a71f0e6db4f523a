#!/usr/bin/env python3
"""Tests of posthorn.so in real hosts: the sqlite3 shell, Python, and programs in C."""
import os
import sqlite3
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(os.path.dirname(HERE), "meta"))

import host

if not hasattr(sqlite3.Connection, "enable_load_extension"):
    # This Python was built without; the system's was built with it.
    if sys.executable == host.SYSTEM_PYTHON:
        sys.exit("this Python cannot load extensions into SQLite")
    os.execv(host.SYSTEM_PYTHON, [host.SYSTEM_PYTHON, *sys.argv])
if host.is_sanitized() and "LD_PRELOAD" not in os.environ:
    # The sanitizers must be there before the first module that needs them.
    os.execve(sys.executable, [sys.executable, *sys.argv], host.environment(leaks=False))

import arguments
import coordination
import document
import joins
import loading
import runner
import schedule
import shell
import transaction
import triggers
import verbs

runner.main([loading, shell, transaction, verbs, joins, schedule, coordination, arguments, triggers, document],
            "extension")
