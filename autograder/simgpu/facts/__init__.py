"""What is known of a lowered kernel's operations before it runs: facts about values, never about names.

forms.py says which value an expression has, known.py what kind of value. `Analysis` (analysis.py) works out both on every
path through a kernel. It hands parts of the work to others: expressions (evaluation.py), results of operators and
conversions (known_results.py), library functions (library_calls.py), memory (known_memory.py), variables of loops
(loop_variables.py), and the places where two paths meet (merging.py). found.py holds what it finds.

`Expanded` (expanded.py) does the same once more, round by round in the loops that the compiler unrolls; pieces.py
collects accesses on the way. Every other file draws one kind of conclusion from what was found.
"""
