"""Who is at the other end of a connection on this machine: the user that owns its socket, where the
system tells it.
"""

from __future__ import annotations

import ipaddress
import os
import struct
import sys
from collections.abc import Sequence
from pathlib import Path

# All connections of a Linux machine: one line each, with both ends and the user who owns the
# socket.
TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
# Positions in a line of these tables.
LOCAL_END, REMOTE_END, USER = 1, 2, 7
ROOT = 0


def is_own_user(client: Sequence[object] | None, server: Sequence[object] | None) -> bool:
    """Whether a connection comes from a process of this user, or of root. Where the system does not
    tell, it may.

    Other users of the same machine reach every port of 127.0.0.1 too, and a browser sends its
    cookies to all of these ports.
    """
    user = user_of_peer(client, server)
    return user is None or user in (os.getuid(), ROOT)


def user_of_peer(client: Sequence[object] | None, server: Sequence[object] | None) -> int | None:
    """The user whose process opened a connection; None where it is not known: not Linux, or the
    connection is gone.
    """
    if client is None or server is None or not sys.platform.startswith("linux"):
        return None
    ends = (_written_end(client), _written_end(server))
    if None in ends:
        return None
    for table in TABLES:
        try:
            lines = table.read_text("ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if (fields[LOCAL_END], fields[REMOTE_END]) == ends:
                return int(fields[USER])
    return None


def _written_end(end: Sequence[object]) -> str | None:
    """An address and port as the tables of the system write them.

    >>> _written_end(("127.0.0.1", 8080))
    '0100007F:1F90'
    """
    try:
        address = ipaddress.ip_address(str(end[0])).packed
        port = int(str(end[1]))
    except (ValueError, IndexError):
        return None
    # Words of four bytes in the order of the machine, which the tables print as numbers.
    words = struct.unpack(f"={len(address) // 4}I", address)
    return "".join(f"{word:08X}" for word in words) + f":{port:04X}"
