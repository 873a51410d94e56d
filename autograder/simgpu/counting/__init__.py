"""What an access or an instruction adds to the counters of its source line."""
