"""The agent that runs in servers: standard library only, Python 3.9 or later, packed into one file by `build_agent`.

Modules import each other relatively because the packed file holds them under another package name.
"""

#: What ``muranoagent --version`` and the greeting on a local socket say.
VERSION = "1.0.0"
