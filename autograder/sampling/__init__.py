"""Launches of which only a sample of blocks is carried out: which blocks, what they stand for, what may be missing.

The engine (`autograder.simgpu`) carries out the blocks that it is told to, and says what they did. In comes a `Chooser`
of ours, `Sampler` or `Follower`, which a session is made with; out come records whose counts stand for all blocks, and of
a followed run how much all blocks would write, and which elements are as they would have left them.
START HERE: sampler.py, then follower.py.
"""
