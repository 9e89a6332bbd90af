"""``paddle.text.viterbi_decode``."""

from goldens.harness import Cases

cases = Cases("viterbi")


def decode(name, batch, length, tags, ends, includes, dtype="float32"):
    @cases.add(name)
    def run(paddle, d):
        scores = paddle.to_tensor(d.normal(batch, length, tags).astype(dtype))
        moves = paddle.to_tensor(d.normal(tags, tags).astype(dtype))
        lengths = paddle.to_tensor(ends, dtype="int64")
        layer = paddle.text.ViterbiDecoder(moves, include_bos_eos_tag=includes)
        return [
            paddle.text.viterbi_decode(scores, moves, lengths, includes),
            layer(scores, lengths),
        ]


for kind, includes in (("tags", False), ("tags and ends", True)):
    decode(kind, 3, 5, 4, [5, 2, 1], includes)
    decode(f"{kind} short", 2, 6, 5, [3, 4], includes)
    decode(f"{kind} one step", 2, 1, 3, [1, 1], includes)
    decode(f"{kind} float64", 4, 7, 6, [7, 6, 5, 4], includes, "float64")
