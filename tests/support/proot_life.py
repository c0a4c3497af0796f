"""The life of proot servers, run by an ordinary user: `python -m tests.support.proot_life FOLDER ARCHIVE`.

Prints what it saw as JSON. A program of its own because tests may run as root, which the driver refuses.
"""

from __future__ import annotations

import json
import socket
import sys
import time
import urllib.request
from pathlib import Path

from tests.support.servers import network, server
from vetro.clouds import kinds
from vetro.clouds.drivers.specs import ConfigSpec
from vetro.clouds.drivers.values import Id, Name
from vetro.clouds.images.build import import_archive
from vetro.clouds.images.store import ImageStore
from vetro.clouds.kind_protocols import Place
from vetro.clouds.proot.driver import ProotDriver

UNIT = (
    "[Service]\\nExecStart=/usr/bin/python3 -m http.server {port} --bind {address} -d /srv\\n"
    "[Install]\\nWantedBy=multi-user.target\\n"
)
USER_DATA = """\
#!/bin/bash
echo run >> /root/runs
mkdir -p /srv; echo hello > /srv/index.html
printf '{unit}' > /etc/systemd/system/www.service
systemctl daemon-reload
systemctl enable www
service www start
"""


def main(folder: Path, archive: Path) -> None:
    """Does it all."""
    seen: dict[str, object] = {}
    store = ImageStore(folder / "images")
    import_archive(store, archive, "debian-12")
    seen["choice"] = kinds.choose(Place(directory=folder, images=store)).name
    driver = ProotDriver(folder / "cloud", images=store)
    driver.ensure_network(network("10.99.0"))
    address = driver.address("server-1")
    with socket.create_server((address, 0)) as probe:
        port = probe.getsockname()[1]
    user_data = USER_DATA.format(unit=UNIT.format(port=port, address=address))
    spec = server(1, "10.99.0", user_data=user_data, queue="ee1f2-h1")

    def sh(script: str) -> str:
        done = driver.execute("server-1", ["sh", "-c", f"exec 2>&1; {script}"])
        return f"{done.stdout.decode(errors='replace')}[{done.code}]"

    def fetched() -> bool:
        try:
            with urllib.request.urlopen(f"http://{address}:{port}/", timeout=2) as answer:
                return bool(answer.read() == b"hello\n")
        except OSError:
            return False

    def until(condition: object) -> bool:
        end = time.monotonic() + 30
        while not condition():  # type: ignore[operator]
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
        return True

    try:
        began = time.monotonic()
        driver.create(spec)
        seen["seconds"] = time.monotonic() - began
        seen["status"] = driver.statuses(["server-1", "x"])
        seen["served"] = until(fetched)
        seen["who"] = sh("whoami; cat /etc/hostname; getent hosts web1 | tr -s ' '")
        seen["address"] = address
        seen["active"] = sh("systemctl is-active www; systemctl stop www; systemctl is-active www")
        seen["stopped"] = not fetched()
        seen["config"] = driver.configure(
            "server-1", ConfigSpec(Id("c"), Name("c"), Name("script"), "echo $a; exit 2", {"a": "b"})
        ).code
        driver.put_file("server-1", "/srv/file", b"data", 0o640)
        seen["file"] = driver.get_file("server-1", "/srv/file").decode()
        sh("systemctl start www")
        driver.stop("server-1")
        seen["quiet"] = not fetched()
        seen["shutoff"] = driver.statuses(["server-1"])
        driver.start("server-1")
        seen["back"] = until(fetched)
        seen["runs"] = sh("cat /root/runs")
        sh("nohup sleep 300 >/dev/null 2>&1 &")
        seen["console"] = driver.console("server-1", 3)
    finally:
        seen["swept"] = list(driver.clear())
    seen["left"] = [str(path) for path in (folder / "cloud" / "proot" / "servers").iterdir()]
    store.remove("debian-12")
    print(json.dumps(seen))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
