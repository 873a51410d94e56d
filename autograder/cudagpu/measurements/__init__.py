"""Scripts that measure on a GPU what the grader's own use of it costs; each says in its first lines how it is run."""
