"""Hostile and broken submissions, and honest ones close to them: see test_grading_attacks.py."""
