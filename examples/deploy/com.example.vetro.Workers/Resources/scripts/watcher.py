"""Looks at another server from time to time and writes down whether it answers. Usage: watcher.py ADDRESS SECONDS"""

import socket
import sys
import time


def answers(address):
    """A server that refuses the connection is there as well."""
    try:
        socket.create_connection((address, 22), timeout=1).close()
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    return True


address, seconds = sys.argv[1], float(sys.argv[2])
while True:
    if address == "-":
        word = "nobody to watch"
    else:
        word = address + (" answers" if answers(address) else " is silent")
    print(time.strftime("%H:%M:%S"), word, flush=True)
    time.sleep(seconds)
