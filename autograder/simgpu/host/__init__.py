"""What the host sees: the module `cuda`, devices, launches, sampling, and scripts run on the simulated GPU."""
