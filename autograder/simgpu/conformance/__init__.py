"""Numba's own CUDA tests on the simulated GPU: `python -m autograder.simgpu.conformance.run_numba_tests`."""
