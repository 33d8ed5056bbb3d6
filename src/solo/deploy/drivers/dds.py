"""Cyclone DDS: which network to use, and how to read and write one topic.

On loopback there is no multicast, so participants find each other by asking the ports
of 127.0.0.1. On the network of a robot, multicast does it, as the robot expects.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from solo.errors import SoloError

INSTALL = 'pip install "solo-locomotion[g1]"'
"""What brings Cyclone DDS."""

LOOPBACK = "lo"

_DOMAINS: dict[int, tuple[str, Any]] = {}
"""Domains that this process has configured; a domain can be configured once."""


def domain_config(interface: str) -> str:
    """Configuration of Cyclone DDS for one network interface, as XML."""
    if interface != LOOPBACK:
        return (
            "<CycloneDDS><Domain Id='any'><General><Interfaces>"
            f"<NetworkInterface name='{interface}' priority='default' "
            "multicast='default'/></Interfaces></General></Domain></CycloneDDS>"
        )
    return (
        "<CycloneDDS><Domain Id='any'><General><Interfaces>"
        "<NetworkInterface name='lo' multicast='false'/></Interfaces>"
        "<AllowMulticast>false</AllowMulticast></General><Discovery>"
        "<ParticipantIndex>auto</ParticipantIndex>"
        "<Peers><Peer Address='127.0.0.1'/></Peers>"
        "</Discovery></Domain></CycloneDDS>"
    )


class Connection:
    """One participant in a DDS domain.

    Raises:
        SoloError: Cyclone DDS is not installed, or the interface cannot be used.
    """

    def __init__(self, interface: str, domain_id: int = 0) -> None:
        try:
            from cyclonedds.core import DDSException
            from cyclonedds.domain import Domain, DomainParticipant
        except ImportError as error:
            raise SoloError(
                f"Cyclone DDS is not installed, the G1 speaks it: {INSTALL}."
            ) from error
        known, _ = _DOMAINS.get(domain_id, (interface, None))
        if known != interface:
            raise SoloError(
                f"DDS domain {domain_id} already uses the interface {known!r} in this "
                f"program and cannot use {interface!r}. Choose another domain."
            )
        try:
            if domain_id not in _DOMAINS:
                domain = Domain(domain_id, domain_config(interface))
                _DOMAINS[domain_id] = (interface, domain)
            self.participant = DomainParticipant(domain_id)
        except DDSException as error:
            raise SoloError(
                f"Cannot open the network interface {interface!r} for DDS: {error}. "
                "`ip link` lists the interfaces; choose one with --interface."
            ) from error

    def writer(self, topic: str, kind: Any) -> Any:
        """A writer that keeps the newest message only."""
        from cyclonedds.core import Policy, Qos
        from cyclonedds.pub import DataWriter
        from cyclonedds.topic import Topic
        from cyclonedds.util import duration

        qos = Qos(
            Policy.Reliability.Reliable(duration(milliseconds=1)),
            Policy.History.KeepLast(1),
        )
        return DataWriter(self.participant, Topic(self.participant, topic, kind), qos)

    def close(self) -> None:
        """Leave the domain."""
        del self.participant


class TopicListener:
    """Hands each message of a topic over, in a thread of its own."""

    def __init__(
        self,
        connection: Connection,
        topic: str,
        kind: Any,
        handle: Callable[[Any], None],
        is_own: bool = True,
    ) -> None:
        """Begin to listen, also to what the connection itself writes if ``is_own``."""
        from cyclonedds.core import (
            InstanceState,
            Policy,
            Qos,
            ReadCondition,
            SampleState,
            ViewState,
            WaitSet,
        )
        from cyclonedds.sub import DataReader
        from cyclonedds.topic import Topic

        participant, ignored = connection.participant, Policy.IgnoreLocal
        qos = Qos(
            Policy.Reliability.BestEffort,
            Policy.History.KeepLast(4),
            ignored.Nothing if is_own else ignored.Participant,
        )
        self._reader = DataReader(participant, Topic(participant, topic, kind), qos)
        any_data = SampleState.Any | ViewState.Any | InstanceState.Any
        self._condition = ReadCondition(self._reader, any_data)
        self._waitset = WaitSet(participant)
        self._waitset.attach(self._condition)
        self._handle, self._stop = handle, threading.Event()
        self._thread = threading.Thread(target=self._run, name=topic, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._stop.set()
        self._thread.join(timeout=1.0)
        self._waitset.detach(self._condition)

    def _run(self) -> None:
        from cyclonedds.core import DDSException
        from cyclonedds.util import duration

        pause = duration(milliseconds=100)
        while not self._stop.is_set():
            try:
                messages = self._reader.take(N=4) if self._waitset.wait(pause) else []
            except DDSException:  # The participant is gone; data grows old.
                return
            for message in messages:
                if getattr(message, "record", None) is not None:
                    self._handle(message.record)
