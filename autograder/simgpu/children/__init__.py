"""A folder for PYTHONPATH, with a `sitecustomize` that Python runs at the start of each process."""
