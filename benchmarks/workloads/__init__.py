"""What is measured: the same workloads for every engine."""
