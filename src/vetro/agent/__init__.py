"""Execution plans on their way to servers and back: transports, signatures, the guest agent (AGENT.md)."""
