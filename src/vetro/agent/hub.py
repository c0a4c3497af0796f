"""One thread that serves the sockets of all servers of an environment.

Only one process serves them at a time: it holds the lock file. The others look from time to time whether it has gone,
and take over. Inside one process nothing polls: `Hub.wake` interrupts the waiting. What other processes wrote into the
store is noticed within `POLL` seconds.
"""

from __future__ import annotations

import logging
import os
import resource
import selectors
import socket
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path

from vetro import file_lock
from vetro.agent.errors import ChannelClosed, ChannelStoreError
from vetro.agent.limits import MOST_HELD
from vetro.agent.peer import Peer, Refused
from vetro.agent.store import QueueStore
from vetro.clouds.drivers.agent_sockets import SOCKET, stands
from vetro.clouds.errors import CloudError
from vetro.clouds.kind_protocols import Listen

log = logging.getLogger(__name__)

#: Seconds between looks at what other processes did.
POLL = 0.1
#: Connections that one server may hold open.
MOST_PEERS = 4


class Hub:
    """Serves the servers that the store names; ``listen`` opens their sockets.

    ``arrived`` is called after messages came, from its thread.
    """

    def __init__(self, store: QueueStore, lock: Path, arrived: Callable[[], None], listen: Listen) -> None:
        self._store = store
        self._listen_at = listen
        self._lock_path = lock
        self._arrived = arrived
        self._selector = selectors.DefaultSelector()
        self._wake_in, self._wake_out = socket.socketpair()
        for end in (self._wake_in, self._wake_out):
            end.setblocking(False)
        self._selector.register(self._wake_in, selectors.EVENT_READ)
        self._lock: int | None = None
        #: By queue: its socket, a mark of the socket's name, its folder.
        self._listeners: dict[str, tuple[socket.socket, int, Path]] = {}
        self._peers: dict[str, list[Peer]] = {}
        self._touched: set[str] = set()
        self._all = True
        self._next_look = 0.0
        self._guard = threading.Lock()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="vetro-agent-hub", daemon=True)

    def start(self) -> None:
        """Begins to serve."""
        self._thread.start()

    def wake(self, queue: str | None = None) -> None:
        """There is something to deliver on a queue; without one the list of servers has changed, too."""
        with self._guard:
            if queue is None:
                self._all = True
            else:
                self._touched.add(queue)
        try:
            self._wake_out.send(b"w")
        except (BlockingIOError, OSError):
            pass  # full: it wakes up anyway; closed: nobody is there to wake

    def connected(self, queue: str) -> bool | None:
        """Whether an agent that has greeted is connected; None while another process serves the sockets."""
        if self._lock is None:
            return None
        return any(peer.greeted for peer in tuple(self._peers.get(queue, ())))

    def close(self) -> None:
        """Ends all connections and lets another process serve."""
        self._closing = True
        self.wake()
        self._thread.join()

    # -- the thread ----------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        version = -1
        try:
            while not self._closing:
                try:
                    for key, mask in self._selector.select(POLL):
                        self._event(key, mask)
                    now = self._store.version()
                    if now != version:
                        version = now
                        self._all = True
                        self._arrived()
                    self._tick()
                except ChannelClosed:
                    return
                except (ChannelStoreError, CloudError, OSError):
                    log.exception("the channel to the servers has a problem; it goes on")
                    time.sleep(POLL)  # a full disk must not turn into a busy loop
        finally:
            self._end()

    def _event(self, key: selectors.SelectorKey, mask: int) -> None:
        if key.data is None:
            try:
                self._wake_in.recv(4096)
            except BlockingIOError:
                pass
        elif isinstance(key.data, Peer):
            self._serve(key.data, mask)
        else:
            self._accept(key.data)

    def _tick(self) -> None:
        with self._guard:
            touched, self._touched = self._touched, set()
            everything, self._all = self._all, False
        serving = self._lock is not None or self._take_lock()
        if not serving:
            self._all = True  # what is due then is not known now
            return
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + POLL
            everything = everything or any(not stands(mark) for _, mark, _ in self._listeners.values())
            for peer in self._all_peers():
                self._guarded(peer, lambda peer=peer: peer.check_time(now))  # type: ignore[misc]
        if everything and self._match_servers():
            self._all = True
        for queue in list(self._peers) if everything else touched:
            for peer in tuple(self._peers.get(queue, ())):
                self._guarded(peer, peer.deliver)

    def _all_peers(self) -> list[Peer]:
        return [peer for peers in self._peers.values() for peer in peers]

    def _take_lock(self) -> bool:
        try:
            self._lock = file_lock.take(self._lock_path, wait=False)
        except BlockingIOError:
            return False
        self._all = True
        return True

    def _match_servers(self) -> bool:
        """Opens and closes sockets as the store says; True when some could not be opened yet."""
        wanted = self._store.servers()
        for queue, (_, mark, folder) in list(self._listeners.items()):
            if wanted.get(queue) != folder or not stands(mark):
                self._drop_server(queue)
        missing = False
        _allow_files(4 * len(wanted) + 256)
        for queue, folder in wanted.items():
            if queue not in self._listeners:
                try:
                    self._listen(queue, folder)
                except (OSError, CloudError) as error:  # whoever makes sockets may be away, or the server gone
                    missing = True
                    log.debug("the socket of %s cannot be opened yet: %s", queue, error)
        return missing

    def _listen(self, queue: str, folder: Path) -> None:
        listener, mark = self._listen_at(queue, folder)
        listener.setblocking(False)
        self._selector.register(listener, selectors.EVENT_READ, queue)
        self._listeners[queue] = (listener, mark, folder)

    def _drop_server(self, queue: str) -> None:
        listener, mark, folder = self._listeners.pop(queue)
        self._selector.unregister(listener)
        listener.close()
        try:
            if stands(mark):
                (folder / SOCKET).unlink(missing_ok=True)
        except OSError:
            pass  # the folder may be gone, or not ours
        os.close(mark)
        for peer in self._peers.pop(queue, []):
            self._selector.unregister(peer.sock)
            peer.sock.close()

    def _accept(self, queue: str) -> None:
        try:
            sock, _ = self._listeners[queue][0].accept()
        except (KeyError, OSError):
            return
        if not trusted(sock):
            log.warning("a connection to %s of somebody who is not root there was refused", queue)
            sock.close()
            return
        peer = Peer(sock, queue, self._store, self._arrived)
        peers = self._peers.setdefault(queue, [])
        peers.append(peer)
        self._selector.register(sock, selectors.EVENT_READ, peer)
        if len(peers) > MOST_PEERS:
            self._hang_up(peers[0], "too many connections")

    def _serve(self, peer: Peer, mask: int) -> None:
        if peer not in self._peers.get(peer.queue, ()):
            return  # closed by an earlier event of the same round
        greeted = peer.greeted

        def work() -> None:
            open_ = not mask & selectors.EVENT_WRITE or peer.writable()
            if not (open_ and (not mask & selectors.EVENT_READ or peer.readable())):
                self._forget(peer)

        self._guarded(peer, work)
        if peer.greeted and not greeted:
            # An agent that was restarted takes the place of the one before.
            for other in tuple(self._peers.get(peer.queue, ())):
                if other is not peer and other.greeted:
                    self._hang_up(other, "another connection took its place")
        if peer.waiting > 1 << 20 and self._waiting() > MOST_HELD:
            self._hang_up(peer, "too many large messages at once, try again later")

    def _waiting(self) -> int:
        return sum(peer.waiting for peer in self._all_peers())

    def _guarded(self, peer: Peer, work: Callable[[], None]) -> None:
        try:
            work()
        except Refused as error:
            log.warning("the connection of %s is closed: %s", peer.queue, str(error))  # not what it refers to
            self._hang_up(peer, str(error))
        except ChannelClosed:
            raise
        except Exception:
            # A fault met with one server must not silence the others. It comes again and nothing was acknowledged.
            log.exception("the connection of %s failed", peer.queue)
            self._forget(peer)
        if peer in self._peers.get(peer.queue, ()):
            mask = selectors.EVENT_READ if peer.may_read else 0
            mask |= selectors.EVENT_WRITE if peer.wants_to_write else 0
            if self._selector.get_key(peer.sock).events != mask:
                self._selector.modify(peer.sock, mask, peer)

    def _hang_up(self, peer: Peer, reason: str) -> None:
        peer.hang_up(reason)
        self._forget(peer)

    def _forget(self, peer: Peer) -> None:
        peers = self._peers.get(peer.queue, [])
        if peer in peers:
            peers.remove(peer)
            self._selector.unregister(peer.sock)
            peer.sock.close()

    def _end(self) -> None:
        for queue in list(self._listeners):
            self._drop_server(queue)
        self._selector.close()
        self._wake_in.close()
        self._wake_out.close()
        if self._lock is not None:
            os.close(self._lock)  # the lock file stays: removing it would let two processes hold it


def trusted(sock: socket.socket) -> bool:
    """Whether the other side is we or the root of a guest; everybody may open the socket, not everybody is the agent.

    Guests have ranges of user ids that begin at multiples of 65536, where their root is; without a range it is 0.
    """
    credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    user = int(struct.unpack("3i", credentials)[1])
    return user == os.geteuid() or user % 65536 == 0


def _allow_files(number: int) -> None:
    """Lets this process have that many open files, as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < number:
        wanted = number if hard == resource.RLIM_INFINITY else min(number, hard)
        if wanted > soft:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
