"""Loops that come by again and again as one straight run of work: recorded once on a tape, and played from then on.

A nest of loops as `for i: for j: sums[i, j] += left[i] * right[j]` is hundreds of statements, each with accesses to look
at, to count and to put in order. Where nothing but the numbers themselves depends on what is in memory, each time is like
the one before. Then it is recorded what it counts, which elements it accesses and what it computes (recording.py), and
played by one compiled function (playing.py, play_primitives.py). nests.py says which loops that may be.

A long loop that also loads from global memory, as `for k: total += a[row, k] * b[k, column]`, is recorded in one round
(round_recording.py), and its others are played (rounds.py).

What is counted, found and computed is what steps would count, find and compute: recording carries the operations themselves
out, on books and numbers of its own, and each access is held against those before it as ever.
"""
