"""Parts of Numba's surface that the course does not use: here so that programs from elsewhere run unmodified."""
