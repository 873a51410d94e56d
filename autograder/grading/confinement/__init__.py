"""Linux's own walls around a process that asks for no privilege: which files it reaches (landlock.py, reach.py), and which
system calls it may make (seccomp.py). Paths and rules go in; what is in force afterwards holds until the process ends.

Nothing here decides what a worker needs: that is isolation.py's.
"""
