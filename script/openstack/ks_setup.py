"""Create projects, users, roles, endpoints and heat's own domain. Prints the heat domain id. Safe to run again."""

import sys

from keystoneauth1 import session
from keystoneauth1.identity import v3
from keystoneclient.v3 import client

url, pw, heat = sys.argv[1:4]
ks = client.Client(
    session=session.Session(
        auth=v3.Password(
            auth_url=url,
            username="admin",
            password=pw,
            project_name="admin",
            user_domain_id="default",
            project_domain_id="default",
        )
    )
)
roles = {r.name: r for r in ks.roles.list()}
for name in ("member", "reader", "service", "heat_stack_owner", "heat_stack_user"):
    if name not in roles:
        roles[name] = ks.roles.create(name)
projects = {p.name: p for p in ks.projects.list(domain="default")}
for name in ("service", "demo", "other"):
    if name not in projects:
        projects[name] = ks.projects.create(name, domain="default")
users = {u.name: u for u in ks.users.list(domain="default")}


def user(name, project, *names):
    if name not in users:
        users[name] = ks.users.create(name, domain="default", password=pw, default_project=projects[project])
    for r in names:
        ks.roles.grant(roles[r], user=users[name], project=projects[project])


user("heat", "service", "admin", "service")
user("catalog", "service", "admin", "service")  # for the service under test
user("demo", "demo", "member", "heat_stack_owner")
user("demo2", "demo", "member", "heat_stack_owner")
user("other", "other", "member", "heat_stack_owner")
services = {s.name: s for s in ks.services.list()}


def endpoint(name, kind, address):
    if name not in services:
        services[name] = ks.services.create(name=name, type=kind)
        for interface in ("public", "internal", "admin"):
            ks.endpoints.create(services[name], address, interface=interface, region="RegionOne")


endpoint("heat", "orchestration", f"http://127.0.0.1:{heat}/v1/%(tenant_id)s")
domains = [d for d in ks.domains.list() if d.name == "heat"] or [ks.domains.create("heat")]
admins = list(ks.users.list(domain=domains[0])) or [
    ks.users.create("heat_domain_admin", domain=domains[0], password=pw)
]
ks.roles.grant(roles["admin"], user=admins[0], domain=domains[0])
print(domains[0].id)
