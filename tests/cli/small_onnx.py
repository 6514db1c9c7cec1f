"""ONNX files of a few hundred bytes, made by hand: the encoding, as far as a small model needs it."""

import struct


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def block(field, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


def tensor_type(name, *axes):
    """A float tensor; axes are numbers or names."""
    shape = b"".join(block(1, number(1, one) if isinstance(one, int) else block(2, one)) for one in axes)
    return block(1, name) + block(2, block(1, number(1, 1) + block(2, shape)))


def adder(*more, data=block(9, struct.pack("<64f", *range(64)))):
    """sum = first + second + w, on [n,64] and [64]."""
    weight = number(1, 64) + number(2, 1) + block(8, "w") + data
    graph = block(1, block(1, "first") + block(1, "second") + block(2, "both") + block(4, "Add"))
    graph += block(1, block(1, "both") + block(1, "w") + block(2, "sum") + block(4, "Add"))
    graph += block(2, "adder") + block(5, weight)
    graph += block(11, tensor_type("first", "n", 64)) + block(11, tensor_type("second", 64))
    graph += block(12, tensor_type("sum", "n", 64))
    return number(1, 8) + block(7, graph + b"".join(more)) + block(8, number(2, 13))
