"""The recorded exchanges of the old service (exchanges/, packages/, RECORDING.md), and a runner that replays them.

`python -m tests.acceptance.golden [FILE…]` replays them against a `vetro serve` of its own and names what differs.
"""
