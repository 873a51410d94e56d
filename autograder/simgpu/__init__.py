"""The simulated GPU: runs numba.cuda kernels from source, all threads at once, and counts and checks as it goes.

START HERE: interpreter.py (how a statement becomes masked lane operations), then access.py (where sectors and bank
conflicts are counted), then intrinsics.py (how to add a function that kernels may call).
"""
