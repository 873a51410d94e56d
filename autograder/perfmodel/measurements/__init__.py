"""Scripts that took the model's figures on a real GPU, and what they wrote; only the data is read by the package."""
