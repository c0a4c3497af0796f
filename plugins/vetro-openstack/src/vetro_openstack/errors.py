"""What goes wrong between a worker and an OpenStack."""

from __future__ import annotations

from vetro.clouds.interface import CloudError


class CloudUnreachable(CloudError):
    """A service of the cloud does not answer, or answers only that it is in trouble, also when asked again."""

    code = "CLD301"
    hint = "see whether the cloud is well; deploying again continues"


class SignInRefused(CloudError):
    """Keystone refuses the credentials of the worker."""

    code = "CLD302"
    hint = "see cloud.openstack (docs/openstack.md)"


class Refused(CloudError):
    """A service of the cloud refuses a request; the message is its own."""

    code = "CLD303"
    #: The status of the answer.
    status = 0


class Closing(CloudError):
    """The worker lets go of the cloud: what it began there goes on, and is found again by who comes next."""

    code = "CLD304"


class NoWayBack(CloudError):
    """An environment is as it was but for servers and volumes that Heat had replaced or deleted meanwhile."""

    code = "CLD306"
    hint = "the images of its servers are in Glance until the snapshot is dropped"
