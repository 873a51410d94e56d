"""What an H200's hardware counters say of known kernels (h200_counters.json), and the script that asked them."""
