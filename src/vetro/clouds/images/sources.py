"""The package sources, proxies, name servers and certificates of this machine, for images and servers.

Only sources of the image's own suite are taken ("bookworm", "bookworm-security"…); what else the host installs from is
its own affair.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from vetro.clouds.drivers.errors import HostFailed
from vetro.clouds.drivers.tools import run

APT = Path("/etc/apt")
CA_BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")
#: systemd-resolved answers at an address that only this machine reaches; here are the servers that it asks.
RESOLV_CONF = (Path("/run/systemd/resolve/resolv.conf"), Path("/etc/resolv.conf"))
_PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "no_proxy")


def apt_sources(suite: str, apt: Path = APT) -> str:
    """Source entries of ``suite`` as one deb822 text, entries of older form rewritten.

    Raises `HostFailed` when the host has none.
    """
    stanzas = [stanza for stanza in _stanzas(apt) if _fits(stanza, suite)]
    if not stanzas:
        error = HostFailed(f"the package sources of this machine ({apt}) have no Debian suite '{suite}'")
        error.hint = f"add an entry for {suite} to {apt}/sources.list.d, or import an image: vetro image import FILE"
        raise error
    return "\n".join("".join(f"{key}: {value}\n" for key, value in stanza.items()) for stanza in stanzas)


def keyrings(sources: str) -> list[Path]:
    """Key files of this machine that the sources name."""
    found = re.findall(r"^Signed-By:\s*(/\S+)", sources, re.MULTILINE | re.IGNORECASE)
    return sorted({Path(path) for path in found if Path(path).is_file()})


def apt_settings() -> str:
    """Proxies and certificate settings of the host's apt, as lines for the guest's own configuration."""
    lines = run(["apt-config", "dump"]).splitlines()
    wanted = re.compile(r"(Acquire::(https?|ftp)::(Proxy|CaInfo|Verify)|Acquire::(Retries|ForceIPv4))", re.IGNORECASE)
    kept = [line for line in lines if wanted.match(line)]
    proxies = {key: os.environ.get(key) or os.environ.get(key.upper()) for key in ("http_proxy", "https_proxy")}
    for key, value in proxies.items():
        name = f"Acquire::{key.removesuffix('_proxy')}::Proxy"
        if value and '"' not in value and not any(line.startswith(name + " ") for line in kept):
            kept.append(f'{name} "{value}";')
    return "".join(f"{line}\n" for line in kept)


def proxy_environment() -> Mapping[str, str]:
    """Proxy variables of this process, in both spellings."""
    found: dict[str, str] = {}
    for name in _PROXIES:
        value = os.environ.get(name) or os.environ.get(name.upper())
        if value:
            found[name] = found[name.upper()] = value
    return found


def ca_bundle() -> bytes | None:
    """The certificates that this machine trusts, or None."""
    given = os.environ.get("SSL_CERT_FILE")
    for path in (Path(given) if given else CA_BUNDLE, CA_BUNDLE):
        try:
            return path.read_bytes()
        except OSError:
            continue
    return None


def name_server() -> str | None:
    """Address (IPv4) of a name server that packets of servers can be led to; None when there is none."""
    for path in RESOLV_CONF:
        try:
            text = path.read_text("utf-8", errors="replace")
        except OSError:
            continue
        for address in re.findall(r"^\s*nameserver\s+(\d+\.\d+\.\d+\.\d+)\s*$", text, re.MULTILINE):
            if not address.startswith("127."):
                return str(address)
    return None


def _stanzas(apt: Path) -> Iterator[dict[str, str]]:
    folder = apt / "sources.list.d"
    files = [apt / "sources.list"] + (sorted(folder.iterdir()) if folder.is_dir() else [])
    for path in files:
        try:
            text = path.read_text("utf-8", errors="replace")
        except OSError:
            continue
        if path.suffix == ".sources":
            yield from _modern(text)
        elif path.suffix == ".list":
            yield from _classic(text)


def _modern(text: str) -> Iterator[dict[str, str]]:
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    for block in re.split(r"\n\s*\n", "\n".join(lines)):
        stanza: dict[str, str] = {}
        last = ""
        for line in block.splitlines():
            if line[:1] in " \t" and last:
                stanza[last] += "\n" + line
            elif ":" in line:
                last, _, value = line.partition(":")
                stanza[last] = value.strip()
        if stanza.get("Enabled", "yes").lower() not in ("no", "false") and "URIs" in stanza:
            yield stanza


def _classic(text: str) -> Iterator[dict[str, str]]:
    pattern = re.compile(r"deb\s+(?:\[(?P<options>[^]]*)]\s+)?(?P<uri>\S+)\s+(?P<suite>\S+)(?P<rest>[^#]*)")
    for line in text.splitlines():
        match = pattern.match(line.strip())
        if match is None:
            continue
        stanza = {"Types": "deb", "URIs": match["uri"], "Suites": match["suite"], "Components": match["rest"].strip()}
        for option in (match["options"] or "").split():
            key, _, value = option.partition("=")
            if key.lower() == "signed-by":
                stanza["Signed-By"] = value
            elif key.lower() == "trusted":
                stanza["Trusted"] = value
        yield stanza


def _fits(stanza: Mapping[str, str], suite: str) -> bool:
    if "deb" not in stanza.get("Types", "").split() or not stanza.get("Components"):
        return False
    suites = stanza.get("Suites", "").split()
    return bool(suites) and all(re.fullmatch(rf"{suite}(-(updates|security|backports))?(/\S+)?", s) for s in suites)
