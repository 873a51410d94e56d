"""What cuBLAS and this lab's baseline took for each size that may be timed, in the grader's way of timing.

Written by `python -m autograder.grading.known_answers.library_times lab07` on an NVIDIA H200:
cuBLAS, float32 without TF32, by cupy 14.2.0.
"""

# Rows of A x columns of A x columns of B: nanoseconds of the library, and of the baseline.
NANOSECONDS = {
    "1408 x 256 x 2944": (53152, 276480),
    "1408 x 288 x 2944": (59200, 307600),
    "1408 x 320 x 2944": (65232, 340368),
    "1536 x 256 x 2688": (53104, 275216),
    "1536 x 288 x 2688": (59312, 306768),
    "1536 x 320 x 2688": (65440, 339120),
    "1664 x 256 x 2560": (53360, 284128),
    "1664 x 288 x 2560": (59568, 316992),
    "1664 x 320 x 2560": (65552, 349792),
    "1792 x 256 x 2304": (53088, 276288),
    "1792 x 288 x 2304": (59488, 307792),
    "1792 x 320 x 2304": (65296, 340560),
    "2048 x 256 x 2048": (53328, 282480),
    "2048 x 288 x 2048": (59296, 310576),
    "2048 x 320 x 2048": (65376, 345152),
    "2304 x 256 x 1792": (52992, 276880),
    "2304 x 288 x 1792": (59232, 309184),
    "2304 x 320 x 1792": (65216, 341280),
    "1663 x 261 x 2557": (58480, 316240),
    "1791 x 283 x 2301": (59152, 308704),
    "2045 x 271 x 2043": (55776, 311136),
    "2303 x 307 x 1789": (65488, 341376),
}
