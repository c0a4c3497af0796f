"""What is in the image ``debian-12`` (LOCAL_CLOUD.md 4, findings): packages, settings, transitional package names.

The package mirror, its keys, proxies and certificates are those of the host.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from vetro.data_classes import dataclass

#: Set up so that package scripts of 2014 find what they expect, and nothing that slows the start.
PACKAGES = (
    "systemd", "systemd-sysv", "dbus", "python3", "sudo", "cron", "iptables", "curl", "wget", "unzip", "gnupg",
    "lsb-release", "apt-utils", "procps", "iproute2", "iputils-ping", "netbase", "ca-certificates", "kmod",
)  # fmt: skip

#: Transitional packages: old name -> what it depends on today.
TRANSITIONAL: Mapping[str, str] = {
    "php5": "php",
    "php5-mysql": "php-mysql",
    "php5-cli": "php-cli",
    "php5-gd": "php-gd",
    "php5-curl": "php-curl",
    "libapache2-mod-php5": "libapache2-mod-php",
    "mysql-server": "mariadb-server",
    "mysql-client": "mariadb-client",
    "tomcat7": "tomcat10 | tomcat9",
    "python": "python3, python-is-python3",
    "python-pip": "python3-pip",
    "python-dev": "python3-dev",
    "python-virtualenv": "python3-virtualenv",
    "openjdk-7-jre": "default-jre",
    "openjdk-7-jdk": "default-jdk",
    "ntpdate": "ntpsec-ntpdate",
}

#: Where the transitional packages are in the image.
COMPAT_FOLDER = "/usr/share/vetro/packages"

#: Units that a server in a container has no use for; the apt timers would hold apt's lock at a bad moment.
MASKED = (
    "apt-daily.timer", "apt-daily-upgrade.timer", "apt-daily.service", "apt-daily-upgrade.service", "e2scrub_all.timer",
    "e2scrub_reap.service", "fstrim.timer", "dpkg-db-backup.timer", "systemd-networkd-wait-online.service",
    "systemd-modules-load.service", "systemd-timesyncd.service", "console-getty.service", "getty.target",
    "systemd-udevd.service", "systemd-udevd-control.socket", "systemd-udevd-kernel.socket",
)  # fmt: skip

#: Files of the image: path -> (mode, text).
FILES: Mapping[str, tuple[int, str]] = {
    "/etc/environment": (0o644, "DEBIAN_FRONTEND=noninteractive\nLANG=C.UTF-8\n"),
    "/etc/default/locale": (0o644, "LANG=C.UTF-8\n"),
    "/etc/apt/apt.conf.d/60vetro": (
        0o644,
        'APT::Install-Recommends "true";\n'
        'Acquire::Languages "none";\n'
        'Dpkg::Options { "--force-confdef"; "--force-confold"; };\n'
        'Dpkg::Use-Pty "false";\n'
        'DPkg::Lock::Timeout "120";\n',
    ),
    "/etc/apt/sources.list.d/vetro-compat.list": (0o644, f"deb [trusted=yes] file:{COMPAT_FOLDER} ./\n"),
    "/etc/sudoers.d/vetro": (0o440, 'Defaults env_keep += "DEBIAN_FRONTEND"\n'),
    # MariaDB listens for other servers, as old packages of MySQL did after their own sed.
    "/etc/mysql/mariadb.conf.d/90-vetro.cnf": (0o644, "[mysqld]\nbind-address = 0.0.0.0\n"),
    "/etc/dpkg/dpkg.cfg.d/vetro": (0o644, "force-unsafe-io\n"),
}


@dataclass(frozen=True, slots=True)
class Recipe:
    """One image that can be built."""

    name: str
    suite: str
    #: Names of catalog images that it serves.
    serves: tuple[str, ...]
    info: Mapping[str, str]

    def checksum(self, architecture: str) -> str:
        """Changes when the image has to be built again."""
        parts = [
            1, self.suite, architecture, PACKAGES, sorted(TRANSITIONAL.items()), MASKED,
            sorted((path, mode, text) for path, (mode, text) in FILES.items()),
        ]  # fmt: skip
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


RECIPES: Mapping[str, Recipe] = {
    "debian-12": Recipe(
        "debian-12",
        "bookworm",
        ("debian-12", "debian-12-murano"),
        {"title": "Debian 12", "type": "linux"},
    )
}

#: The image that serves every Linux image name of which there is none of its own.
DEFAULT = "debian-12"
