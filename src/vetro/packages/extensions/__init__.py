"""Native classes of installed Python distributions, offered as packages (PACKAGES 6)."""
