"""What the store holds, and the operations on it. Pure: no socket, no thread.

An operation that cannot be done raises ValueError and has changed nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from argosy.runtime.comm import frames
from argosy.runtime.comm.frames import BadFrame, Frame

MAX_VALUES_BYTES = 1 << 30  # of all keys and values together
_ENTRY_BYTES = 100  # about what a key costs beside its bytes and those of its value


class Values:
    """A dictionary whose size in bytes is known and bounded."""

    def __init__(self) -> None:
        self._value_by_key: dict[bytes, bytes] = {}
        self.num_bytes = 0

    def __len__(self) -> int:
        return len(self._value_by_key)

    def __contains__(self, key: bytes) -> bool:
        return key in self._value_by_key

    def __getitem__(self, key: bytes) -> bytes:
        return self._value_by_key[key]

    def get(self, key: bytes) -> bytes | None:
        return self._value_by_key.get(key)

    def put(self, value_by_key: Mapping[bytes, bytes]) -> None:
        """Set all of these keys, or none if there is no room for them."""
        grown_by = sum(
            _cost(key, value) - self._cost_of(key) for key, value in value_by_key.items()
        )
        if grown_by > 0 and self.num_bytes + grown_by > MAX_VALUES_BYTES:
            raise ValueError(
                f"set: the values of the store would take {self.num_bytes + grown_by} bytes; "
                f"at most {MAX_VALUES_BYTES} are allowed"
            )
        self._value_by_key.update(value_by_key)
        self.num_bytes += grown_by

    def remove(self, key: bytes) -> bool:
        """Whether the key was there."""
        self.num_bytes -= self._cost_of(key)
        return self._value_by_key.pop(key, None) is not None

    def _cost_of(self, key: bytes) -> int:
        value = self._value_by_key.get(key)
        return 0 if value is None else _cost(key, value)


def _cost(key: bytes, value: bytes) -> int:
    return len(key) + len(value) + _ENTRY_BYTES


def operate(values: Values, frame: Frame) -> Frame:
    """Do what ``frame`` asks for and return the answer. GET and WAIT, which may have to wait, are
    not among these.
    """
    found = _OPERATIONS.get(frame.code)
    if found is None:
        raise BadFrame(f"there is no operation {frame.code}")
    operation, num_fields = found
    if num_fields is not None and len(frame.fields) != num_fields:
        raise ValueError(
            f"operation {frame.code} takes {num_fields} fields, but received {len(frame.fields)}"
        )
    return operation(values, frame)


def _set(values: Values, frame: Frame) -> Frame:
    keys, contents = frame.fields[::2], frame.fields[1::2]
    if len(keys) != len(contents):
        raise ValueError(f"set: received {len(keys)} keys, but {len(contents)} values")
    values.put(dict(zip(keys, contents, strict=True)))
    return Frame(frames.OK)


def _append(values: Values, frame: Frame) -> Frame:
    key, content = frame.fields
    values.put({key: (values.get(key) or b"") + content})
    return Frame(frames.OK)


def _add(values: Values, frame: Frame) -> Frame:
    (key,) = frame.fields
    current = values.get(key)
    if current is None:
        current = b"0"
    if len(current) > 20 or not current.removeprefix(b"-").isdigit():
        raise ValueError(f"add: key {text(key)!r} holds {current[:40]!r}, which is not a counter")
    total = int(current) + frame.number
    if not -(2**63) <= total < 2**63:
        raise ValueError(
            f"add: key {text(key)!r} would become {total}, which does not fit into 64 bits"
        )
    values.put({key: str(total).encode()})
    return Frame(frames.OK, total)


def _check(values: Values, frame: Frame) -> Frame:
    return Frame(frames.OK, int(all(key in values for key in frame.fields)))


def _delete(values: Values, frame: Frame) -> Frame:
    return Frame(frames.OK, int(values.remove(frame.fields[0])))


def _compare_set(values: Values, frame: Frame) -> Frame:
    """Return the value that the key has afterwards; as in torch, the expected one if there is no
    such key.
    """
    key, expected, desired = frame.fields
    current = values.get(key)
    if current == expected or (current is None and not expected):
        values.put({key: desired})
        current = desired
    return Frame(frames.OK, 0, (expected if current is None else current,))


def _num_keys(values: Values, frame: Frame) -> Frame:
    return Frame(frames.OK, len(values))


def text(data: bytes) -> str:
    """Bytes of a peer, for a message."""
    return data[:200].decode(errors="replace")


# code: the operation, and how many fields it takes (None: any number)
_OPERATIONS: dict[int, tuple[Callable[[Values, Frame], Frame], int | None]] = {
    frames.SET: (_set, None),
    frames.APPEND: (_append, 2),
    frames.ADD: (_add, 1),
    frames.CHECK: (_check, None),
    frames.DELETE: (_delete, 1),
    frames.COMPARE_SET: (_compare_set, 3),
    frames.NUM_KEYS: (_num_keys, 0),
}
