"""`PrimaryReplicaGroup.failOver` and `Server.powerOff`: nobody is promoted while the old primary may still write."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.cli.conftest import write_package
from vetro.cli.main import main

#: The group writes down what it is told. 'deaf' primaries cannot be asked; replicas of 'short' groups lack something.
GROUP = """\
Namespaces: {=: t, std: io.vetro.std, murano: io.murano}
Name: Store
Extends: [murano:Application, std:PrimaryReplicaGroup]
Properties:
  deaf: {Contract: $.bool().notNull(), Default: false}
  short: {Contract: $.bool().notNull(), Default: false}
  told: {Contract: [$], Usage: Out}
Methods:
  deploy:
    Body:
      - $.deployServers()
      - $.deployRoles()
  note:
    Arguments: [what: {Contract: $.string().notNull()}]
    Body:
      - $.told: $.told.append($what)
  forget:
    Body:
      - $.told: []
  onReplica:
    Arguments: [server: {Contract: $.class(std:Server).notNull()}, primary: {Contract: $.class(std:Server).notNull()}]
    Body:
      - $.note(format('{0} follows {1}', $server.name, $primary.name))
  onDemote:
    Arguments: [server: {Contract: $.class(std:Server).notNull()}]
    Body:
      - If: $.deaf
        Then: [{Throw: Deaf, Message: no answer}]
      - $.note(format('{0} stops', $server.name))
  onPromote:
    Arguments: [server: {Contract: $.class(std:Server).notNull()}]
    Body:
      - $.note(format('{0} rises', $server.name))
  onFailOver:
    Arguments: [replicas: {Contract: [$.class(std:Server).notNull()]}, lossAccepted: {Contract: $.bool().notNull()}]
    Body:
      - If: $.short and not $lossAccepted
        Then: [{Throw: LossPossible, Message: something may be lost}]
      - Return: $replicas.last()
  onFollowed:
    Arguments:
      - primary: {Contract: $.class(std:Server).notNull()}
      - replicas: {Contract: [$.class(std:Server).notNull()]}
    Body:
      - $.note(format('{0} has {1}', $primary.name, len($replicas)))
"""
TEST = """\
Namespaces: {=: t, std: io.vetro.std, test: io.murano.test}
Name: StoreTest
Extends: test:TestFixtureWithEnvironment
Methods:
  make:
    Arguments:
      - more: {Contract: $, Usage: KwArgs}
    Body:
      - $server: {'?': {type: io.vetro.std.Server}, flavor: m1.small, image: 'debian-12-murano'}
      - $given: $more.set(server => $server, name => s, replicaCount => 2)
      - $store: call(new, [Store, $.environment], $given)
      - $store.deploy()
      - $store.forget()
      - Return: $store
  refusal:
    Arguments: [store: {Contract: $}, more: {Contract: {}}]
    Body:
      - Try:
          - call(failOver, [], $more, $store)
        Catch:
          - As: e
            Do:
              - Return: $e.message
      - $.assertTrue(false)
  testAPrimaryThatAnswersIsDemoted:
    Body:
      - $store: $.make()
      - $.assertEqual('s-3', $store.failOver())
      - $.assertEqual(['s-1 stops', 's-3 rises'], $store.told.take(2))
      - $.assertEqual(['s-1 follows s-3', 's-2 follows s-3'], $store.told.skip(2).take(2).orderBy($))
      - $.assertEqual('s-3 has 2', $store.told.last())
      - $.assertEqual([], $store.failedReplicas)
  testOneThatDoesNotAnswerIsSwitchedOff:
    Body:
      - $store: $.make(deaf => true)
      - $.assertEqual('s-2', $store.failOver('s-2'))
      - $.assertEqual(['s-2 rises', 's-3 follows s-2', 's-2 has 1'], $store.told)
      - $.assertEqual(['s-1'], $store.failedReplicas)
  testNobodyRisesWhereTheCloudDoesNotSayThatItIsOff:
    Body:
      - $store: $.make(deaf => true)
      - inject(std:Server, powerOff, $, unsure)
      - $.assertIn('may still run', $.refusal($store, {}))
      - $.assertEqual([], $store.told)
      - $.assertEqual('s-1', $store.primary().name)
      - $.assertEqual('s-3', $store.failOver(off => true))
  unsure:
    Body: [{Throw: NotSwitchedOff, Message: server 's-1' may still run}]
  testNobodyIsSwitchedOffForAReplicaThatLacksSomething:
    Body:
      - $store: $.make(deaf => true, short => true)
      - inject(std:Server, powerOff, $, unsure)
      - $.assertIn('may be lost', $.refusal($store, {}))
      - $.assertEqual('s-3', $store.failOver(off => true, lossAccepted => true))
  testThePrimaryDoesNotTakeOverFromItself:
    Body:
      - $.assertIn('no replica', $.refusal($.make(), {server => 's-1'}))
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    classes = {"t.Store": GROUP, "t.StoreTest": TEST}
    return write_package(tmp_path / "store", classes, extra="Require: {io.vetro.std: 1}\n")


@pytest.mark.campaign  # five groups of three servers
def test_who_takes_over(package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VETRO_WORKSPACE", str(tmp_path / "workspace"))
    done = CliRunner().invoke(main, ["test", str(package), "--context", "local"])
    assert done.exit_code == 0 and "5 passed, 0 failed" in done.output, done.output
