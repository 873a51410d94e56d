"""What a kernel computes with: values in lanes, their types, variables, and the memory that arrays lie in."""
