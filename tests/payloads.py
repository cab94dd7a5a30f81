"""Files that run code if anybody unpickles them, to lay in every place where a file can be."""

from __future__ import annotations

import io
import pickle
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

EXTRA = ("weights.pt", "weights.bin", "checkpoint.pkl", "data.pkl", "archive/data.pkl", "graphs.npy", "graphs.npz")


class Touch:
    """Whoever unpickles it makes a file."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self):
        return Path.touch, (self.marker,)


def payloads(marker: Path) -> dict[str, bytes]:
    """The same mischief as a pickle alone, as torch.save writes it now and once did, and in NumPy's two formats."""
    trap = Touch(marker)
    array = np.array([trap], dtype=object)
    found = {"pickle": pickle.dumps(trap), "old pickle": pickle.dumps(trap, protocol=0)}
    for name, options in (("torch", {}), ("old torch", {"_use_new_zipfile_serialization": False})):
        torch.save(trap, target := io.BytesIO(), **options)
        found[name] = target.getvalue()
    np.save(target := io.BytesIO(), array, allow_pickle=True)
    found["npy"] = target.getvalue()
    np.savez(target := io.BytesIO(), weights=array)
    found["npz"] = target.getvalue()
    with zipfile.ZipFile(target := io.BytesIO(), "w") as archive:
        archive.writestr("archive/data.pkl", found["pickle"])
    return found | {"zip": target.getvalue()}


def is_live(marker: Path) -> bool:
    """Whether the mischief would happen at all; leaves nothing behind."""
    pickle.loads(payloads(marker)["pickle"])
    there = marker.exists()
    marker.unlink(missing_ok=True)
    return there


def attacks(folder: Path, marker: Path) -> Iterator[str]:
    """Lay each payload in place of each file of the folder in turn, then beside them; says where, and puts all back."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    for kind, content in payloads(marker).items():
        for path in files:
            before = path.read_bytes()
            path.write_bytes(content)
            yield f"{kind} as {path.name}"
            path.write_bytes(before)
        extra = [folder / name for name in EXTRA]
        for path in extra:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
        yield f"{kind} beside the files"
        for path in extra:
            path.unlink()
        (folder / "archive").rmdir()
