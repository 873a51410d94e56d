"""Which accesses are ordered, by barriers, counters and locks, and which race."""
