"""A stand-in for CuPy: what tutorials use of it to make arrays for their kernels, on NumPy and the simulated GPU's memory.

A `Memory` (memory.py) comes in, which is how the simulated GPU offers its own; the modules that `import cupy` and
`import cupyx` find come out (modules.py). Nothing else of the package is known here. README.md says what there is.
"""
