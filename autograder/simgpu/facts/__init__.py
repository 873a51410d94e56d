"""What is known of a lowered kernel's operations before it runs: facts about values, never about names.

forms.py says which value an expression has, known.py of what kind it is. `Analysis` (analysis.py) works both out, along all
ways through a kernel, with objects for expressions (evaluation.py), what operators and conversions give (results.py), the
library (library_calls.py), memory (known_memory.py), variables of loops (loop_variables.py) and places where ways meet
(meeting.py). What it finds is in found.py. `Expanded` (expanded.py) is the same with the loops that the compiler writes out
gone through round by round; pieces.py collects accesses on the way. The other files draw conclusions, one rule each.
"""
