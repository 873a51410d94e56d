"""Public programs with numba.cuda kernels, run on the simulated GPU as they are published.

In: a manifest of repositories, commits and files (manifest.csv; none of their code is here). Out: what became of each
(results.json) and the table that people read (results.md). README.md says how it is run, and what it found.
"""
