"""Loops of one thread, written out as Python functions: a lane by itself needs no lane vectors."""
