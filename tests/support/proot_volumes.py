"""Volumes of proot servers, run by an ordinary user: `python -m tests.support.proot_volumes FOLDER ARCHIVE`.

Prints what it saw as JSON. A program of its own because tests may run as root, which the driver refuses.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

from tests.support.servers import network, server
from vetro.clouds.drivers.specs import VolumeSpec
from vetro.clouds.drivers.values import DeviceName, Id, Name
from vetro.clouds.images.build import import_archive
from vetro.clouds.images.store import ImageStore
from vetro.clouds.proot.driver import ProotDriver
from vetro.library import std_package

STEPS = (Path(str(std_package().location)) / "Resources/scripts/steps.py").read_bytes()
#: What `io.vetro.std` sends, and who writes into the volume then.
STEP = json.dumps({"steps": [{"do": "volume", "device": "/dev/vdb", "path": "/var/lib/data"}]})


def main(folder: Path, archive: Path) -> None:
    """Does it all."""
    store = ImageStore(folder / "images")
    import_archive(store, archive, "debian-12")
    driver = ProotDriver(folder / "cloud", images=store)
    driver.ensure_network(network("10.99.0"))
    data = VolumeSpec(Id("volume-1"), Name("data"), 1, device=DeviceName("/dev/vdb"))
    copied = replace(data, id=Id("volume-2"), name=Name("copied"), source=Id("volume-1"))

    def sh(id: str, script: str, input: bytes = b"") -> str:
        done = driver.execute(id, ["sh", "-c", f"exec 2>&1; {script}"], input=input)
        return f"{done.stdout.decode(errors='replace')}[{done.code}]"

    def step(id: str) -> str:
        sh(id, "cat > /root/steps.py", STEPS)
        return sh(id, f"cd /root && echo '{STEP}' | python3 -I steps.py && cat answer.json")

    driver.ensure_volume(data)
    first = replace(server(1, "10.99.0"), volumes=(data,))
    driver.create(first)
    seen = {"changed": step(first.id), "again": step(first.id)}
    sh(first.id, "echo kept > /var/lib/data/word")
    driver.delete(first.id)
    # It outlives its server and is another one's then, which has it after it was started again, too.
    second = replace(server(2, "10.99.0"), volumes=())
    driver.create(second)
    seen["without"] = sh(second.id, "ls /run/vetro-volumes")
    driver.update(replace(second, volumes=(data,)))
    step(second.id)
    seen["moved"] = sh(second.id, "cat /var/lib/data/word")
    driver.ensure_volume(copied)
    driver.update(replace(second, volumes=(replace(copied, device=DeviceName("/dev/vdc")),)))
    sh(second.id, "echo later > /run/vetro-volumes/vdc/word")
    seen["gone"] = sh(second.id, "test ! -e /var/lib/data/word && cat /run/vetro-volumes/vdc/word")
    driver.update(replace(second, volumes=(data,)))
    seen["back"] = sh(second.id, "cat /var/lib/data/word")
    driver.update(second)
    driver.delete(second.id)
    for volume in (data, copied, copied):
        driver.delete_volume(volume.id)
    driver.clear()
    seen["left"] = ", ".join(sorted(path.name for path in (folder / "cloud/proot/volumes").iterdir()))
    print(json.dumps(seen))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
