#!/bin/sh
# Boot script of Linux servers, first part: brings the guest agent onto the server. May run more than once.
set -eu

PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
HOME=${HOME:-/root}
DEBIAN_FRONTEND=noninteractive
export PATH HOME DEBIAN_FRONTEND

# unpack MODE PATH: puts Base64 from standard input into a file that nobody else can read meanwhile.
unpack() {
    mkdir -p "$(dirname "$2")"
    (umask 077; base64 -d > "$2.new")
    chmod "$1" "$2.new"
    mv -f "$2.new" "$2"
}

# Images of the old kind keep the agent in a virtual environment outside of PATH.
if ! command -v muranoagent > /dev/null 2>&1 && [ -x /opt/stack/venvs/murano-agent/bin/muranoagent ]; then
    ln -sf /opt/stack/venvs/murano-agent/bin/muranoagent /usr/local/bin/muranoagent
fi

if ! command -v muranoagent > /dev/null 2>&1; then
    attempt=1
    until python3 -m venv /opt/murano-agent && /opt/murano-agent/bin/pip install --upgrade '%PIP_SOURCE%'; do
        if [ "$attempt" -ge 5 ]; then
            echo "murano-init: the guest agent cannot be installed from '%PIP_SOURCE%'" >&2
            exit 1
        fi
        sleep "$((attempt * 5))"
        attempt=$((attempt + 1))
    done
    ln -sf /opt/murano-agent/bin/muranoagent /usr/local/bin/muranoagent
fi

unpack 644 /etc/init/murano-agent.conf <<'END_OF_FILE'
%MURANO_AGENT_CONF%
END_OF_FILE
unpack 644 /etc/systemd/system/murano-agent.service <<'END_OF_FILE'
%MURANO_AGENT_SERVICE%
END_OF_FILE
unpack 755 /etc/init.d/murano-agent <<'END_OF_FILE'
%MURANO_AGENT%
END_OF_FILE

