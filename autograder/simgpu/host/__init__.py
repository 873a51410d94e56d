"""What the host sees: the module `cuda`, memory, launches, and scripts run on the simulated GPU."""
