"""Who may use which route: the one place that says so. The section of SECURITY.md is made from it.

The least that is needed: ``anybody`` signs in first or never, ``reader``, ``member``, ``admin``. Whoever may more may
this, too. A route that is not in here, and one that is no more, fails `tests.server.roles.test_roles`.
"""

from __future__ import annotations

from tests.server.roles.routes import Route

LEVELS = ("anybody", "reader", "member", "admin")

_TABLE = """
# others
anybody GET          /
anybody GET          /health
anybody GET          /metrics
anybody GET          /ready
# v1
member  POST         /v1/actions
reader  GET          /v1/catalog/categories
admin   POST         /v1/catalog/categories
admin   DELETE       /v1/catalog/categories/{id}
reader  GET          /v1/catalog/categories/{id}
reader  GET          /v1/catalog/packages
member  POST         /v1/catalog/packages
member  DELETE PATCH /v1/catalog/packages/{id}
reader  GET          /v1/catalog/packages/{id}
reader  GET          /v1/catalog/packages/{id}/download
reader  GET          /v1/catalog/packages/{id}/logo
reader  GET          /v1/catalog/packages/{id}/supplier_logo
reader  GET          /v1/catalog/packages/{id}/ui
reader  GET          /v1/deployments
reader  GET          /v1/environments
member  POST         /v1/environments
member  DELETE PUT   /v1/environments/{environment_id}
reader  GET          /v1/environments/{environment_id}
member  POST         /v1/environments/{environment_id}/actions/{action_id}
member  GET          /v1/environments/{environment_id}/actions/{task_id}
member  POST         /v1/environments/{environment_id}/configure
reader  GET          /v1/environments/{environment_id}/deployments
reader  GET          /v1/environments/{environment_id}/deployments/{deployment_id}
reader  GET          /v1/environments/{environment_id}/instance-statistics/aggregated
reader  GET          /v1/environments/{environment_id}/instance-statistics/raw
reader  GET          /v1/environments/{environment_id}/instance-statistics/raw/{instance_id}
reader  GET          /v1/environments/{environment_id}/lastStatus
reader  GET          /v1/environments/{environment_id}/model/{path*}
member  PATCH        /v1/environments/{environment_id}/model/{path*}
member  DELETE POST PUT /v1/environments/{environment_id}/services
reader  GET          /v1/environments/{environment_id}/services
member  DELETE POST PUT /v1/environments/{environment_id}/services/{path*}
reader  GET          /v1/environments/{environment_id}/services/{path*}
member  DELETE       /v1/environments/{environment_id}/sessions/{session_id}
reader  GET          /v1/environments/{environment_id}/sessions/{session_id}
member  POST         /v1/environments/{environment_id}/sessions/{session_id}/deploy
reader  GET          /v1/schemas/{class_name}
reader  GET          /v1/schemas/{class_name}/{methods}
reader  GET          /v1/stats
reader  GET          /v1/templates
member  POST         /v1/templates
member  DELETE PUT   /v1/templates/{template_id}
reader  GET          /v1/templates/{template_id}
member  POST         /v1/templates/{template_id}/clone
member  POST         /v1/templates/{template_id}/create-environment
reader  GET          /v1/templates/{template_id}/services
member  POST PUT     /v1/templates/{template_id}/services
member  DELETE PUT   /v1/templates/{template_id}/services/{path*}
reader  GET          /v1/templates/{template_id}/services/{path*}
# v2
anybody GET          /v2/
member  POST         /v2/actions
admin   GET          /v2/admin/backups
admin   GET          /v2/admin/checklist
admin   GET          /v2/admin/cloud
admin   GET          /v2/admin/disk
admin   POST         /v2/admin/disk/clean
admin   GET          /v2/admin/doctor
admin   POST         /v2/admin/doctor/cures/{cure}
admin   DELETE GET POST /v2/admin/memberships
admin   GET POST     /v2/admin/projects
admin   PATCH        /v2/admin/projects/{project}
admin   GET PATCH    /v2/admin/projects/{project}/quotas
admin   GET          /v2/admin/queue
admin   GET          /v2/admin/quotas
admin   GET          /v2/admin/settings
admin   GET POST     /v2/admin/users
admin   DELETE PATCH /v2/admin/users/{user}
admin   POST         /v2/admin/users/{user}/link
admin   GET          /v2/admin/workers
admin   POST         /v2/admin/workers/{worker}/drain
member  GET          /v2/audit
member  GET          /v2/audit/export
anybody POST         /v2/auth/login
reader  POST         /v2/auth/logout
reader  GET          /v2/categories
admin   POST         /v2/categories
admin   DELETE PATCH /v2/categories/{category_id}
reader  GET          /v2/clouds
reader  GET          /v2/environments
member  POST         /v2/environments
member  POST         /v2/environments/import
member  DELETE PATCH /v2/environments/{environment_id}
reader  GET          /v2/environments/{environment_id}
reader  GET          /v2/environments/{environment_id}/actions
member  POST         /v2/environments/{environment_id}/actions/{action_id}
member  POST         /v2/environments/{environment_id}/clone
reader  GET          /v2/environments/{environment_id}/diff
member  GET          /v2/environments/{environment_id}/export
reader  GET          /v2/environments/{environment_id}/sessions
member  POST         /v2/environments/{environment_id}/sessions
reader  GET          /v2/environments/{environment_id}/lock
reader  GET          /v2/environments/{environment_id}/states
reader  GET          /v2/environments/{environment_id}/states/{number}
member  POST         /v2/environments/{environment_id}/states/{number}/restore
reader  GET          /v2/environments/{environment_id}/status
reader  GET          /v2/environments/{environment_id}/health
member  GET          /v2/environments/{environment_id}/report
reader  GET          /v2/environments/{environment_id}/metrics
reader  GET          /v2/environments/{environment_id}/addresses
reader  GET          /v2/environments/{environment_id}/drift
member  POST         /v2/environments/{environment_id}/repair
member  POST         /v2/environments/{environment_id}/keep
reader  GET          /v2/environments/{environment_id}/procedures
reader  GET          /v2/environments/{environment_id}/undo
member  POST         /v2/environments/{environment_id}/undo
reader  GET          /v2/procedures/{procedure_id}
reader  GET          /v2/environments/{environment_id}/upgrades
member  POST         /v2/environments/{environment_id}/upgrades
member  POST         /v2/environments/{environment_id}/upgrades/one-by-one
member  GET          /v2/environments/{environment_id}/servers
member  POST         /v2/environments/{environment_id}/servers/{server}/commands
member  POST         /v2/environments/{environment_id}/commands/{command}/input
member  POST DELETE  /v2/environments/{environment_id}/files
member  GET PUT      /v2/environments/{environment_id}/files/{file}
member  GET          /v2/environments/{environment_id}/servers/{server}/log
member  POST         /v2/environments/{environment_id}/realize
member  POST         /v2/environments/{environment_id}/restart
member  POST         /v2/environments/{environment_id}/start
member  POST         /v2/environments/{environment_id}/stop
reader  GET          /v2/environments/{environment_id}/topology
reader  GET          /v2/environments/{environment_id}/why
reader  GET          /v2/events
reader  GET POST     /v2/forms
reader  DELETE GET   /v2/forms/{form_id}
reader  POST         /v2/forms/{form_id}/back
reader  GET          /v2/forms/{form_id}/builders/{builder}
reader  GET          /v2/forms/{form_id}/choices
reader  POST         /v2/forms/{form_id}/evaluate
reader  POST         /v2/forms/{form_id}/finish
reader  POST         /v2/forms/{form_id}/password
reader  GET          /v2/forms/{form_id}/review
reader  POST         /v2/forms/{form_id}/start-from
reader  POST         /v2/forms/{form_id}/submit
reader  POST         /v2/forms/{form_id}/switch
reader  POST         /v2/forms/{form_id}/validate
reader  GET          /v2/flavors
reader  GET          /v2/images
admin   GET POST     /v2/images/build
admin   DELETE PUT   /v2/images/{image_id}/mark
reader  GET          /v2/me
reader  GET          /v2/quotas
anybody GET          /v2/openapi.json
member  GET          /v2/notices/deliveries
member  GET          /v2/notices/deliveries/{delivery_id}
member  GET POST     /v2/notices/rules
member  DELETE PATCH /v2/notices/rules/{rule_id}
member  GET POST     /v2/notices/targets
member  DELETE GET PATCH /v2/notices/targets/{target_id}
member  POST         /v2/notices/targets/{target_id}/secret
member  POST         /v2/notices/targets/{target_id}/test
reader  GET          /v2/packages
member  POST         /v2/packages
member  POST         /v2/packages/check
member  POST         /v2/packages/compare
member  POST         /v2/packages/impact
member  GET          /v2/packages/impact/{impact_id}
member  GET          /v2/packages/impact/{impact_id}/environments/{environment_id}
member  POST         /v2/packages/import
reader  POST         /v2/packages/known
member  DELETE PATCH /v2/packages/{package_id}
reader  GET          /v2/packages/{package_id}
reader  GET          /v2/packages/{package_id}/archive
reader  GET          /v2/packages/{package_id}/classes
reader  GET          /v2/packages/{package_id}/files
reader  GET          /v2/packages/{package_id}/files/{path}
reader  GET          /v2/packages/{package_id}/logo
reader  GET          /v2/packages/{package_id}/supplier-logo
reader  GET          /v2/packages/{package_id}/ui
reader  GET          /v2/packages/{package_id}/usage
reader  GET          /v2/schemas/{class_name}
member  DELETE       /v2/sessions/{session_id}
reader  GET          /v2/sessions/{session_id}
reader  GET          /v2/sessions/{session_id}/changes
reader  GET          /v2/sessions/{session_id}/components
member  POST         /v2/sessions/{session_id}/components
member  DELETE PUT   /v2/sessions/{session_id}/components/{object_id}
reader  GET          /v2/sessions/{session_id}/components/{object_id}
member  POST         /v2/sessions/{session_id}/deploy
reader  GET          /v2/sessions/{session_id}/model
member  GET          /v2/sessions/{session_id}/way-back
member  PUT          /v2/sessions/{session_id}/model
member  POST         /v2/sessions/{session_id}/plan
member  POST         /v2/sessions/{session_id}/undo
reader  GET          /v2/tasks
reader  GET          /v2/tasks/{task_id}
member  POST         /v2/tasks/{task_id}/cancel
reader  GET          /v2/tasks/{task_id}/log
reader  GET          /v2/tasks/{task_id}/log/{seq}
member  POST         /v2/tasks/{task_id}/resolve
member  POST         /v2/tasks/{task_id}/retry
reader  GET          /v2/templates
member  POST         /v2/templates
member  DELETE PATCH /v2/templates/{template_id}
reader  GET          /v2/templates/{template_id}
member  POST         /v2/templates/{template_id}/clone
member  POST         /v2/templates/{template_id}/create-environment
reader  GET POST     /v2/tokens
reader  DELETE       /v2/tokens/{token_id}
# pages
anybody GET          /app
reader  GET          /app/
reader  GET          /app/catalog/
member  POST         /app/catalog/applications
member  POST         /app/catalog/examples
reader  GET          /app/catalog/{fqn}/
member  GET          /app/catalog/{fqn}/actions/{class_name}/{method}
member  GET POST     /app/catalog/{fqn}/add
reader  GET          /app/catalog/{fqn}/form
reader  GET          /app/catalog/{fqn}/gets
member  POST         /app/catalog/{fqn}/gets
reader  GET          /app/environments/
member  GET POST     /app/environments/delete
reader  GET          /app/environments/deployments
member  GET POST     /app/environments/import
member  GET POST     /app/environments/new
reader  POST         /app/environments/together
reader  GET          /app/environments/{environment}/
member  GET          /app/environments/{environment}/actions/{action}
member  GET          /app/environments/{environment}/add
member  GET          /app/environments/{environment}/add/{package}
reader  GET          /app/environments/{environment}/changes
member  GET POST     /app/environments/{environment}/clone
reader  GET          /app/environments/{environment}/compare
reader  GET          /app/environments/{environment}/components/{component}/
member  POST         /app/environments/{environment}/components/{component}/remove
member  GET POST     /app/environments/{environment}/delete
member  POST         /app/environments/{environment}/deploy
member  POST         /app/environments/{environment}/drop
member  GET          /app/environments/{environment}/edit/{component}
member  POST         /app/environments/{environment}/export
reader  GET          /app/environments/{environment}/history
reader  GET          /app/environments/{environment}/lock
reader  GET          /app/environments/{environment}/metadata
member  POST         /app/environments/{environment}/metadata
member  POST         /app/environments/{environment}/plan
reader  GET          /app/environments/{environment}/plans/{task}
member  GET POST     /app/environments/{environment}/rename
member  POST         /app/environments/{environment}/restore/{number}
reader  GET          /app/environments/{environment}/tasks/
reader  GET          /app/environments/{environment}/tasks/{task}/
member  POST         /app/environments/{environment}/tasks/{task}/cancel
reader  GET          /app/environments/{environment}/tasks/{task}/lines
reader  GET          /app/environments/{environment}/tasks/{task}/lines/{seq}
reader  GET          /app/environments/{environment}/tasks/{task}/log
member  POST         /app/environments/{environment}/tasks/{task}/resolve
member  POST         /app/environments/{environment}/tasks/{task}/retry
member  GET POST     /app/environments/{environment}/template
reader  GET          /app/environments/{environment}/health
member  POST         /app/environments/{environment}/power
member  GET          /app/environments/{environment}/report
member  POST         /app/environments/{environment}/repair
member  GET          /app/environments/{environment}/servers
member  GET          /app/environments/{environment}/servers/{server}/terminal
member  POST         /app/environments/{environment}/realize
reader  GET          /app/environments/{environment}/topology
reader  GET          /app/environments/{environment}/topology.json
member  POST         /app/environments/{environment}/undo
reader  GET          /app/environments/{environment}/updates/{procedure}
member  POST         /app/environments/{environment}/updates/{procedure}/decide
member  GET POST     /app/environments/{environment}/upgrade
reader  GET          /app/forms/
reader  GET          /app/forms/{form}/
reader  POST         /app/forms/{form}/discard
reader  POST         /app/forms/{form}/finish
reader  GET POST     /app/forms/{form}/plan
reader  GET          /app/forms/{form}/review
reader  GET POST     /app/forms/{form}/start/{builder}
reader  POST         /app/forms/{form}/switch
member  POST         /app/forms/{form}/take
reader  GET POST     /app/forms/{form}/{number}
reader  GET          /app/forms/{form}/{number}/choices
reader  POST         /app/forms/{form}/{number}/password
reader  GET          /app/help/
reader  GET          /app/help/about/{topic}
reader  GET          /app/help/{name}/
anybody GET POST     /app/link/{token}
anybody GET POST     /app/login
anybody POST         /app/logout
anybody GET          /app/media/{name}
member  GET          /app/notices/
member  POST         /app/notices/rules
member  POST         /app/notices/rules/{rule}/remove
member  POST         /app/notices/targets
member  POST         /app/notices/targets/{target}/remove
member  POST         /app/notices/targets/{target}/secret
member  POST         /app/notices/targets/{target}/switch
member  POST         /app/notices/targets/{target}/test
admin   GET          /app/operation/
admin   GET          /app/operation/backups
admin   GET          /app/operation/cloud
admin   GET          /app/operation/disk
admin   POST         /app/operation/disk/clean
admin   GET          /app/operation/doctor
admin   POST         /app/operation/doctor/mend
admin   GET          /app/operation/queue
admin   GET          /app/operation/quotas
admin   GET          /app/operation/settings
admin   GET          /app/operation/workers
admin   POST         /app/operation/workers/drain
reader  GET          /app/packages/
reader  GET          /app/packages/categories
admin   POST         /app/packages/categories/add
admin   POST         /app/packages/categories/{category}/delete
admin   POST         /app/packages/categories/{category}/rename
reader  GET          /app/packages/class/{fqn}/{name}
member  GET POST     /app/packages/delete
reader  GET          /app/packages/images
admin   GET POST     /app/packages/images/build
admin   POST         /app/packages/images/mark
admin   POST         /app/packages/images/unmark
member  GET POST     /app/packages/import
reader  POST         /app/packages/together
reader  GET          /app/packages/{package}/
reader  GET          /app/packages/{package}/archive
reader  GET          /app/packages/{package}/classes/
reader  GET          /app/packages/{package}/classes/{name}
reader  GET          /app/packages/{package}/compatibility/
member  GET POST     /app/packages/{package}/edit
reader  GET          /app/packages/{package}/files/
reader  GET          /app/packages/{package}/files/{path}
member  GET POST     /app/packages/{package}/impact/
member  GET          /app/packages/{package}/impact/{impact}/{environment}
reader  GET          /app/packages/{package}/logo
reader  GET          /app/packages/{package}/pictures/{path}
reader  GET          /app/packages/{package}/supplier-logo
member  POST         /app/packages/{package}/switch
admin   GET          /app/people/
member  GET          /app/people/audit
member  GET          /app/people/audit/export
reader  GET          /app/people/me
reader  POST         /app/people/me/password
reader  POST         /app/people/me/settings
reader  POST         /app/people/me/tokens
reader  POST         /app/people/me/tokens/{token}/revoke
admin   GET POST     /app/people/new
admin   GET POST     /app/people/projects/
admin   GET          /app/people/projects/{project}/
admin   POST         /app/people/projects/{project}/add
admin   POST         /app/people/projects/{project}/switch
admin   GET          /app/people/projects/{project}/quotas
admin   POST         /app/people/projects/{project}/quotas/set
reader  GET          /app/people/quotas
admin   GET          /app/people/users/{user}/
admin   GET POST     /app/people/users/{user}/delete
admin   POST         /app/people/users/{user}/grant
admin   POST         /app/people/users/{user}/link
admin   POST         /app/people/users/{user}/lock
admin   POST         /app/people/users/{user}/password
admin   POST         /app/people/users/{user}/revoke
admin   POST         /app/people/users/{user}/tokens/{token}/revoke
admin   POST         /app/people/users/{user}/unlock
reader  POST         /app/project
member  GET          /app/quick/{package}
member  GET          /app/results/{task}/
member  GET          /app/results/{task}/download
reader  GET          /app/search
reader  GET          /app/templates/
member  GET POST     /app/templates/new
reader  GET          /app/templates/{template}/
member  GET          /app/templates/{template}/add
member  GET          /app/templates/{template}/add/{package}
member  GET POST     /app/templates/{template}/clone
member  POST         /app/templates/{template}/components/{component}/remove
member  GET POST     /app/templates/{template}/create
member  POST         /app/templates/{template}/delete
member  GET POST     /app/templates/{template}/edit
member  GET          /app/templates/{template}/edit/{component}
reader  GET POST     /app/try/{package}
"""


def expectations() -> dict[Route, str]:
    """The least role for each route."""
    found = {}
    for line in _TABLE.strip().splitlines():
        if not line.startswith("#"):
            level, *methods, path = line.split()
            for method in methods:
                found[Route(path, method)] = level
    return found
