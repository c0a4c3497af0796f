"""Workspaces with real servers, as the acceptance tests have them."""

from tests.acceptance.test_nspawn_deploy import place

__all__ = ["place"]
