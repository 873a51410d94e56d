"""What carries a batch of blocks out: accesses, addresses, barriers and reports of what is wrong."""
