"""Loops over variables and loads that store nothing, compiled for the CPU: a warp at a time, with the same counts."""
