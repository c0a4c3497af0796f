"""The cloud helper: a small process with root's rights that has a driver, for a service that has none (decision 0033).

`service` is the helper's side, `driver` that of the service, `calls` what may be said, `limits` what may be wanted.
"""
