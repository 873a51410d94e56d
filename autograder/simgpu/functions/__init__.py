"""What a kernel may call: the functions that a course needs."""
