"""The G1's own motion service: ask whether it runs, and release it.

While the service has a mode, it commands the motors; low-level control may begin only
when it has none. It is asked the way the vendor's SDK does: a request and a response
topic, JSON in both. Names, numbers and types are from the vendor's public SDK.

Import this module only where Cyclone DDS is installed.
"""

from __future__ import annotations

import json
import threading
import time
from typing import Any

from cyclonedds.idl import make_idl_struct
from cyclonedds.idl.annotations import autoid, final
from cyclonedds.idl.types import int32, int64, sequence, uint8

from solo.deploy.drivers.dds import Connection, TopicListener
from solo.deploy.drivers.g1_idl import Received
from solo.errors import SoloError

REQUEST_TOPIC = "rt/api/motion_switcher/request"
RESPONSE_TOPIC = "rt/api/motion_switcher/response"

CHECK_MODE, RELEASE_MODE = 1001, 1003
"""Numbers of the two calls that we need."""

MAX_RELEASES = 10
"""How often to release; the vendor's examples go on for ever."""


def _struct(name: str, **fields: Any) -> Any:
    """An IDL struct of the service, whose reader hands out its values as they are."""
    made: Any = make_idl_struct(name, f"unitree_api.msg.dds_.{name}_", fields)
    made = autoid("sequential")(final(made))
    decode = made.deserialize
    made.deserialize = staticmethod(lambda *a, **n: Received(decode(*a, **n)))
    return made


RequestIdentity = _struct("RequestIdentity", id=int64, api_id=int64)
RequestLease = _struct("RequestLease", id=int64)
RequestPolicy = _struct("RequestPolicy", priority=int32, noreply=bool)
RequestHeader = _struct(
    "RequestHeader", identity=RequestIdentity, lease=RequestLease, policy=RequestPolicy
)
Request = _struct(
    "Request", header=RequestHeader, parameter=str, binary=sequence[uint8]
)
ResponseStatus = _struct("ResponseStatus", code=int32)
ResponseHeader = _struct(
    "ResponseHeader", identity=RequestIdentity, status=ResponseStatus
)
Response = _struct("Response", header=ResponseHeader, data=str, binary=sequence[uint8])


class MotionService:
    """The service, as a client sees it."""

    def __init__(self, connection: Connection) -> None:
        self._answers: dict[int, tuple[int, str]] = {}
        self._arrived = threading.Condition()
        self._writer = connection.writer(REQUEST_TOPIC, Request)
        self._listener = TopicListener(
            connection, RESPONSE_TOPIC, Response, self._on_response
        )

    def call(self, api_id: int, timeout_s: float) -> str | None:
        """The data of the answer; None if there is none in time, or it is an error."""
        number = time.monotonic_ns()
        header = RequestHeader(
            identity=RequestIdentity(id=number, api_id=api_id),
            lease=RequestLease(id=0),
            policy=RequestPolicy(priority=0, noreply=False),
        )
        self._writer.write(Request(header=header, parameter="{}", binary=[]))
        with self._arrived:
            self._arrived.wait_for(lambda: number in self._answers, timeout_s)
            code, data = self._answers.pop(number, (-1, ""))
        return data if code == 0 else None

    def mode(self, timeout_s: float) -> str | None:
        """Name of the mode that runs, empty if none does; None without an answer."""
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            data = self.call(CHECK_MODE, 0.5)
            try:
                name = json.loads(data or "")["name"]
            except (ValueError, KeyError, TypeError):
                continue
            return str(name)
        return None

    def close(self) -> None:
        """Stop listening."""
        self._listener.close()

    def _on_response(self, response: Any) -> None:
        with self._arrived:
            answer = (response.header.status.code, response.data)
            self._answers[response.header.identity.id] = answer
            self._arrived.notify_all()


def release_motion(connection: Connection, interface: str, timeout_s: float) -> None:
    """Release the motion service until no mode is left.

    Raises:
        SoloError: It does not answer, or does not let go.
    """
    service = MotionService(connection)
    try:
        name: str | None = None
        for _ in range(MAX_RELEASES + 1):
            name = service.mode(timeout_s)
            if name is None:
                raise SoloError(
                    f"The motion service of the G1 on {interface!r} does not answer "
                    f"within {timeout_s:g} s ({REQUEST_TOPIC}), so it may still "
                    "command the motors. Restart the robot and try again."
                )
            if not name:
                return
            service.call(RELEASE_MODE, timeout_s)
        raise SoloError(
            f"The motion service of the G1 still runs {name!r} after {MAX_RELEASES} "
            "releases. Put the robot into debug mode (L2 + R2 on its remote) and try "
            "again."
        )
    finally:
        service.close()


class SimulatedMotionService:
    """The robot's side, for the simulated G1; it lets go at the second release."""

    def __init__(self, connection: Connection, kind: str) -> None:
        """Begin to answer.

        The kind is a mode's name, "off" for none, "silent" for a service that does not
        answer, "stuck" for one that never lets go.
        """
        self.name = "" if kind in ("off", "silent") else kind
        """The mode that runs, empty if none does."""
        self._kind, self._left = kind, 2
        self._writer = connection.writer(RESPONSE_TOPIC, Response)
        self._listener = TopicListener(
            connection, REQUEST_TOPIC, Request, self._on_request
        )

    def close(self) -> None:
        """Stop answering."""
        self._listener.close()

    def _on_request(self, request: Any) -> None:
        if self._kind == "silent":
            return
        identity, data = request.header.identity, ""
        if identity.api_id == RELEASE_MODE and self._kind != "stuck":
            self._left -= 1
            self.name = self.name if self._left > 0 else ""
        elif identity.api_id == CHECK_MODE:
            data = json.dumps({"form": "0", "name": self.name})
        header = ResponseHeader(identity=identity, status=ResponseStatus(code=0))
        self._writer.write(Response(header=header, data=data, binary=[]))
