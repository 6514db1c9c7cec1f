"""Writes the snapshot samples: one story in pickle protocols 2, 4 and 5, as PyTorch and torch_npu write them.

Two blocks were live before the recording: 0x1000 (it stays) and 0x2000 (it is freed). Three blocks are allocated, one
of them at the address of one that was freed before; one is freed by request but its free is not complete.
"""

import pathlib
import pickle

FRAMES = [{"name": "forward", "filename": "model.py", "line": 12}]


def entry(action, addr, size, time_us, stream=0):
    return {"action": action, "addr": addr, "size": size, "stream": stream, "time_us": time_us, "frames": FRAMES,
            "compile_context": "N/A", "user_metadata": "", "pool_id": (0, 0)}


def block(address, size, requested_size, state):
    return {"address": address, "size": size, "requested_size": requested_size, "state": state, "frames": FRAMES}


SNAPSHOT = {
    "segments": [
        {"device": 0, "address": 0x1000, "total_size": 0x9000, "allocated_size": 0x1000, "active_size": 0x1000,
         "requested_size": 1000, "stream": 0, "segment_type": "small", "segment_pool_id": (0, 0),
         "is_expandable": False, "frames": [],
         "blocks": [block(0x1000, 0x1000, 1000, "active_allocated"), block(0x2000, 0x1000, 3000, "active_allocated"),
                    block(0x3000, 0x1000, 4096, "active_pending_free"), block(0x4000, 0x6000, 0, "inactive")]}
    ],
    "device_traces": [
        [
            entry("segment_alloc", 0x1000, 0x9000, 1_700_000_000_000_000),
            entry("alloc", 0x3000, 4096, 1_700_000_000_000_010),
            entry("alloc", 0x4000, 512, 1_700_000_000_000_020, stream=77),
            entry("free_requested", 0x2000, 2000, 1_700_000_000_000_030),
            entry("free_completed", 0x2000, 2000, 1_700_000_000_000_030),
            entry("free_requested", 0x4000, 512, 1_700_000_000_000_040, stream=77),
            entry("free_completed", 0x4000, 512, 1_700_000_000_000_050, stream=77),
            entry("alloc", 0x2000, 3000, 1_700_000_000_000_060),
            entry("free_requested", 0x3000, 4096, 1_700_000_000_000_070),
        ],
        [],
    ],
    "allocator_settings": {"max_split_size": -1, "garbage_collection_threshold": 0.5, "expandable_segments": False},
    "external_annotations": [],
}

folder = pathlib.Path(__file__).parent / "traces"
for protocol in (2, 4, 5):
    (folder / f"snapshot_{protocol}.pickle").write_bytes(pickle.dumps(SNAPSHOT, protocol))
