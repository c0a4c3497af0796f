"""One connection to a message broker and the thread that owns it: jobs, reading, heartbeats, reconnecting."""

from __future__ import annotations

import collections
import logging
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from typing import Any

from amqp.exceptions import MessageNacked
from kombu.connection import Connection

from vetro.agent.amqp_frames import Reception
from vetro.agent.errors import AccountRefused, BrokerUnavailable, ChannelClosed
from vetro.data_classes import dataclass

log = logging.getLogger(__name__)

#: Seconds for connecting and for one answer of the broker.
CONNECT_TIME = 10.0
ANSWER_TIME = 30.0
HEARTBEAT = 30
#: Seconds between attempts to connect: the first, and what they grow to.
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 15.0

#: The library has types in part only.
_Connection: Any = Connection
#: Codes of the protocol: access refused, not allowed.
_REFUSALS = (403, 530)

#: What the thread does with the broker's channel.
Job = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """Where the message broker is and who we are there."""

    host: str = "localhost"
    port: int = 5672
    login: str = "guest"
    password: str = "guest"
    virtual_host: str = "/"
    ssl: bool = False
    #: File with the certificates of authorities; empty: those of the system.
    ca_certs: str = ""
    #: Accepts any certificate.
    insecure: bool = False

    def __repr__(self) -> str:
        return f"<broker {self.login}@{self.host}:{self.port}{self.virtual_host}>"

    def connection(self, reception: Reception | None = None) -> Any:
        """A kombu connection that is not open yet; ``reception`` takes its messages."""
        options: dict[str, Any] | bool = False
        if self.ssl:
            options = {"cert_reqs": ssl.CERT_NONE if self.insecure else ssl.CERT_REQUIRED}
            if not self.insecure:
                options["server_hostname"] = self.host
            if self.ca_certs:
                options["ca_certs"] = self.ca_certs
        return _Connection(
            hostname=self.host,
            port=self.port,
            userid=self.login,
            password=self.password,
            virtual_host=self.virtual_host,
            ssl=options,
            heartbeat=HEARTBEAT,
            connect_timeout=CONNECT_TIME,
            transport="pyamqp",
            transport_options={
                "confirm_publish": True,
                "read_timeout": ANSWER_TIME,
                "write_timeout": ANSWER_TIME,
                "frame_handler": (reception or Reception()).frames,
            },
        )


@dataclass(slots=True)
class _Entry:
    work: Job
    done: Future[Any]
    deadline: float


class Link:
    """Runs jobs with the channel of an open connection. ``opened`` runs first on every new one, ``lost`` after each."""

    def __init__(
        self,
        settings: BrokerSettings,
        opened: Job,
        lost: Callable[[], None],
        prepare: Callable[[], object] = lambda: None,
    ) -> None:
        """``prepare`` makes what connecting needs; it runs before each connection."""
        self._settings = settings
        self._prepare = prepare
        self._opened = opened
        self._lost = lost
        self._jobs: collections.deque[_Entry] = collections.deque()
        self._wake_in, self._wake_out = socket.socketpair()
        for end in (self._wake_in, self._wake_out):
            end.setblocking(False)
        self._connection: Any = None
        self._channel: Any = None
        self._pause = FIRST_PAUSE
        self._next_try = 0.0
        self._trouble = "it was not tried yet"
        #: What of the messages that came is in memory.
        self.reception = Reception(self._was_blocked)
        self._blocked: str | None = None
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="vetro-agent-amqp", daemon=True)
        self._thread.start()

    def submit(self, work: Job, patience: float) -> Future[Any]:
        """Has a job done, again if the connection breaks; `BrokerUnavailable` after ``patience`` seconds."""
        if self._closing:
            raise ChannelClosed("the channel was closed")
        entry = _Entry(work, Future(), time.monotonic() + patience)
        self._jobs.append(entry)
        self._wake()
        return entry.done

    def close(self) -> None:
        """Does the jobs that can be done at once and ends the connection."""
        self._closing = True
        self._wake()
        self._thread.join()

    def _wake(self) -> None:
        try:
            self._wake_out.send(b"w")
        except (BlockingIOError, OSError):
            pass

    # -- the thread ----------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while not self._closing:
                if self._channel is None and time.monotonic() >= self._next_try:
                    self._connect()
                if self._channel is not None:
                    self._do_jobs()
                self._drop_late()
                self._wait()
            if self._channel is not None:
                self._do_jobs()
        finally:
            self._disconnect()
            self._closing = True
            while self._jobs:
                self._jobs.popleft().done.set_exception(ChannelClosed("the channel was closed"))
            self._wake_in.close()
            self._wake_out.close()

    def _connect(self) -> None:
        connection = self._settings.connection(self.reception)
        self._blocked = None
        try:
            self._prepare()
            connection.ensure_connection(max_retries=0)  # this thread does the waiting, where it can be interrupted
            self._connection, self._channel = connection, connection.channel()
            self._channel.auto_decode = False  # by whatever character set a sender names
            self._opened(self._channel)
            self._pause = FIRST_PAUSE
        except Exception as error:  # whatever the library raises: it is tried again
            self._connection = connection
            self._failed(error)
            refused = any(getattr(one, "reply_code", None) in _REFUSALS for one in (error, error.__cause__))
            if refused or isinstance(error, AccountRefused):
                # Waiting does not help against a wrong password; who sends shall hear of it now.
                self._drop_late(everything=True)

    def _was_blocked(self, reason: str | None) -> None:
        """The broker takes no messages until its memory or disk has room again; it still sends."""
        if reason is not None and self._blocked is None:
            log.warning("the message broker %s takes no messages at present: %s", self._settings, reason)
        self._blocked = reason

    def _failed(self, error: BaseException) -> None:
        self._trouble = str(error) or type(error).__name__
        if self._blocked is not None:
            self._trouble = f"it takes no messages at present: {self._blocked} (an alarm of its memory or disk)"
        log.warning("the message broker %s cannot be used: %s", self._settings, self._trouble)
        if self._connection is not None:
            self._connection.collect()  # without farewell: who does not answer would not answer that either
        self._disconnect()
        self._next_try = time.monotonic() + self._pause
        self._pause = min(self._pause * 2, LONGEST_PAUSE)

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        had, self._channel = self._channel is not None, None
        if connection is not None:
            try:
                connection.release()
            except Exception as error:
                log.debug("closing the connection to the broker: %s", error)
        if had:
            self._lost()

    def _do_jobs(self) -> None:
        while self._jobs and self._channel is not None:
            entry = self._jobs[0]
            try:
                answer = entry.work(self._channel)
            except MessageNacked:
                self._jobs.popleft()
                _settle(entry.done, error=BrokerUnavailable("the message broker refuses a message: its queue is full"))
            except Exception as error:
                # An error of the protocol that concerns this job only closes the channel, and repeating it is useless.
                if isinstance(error, self._connection.channel_errors):
                    self._jobs.popleft()
                    _settle(entry.done, error=BrokerUnavailable(f"the message broker refuses: {error}"))
                self._failed(error)
            else:
                self._jobs.popleft()
                _settle(entry.done, answer)

    def _drop_late(self, everything: bool = False) -> None:
        now = time.monotonic()
        for entry in tuple(self._jobs):
            if everything or now >= entry.deadline:
                self._jobs.remove(entry)
                where = f"{self._settings.host}:{self._settings.port}"
                _settle(
                    entry.done, error=BrokerUnavailable(f"the message broker {where} cannot be used: {self._trouble}")
                )

    def _wait(self) -> None:
        """Waits for a job, for what the broker sends, or for the time of the next duty."""
        now = time.monotonic()
        times = [entry.deadline - now for entry in tuple(self._jobs)]
        times.append(self._next_try - now if self._channel is None else HEARTBEAT / 4)
        sources: list[Any] = [self._wake_in]
        timeout = max(0.0, min(times))
        try:
            if self._channel is not None:
                sock = self._connection.connection.transport.sock
                sources.append(sock)
                if isinstance(sock, ssl.SSLSocket) and sock.pending():
                    timeout = 0.0
            readable = select.select(sources, [], [], timeout)[0]
            if self._wake_in in readable:
                self._wake_in.recv(4096)
            if self._channel is not None:
                self._read(len(readable) > (self._wake_in in readable) or timeout == 0.0)
        except Exception as error:
            self._failed(error)

    def _read(self, ready: bool) -> None:
        for _ in range(100 if ready else 0):
            try:
                self._connection.drain_events(timeout=0.001)
            except TimeoutError:
                break
        self._connection.heartbeat_check()


def _settle(future: Future[Any], answer: Any = None, error: Exception | None = None) -> None:
    try:
        if error is None:
            future.set_result(answer)
        else:
            future.set_exception(error)
    except InvalidStateError:
        pass  # who asked has given up
