"""Scripts that count sampled launches: the performance model's own cases, and those that it is judged by."""
