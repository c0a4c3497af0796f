"""Objects that are taken out and put back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.model.models import models
from vetro.model.differences import diff
from vetro.model.edit import NotRestorable, OwnerMissing, follow, overwrite, place_of, take_back, take_out
from vetro.model.header import id_of
from vetro.model.tree import by_id, copied, find


def obj(own: str, **properties: Any) -> dict[str, Any]:
    return {"?": {"id": own, "type": "T"}, **properties}


@given(models(), st.data())
def test_what_is_taken_out_is_gone_with_all_that_it_owns(root: dict[str, Any], data: st.DataObject) -> None:
    own = data.draw(st.sampled_from(sorted(by_id(root))))
    gone = by_id(find(root, own)).keys()
    before = by_id(root).keys()
    if own == id_of(root):
        assert place_of(root, own) is None and not take_out(root, own)
        return
    place = place_of(root, own)
    assert place is not None and id_of(place[0][place[1]]) == own
    assert take_out(root, own)
    assert by_id(root).keys() == before - gone
    assert not take_out(root, own)


@given(models(), models())
def test_taking_back_every_difference_gives_what_was_before(before: dict[str, Any], after: dict[str, Any]) -> None:
    """From the inside out, as whoever owns an object has it in its values."""
    root = copied(after)
    try:
        for item in reversed(diff(before, after)):
            take_back(root, before, item.id)
    except NotRestorable:
        return
    assert diff(before, root) == []


def test_a_new_object_goes_a_removed_one_comes_back_a_changed_one_is_as_before() -> None:
    before = obj("e", applications=[obj("a", x=1), obj("b"), obj("c")], net=obj("n"))
    root = obj("e", applications=[obj("a", x=2), obj("new")], net=None)
    for own in ("a", "new", "b", "c", "n"):
        assert take_back(root, before, own)
    assert root == before
    assert not take_back(root, before, "nobody")


def test_an_object_cannot_come_back_without_its_owner_or_deep_into_a_changed_property() -> None:
    before = obj("e", applications=[obj("a", part=obj("p"), parts={"x": [obj("q")]})])
    with pytest.raises(OwnerMissing):
        take_back(obj("e", applications=[]), before, "p")
    with pytest.raises(NotRestorable):
        take_back(obj("e", applications=[obj("a")]), before, "q")


def test_an_object_gets_the_contents_of_another_and_stays_where_it_is() -> None:
    root = obj("e", applications=[obj("a", x=1)])
    overwrite(root["applications"][0], obj("a", y=2))
    assert root == obj("e", applications=[obj("a", y=2)])


def thing(id: str, **more: Any) -> dict[str, Any]:
    return {"?": {"id": id, "type": "T"}, **more}


def test_a_draft_follows_what_it_has_not_changed_itself() -> None:
    before = thing("a", x=1, y=1, gone=1, part=thing("b", n=[1]), parts=[])
    after = thing("a", x=2, y=2, made=1, part=thing("b", n=[2]), parts=[thing("c")])
    draft = thing("a", x=1, y=9, gone=1, part=thing("b", n=[1]), parts=[], own=thing("d"))
    assert follow(draft, before, after)
    assert draft == thing("a", x=2, y=9, made=1, part=thing("b", n=[2]), parts=[], own=thing("d"))
    assert not follow(draft, after, after) and not follow(draft, None, after)


@given(models(), models())
def test_following_takes_no_object_away_and_adds_none(before: Any, after: Any) -> None:
    draft = copied(before)
    follow(draft, before, after)
    assert by_id(draft).keys() == by_id(before).keys()
    again = copied(draft)
    assert not follow(again, after, after) and again == draft
