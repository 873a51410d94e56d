"""What is known of a lowered kernel's operations before it runs: facts about values, never about names.

forms.py says which value an expression has, known.py of what kind it is, analysis.py works both out, and the other files
draw conclusions, one rule each.
"""
