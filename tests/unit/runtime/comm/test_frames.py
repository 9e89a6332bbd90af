import pytest

from argosy.foundation.errors import CommError
from argosy.runtime.comm import frames
from argosy.runtime.comm.frames import BadFrame, Frame


@pytest.mark.parametrize(
    "frame",
    [
        Frame(frames.SET, 0, (b"key", b"value")),
        Frame(frames.ADD, -7, (b"",)),
        Frame(255, 2**63 - 1),
        Frame(1, 0, (b"x" * 70000,)),
    ],
)
def test_round_trip(frame):
    message = frames.pack(frame)
    assert frames.body_bytes(message) == len(message) - frames.HEADER_BYTES
    assert frames.unpack(message[frames.HEADER_BYTES :]) == frame


def test_every_torn_body_is_an_error_or_a_shorter_frame():
    body = frames.pack(Frame(frames.SET, 5, (b"key", b"value")))[frames.HEADER_BYTES :]
    whole = frames.unpack(body)
    for end in range(len(body)):
        try:
            torn = frames.unpack(body[:end])
        except BadFrame:
            continue
        assert torn.fields == whole.fields[: len(torn.fields)] != whole.fields


def test_sizes_are_bounded():
    with pytest.raises(BadFrame, match="4294967295 bytes was announced"):
        frames.body_bytes(b"\xff\xff\xff\xff")
    with pytest.raises(BadFrame, match="3 bytes was announced"):
        frames.body_bytes(b"\x00\x00\x00\x03")
    with pytest.raises(BadFrame):
        frames.body_bytes(b"\x00\x01\x00\x00", limit=frames.MAX_HANDSHAKE_BYTES)


def test_a_message_that_is_too_large_is_refused_before_it_is_sent(monkeypatch):
    monkeypatch.setattr(frames, "MAX_FRAME_BYTES", 100)
    with pytest.raises(CommError, match="too large for the store"):
        frames.pack(Frame(frames.SET, 0, (b"x" * 100,)))


def test_proofs():
    challenges = (b"server", b"client")
    proof = frames.prove("secret", "client", challenges)
    assert frames.is_proof(proof, "secret", "client", challenges)
    assert not frames.is_proof(proof, "Secret", "client", challenges)
    assert not frames.is_proof(proof, "secret", "server", challenges)
    assert not frames.is_proof(proof, "secret", "client", challenges[::-1])
    assert not frames.is_proof(b"", "secret", "client", challenges)
