"""The simulated GPU: runs numba.cuda kernels from source, all threads at once, and counts and checks as it goes.

START HERE: "How it works" in README.md, then statements.py (how a statement becomes masked lane operations), access.py and
counting.py (where sectors and bank conflicts are counted), calls.py (how to add a function that kernels may call).
"""
