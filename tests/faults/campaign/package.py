"""What is deployed: each step changes the stack, has an agent run a plan at the same time, and reports."""

from __future__ import annotations

from tests.server.tasks import shop

#: ``fails``: the second half of the steps is not made.
CHAIN = """\
Name: Shop
Namespaces:
  =: test
  std: io.murano
  res: io.murano.resources
  sys: io.murano.system
Extends: std:Application
Properties:
  title: {Contract: $.string().notNull()}
  steps: {Contract: $.int().notNull()}
  fails: {Contract: $.bool().notNull(), Default: false}
  instance: {Contract: $.class(res:Instance).notNull()}
  done: {Contract: [$.string()], Usage: Out, Default: []}
Methods:
  deploy:
    Body:
      - $environment: $.find(std:Environment)
      - For: i
        In: range($.steps)
        Do:
          - If: $.fails and $i >= $.steps / 2
            Then:
              - Throw: ShopFailed
                Message: no customers
          - Parallel:
              - Do:
                  - $environment.stack.updateTemplate(dict(
                      heat_template_version => '2013-05-23',
                      resources => dict(format('{0}-{1}', $.title, $i) => dict(
                        type => 'test', properties => dict(v => $i)))))
                  - $environment.stack.push()
              - Do:
                  - $.instance.agent.call(dict(
                      FormatVersion => '2.0.0', Version => '1.0.0', Name => format('{0} {1}', $.title, $i),
                      Body => 'return 1', Parameters => dict(), Scripts => dict()), new(sys:Resources))
          - $.done: $.done + [format('{0} {1}', $.title, $i)]
          - $environment.reporter.report($this, format('step {0}', $i))
"""


def upload() -> tuple[bytes, str]:
    """The body of the request that puts it into the catalog, and its type."""
    head = b'--cut\r\nContent-Disposition: form-data; name="file"; filename="p.zip"\r\n\r\n'
    body = head + shop.archive({"Classes/Shop.yaml": CHAIN}) + b"\r\n--cut--\r\n"
    return body, "multipart/form-data; boundary=cut"
