# Boot script of Linux servers, second part: configures the guest agent and starts it.

# agent_service start|stop, under systemd and without. systemd is not waited for: this script may be one of its jobs.
agent_service() {
    if [ -d /run/systemd/system ]; then
        systemctl daemon-reload
        if [ "$1" = start ]; then
            systemctl enable murano-agent.service
        fi
        systemctl --no-block "$1" murano-agent.service
    elif command -v service > /dev/null 2>&1; then
        service murano-agent "$1"
    else
        /etc/init.d/murano-agent "$1"
    fi
}

agent_service stop || true

# Without a name of its own in there every sudo complains.
if ! grep -qw -- '%INTERNAL_HOSTNAME%' /etc/hosts; then
    echo '127.0.1.1 %INTERNAL_HOSTNAME%' >> /etc/hosts || true
fi

mkdir -p /etc/murano /etc/murano/certs /var/murano/plans
chmod 700 /etc/murano /etc/murano/certs /var/murano /var/murano/plans

# It holds the password of the message broker.
unpack 600 /etc/murano/agent.conf <<'END_OF_FILE'
%AGENT_CONFIG_BASE64%
END_OF_FILE
unpack 600 /etc/murano/certs/ca_certs <<'END_OF_FILE'
%CA_ROOT_CERT_BASE64%
END_OF_FILE

agent_service start
