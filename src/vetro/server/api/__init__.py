"""The APIs: /v1 as Murano's clients know it, /v2 for what Murano never had, and /health, /ready, /metrics (`health`).

They translate; rules live elsewhere.
"""
