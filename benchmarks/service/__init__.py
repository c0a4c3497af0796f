"""Requests a second of a real `vetro serve`, beside what was recorded of Murano's (API_BASELINE)."""
