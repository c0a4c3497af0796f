# Functions for starting and stopping a program; to be read by a shell.

stop_program() {
    if [ -d /run/systemd/system ]; then
        systemctl stop "hosted-$1.service" 2> /dev/null || true
    elif [ -f "/run/hosted-$1.pid" ]; then
        kill "$(cat "/run/hosted-$1.pid")" 2> /dev/null || true
        rm -f "/run/hosted-$1.pid"
    fi
}

start_program() {
    name="$1"
    shift
    if [ -d /run/systemd/system ]; then
        cat > "/etc/systemd/system/hosted-$name.service" <<UNIT
[Unit]
Description=Hosted program $name

[Service]
User=hosted
WorkingDirectory=/srv/hosted/$name
EnvironmentFile=/srv/hosted/$name/settings
ExecStart=/usr/bin/env python3 /srv/hosted/$name/program.py $*
Restart=always

[Install]
WantedBy=multi-user.target
UNIT
        systemctl daemon-reload
        systemctl enable --quiet "hosted-$name.service"
        systemctl restart "hosted-$name.service"
    else
        cd "/srv/hosted/$name" || exit 1
        set -a
        . ./settings
        set +a
        setsid nohup setpriv --reuid hosted --clear-groups python3 program.py "$@" > "/var/log/hosted-$name.log" 2>&1 < /dev/null &
        echo $! > "/run/hosted-$name.pid"
    fi
}
