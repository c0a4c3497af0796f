"""One task: its process, from the zygote that forks it to the frames that it sends."""
