"""Mutants of right answers: each is graded, and whoever gets full marks is held against a judge of its own.

What flows: right answers (programs.py) -> mutants (mutants.py) -> verdicts (campaign.py), which asks the lab's checks and,
of full marks, the lab's judge (judging.py, with `solutions/LAB/judge.py`) -> a table and JSON (report.py).
"""
