"""The control plane of seed 004: tasks, jobs, results, acceptance, integrate, publish."""
