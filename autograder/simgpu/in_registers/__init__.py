"""Loops that touch nothing but variables, compiled for the CPU: a warp at a time, with the same counts."""
