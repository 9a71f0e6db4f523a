#!/usr/bin/env python3
"""Tests of the project itself: its interface, its sources, its documents."""
import api
import assertions
import documents
import install
import lists
import manual
import passed
import prose
import runner
import sources
import structure

runner.main([api, assertions, sources, structure, lists, documents, manual, prose, install, passed])
