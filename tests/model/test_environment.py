"""Editing the object model of an environment."""

from __future__ import annotations

from vetro.model.environment import Environment, deployed_objects, root_of, view_of


def app(id: str, name: str = "", kind: str = "com.example.Web/1.0.0@com.example.Web") -> dict[str, object]:
    return {"?": {"type": kind, "id": id}, "name": name}


def made() -> Environment:
    environment = Environment.new("web", "e1")
    environment.add(app("a", "first"))
    environment.add(app("b", "second"))
    return environment


def test_a_new_environment_has_a_network_for_every_region() -> None:
    root = Environment.new("web", "e1").root
    assert root is not None
    assert root["?"] == {"type": "io.murano.Environment", "id": "e1"}
    assert root["defaultNetworks"]["environment"]["name"] == "web-network"
    assert root["defaultNetworks"]["flat"] is None


def test_applications_are_found_by_id_name_and_class() -> None:
    environment = made()
    environment.add(app("c", "third", "com.example.Db"))
    for wanted, id in (("a", "a"), ("second", "b"), ("com.example.Db", "c")):
        found = environment.application(wanted)
        assert found is not None
        assert found["?"]["id"] == id
    assert environment.application("com.example.Web") is None  # two of them: nobody can say which
    assert environment.application("fourth") is None
    environment.add({"?": {"type": "com.example.GuestBook/1.0.0@com.example.GuestBook", "id": "g"}})
    nameless = environment.application("GuestBook")  # as tables call it
    assert nameless is not None
    assert nameless["?"]["id"] == "g"
    assert environment.application("Db") is None  # it is called 'third'


def test_the_copy_of_a_deployed_model_is_what_was_there() -> None:
    environment = made()
    environment.add(app("c"))
    again = environment.deployed()
    again.remove(again.applications[0])
    copy = Environment({"Objects": again.model["ObjectsCopy"]})
    assert [a["?"]["id"] for a in again.applications] == ["b", "c"]
    assert [a["?"]["id"] for a in copy.applications] == ["a", "b", "c"]


def test_an_emptied_model_destroys_what_was_there() -> None:
    emptied = made().emptied()
    assert emptied.root is None
    assert emptied.applications == []
    assert emptied.model["ObjectsCopy"]["?"]["id"] == "e1"


def test_objects_are_listed_owners_first() -> None:
    ids = [obj["?"]["id"] for obj in made().objects()]
    assert ids == ["e1", "a", "b", "e1-network"]


def test_changes_do_not_reach_what_was_given() -> None:
    given = {"Objects": {"?": {"type": "x", "id": "1"}, "applications": []}}
    Environment(given).add(app("a"))
    assert given["Objects"]["applications"] == []


def test_clients_know_applications_as_services() -> None:
    root = {"?": {"id": "r"}, "applications": [1]}
    assert view_of(root) == {"?": {"id": "r"}, "services": [1]}
    assert root_of(view_of(root)) == root
    assert view_of(None) == {}
    assert Environment.of_view(view_of(root)).model == {"Objects": root}
    assert Environment.of_view({}).root is None
    assert Environment.of_view({"?": {"id": "r"}}).applications == []


def test_what_exists_outside_is_the_state_unless_the_state_says_otherwise() -> None:
    assert deployed_objects({"Objects": {"a": 1}}) == {"a": 1}
    assert deployed_objects({"Objects": {"a": 1}, "ObjectsCopy": None}) is None
