"""What the pages make of a class by itself: presets, lists of the cloud, boxes, cards that say what is missing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html import unescape
from typing import Any

from django.test import Client

from tests.server.forms.conftest import MANIFEST
from tests.server.web.pagekit import followed, opened
from tests.server.web.test_wizard import services

Browser = Callable[[Any], Client]
MADE = MANIFEST.replace("UI: ui.yaml\n", "").replace("  io.murano: '>=0'\n", "  io.murano: '>=0'\n  io.vetro: 1\n")
SHOP = """\
Name: Shop
Namespaces:
  =: test
  std: io.murano
  res: io.murano.resources
  v: io.vetro.forms
  m: io.murano.metadata
  f: io.murano.metadata.forms
Extends: std:Application
Meta:
  - v:Preset: {name: small, title: Small shop, description: For trying out, values: {seats: 4, opens: [mon]}}
  - v:Preset: {name: large, title: Large shop, values: {seats: 80, opens: [mon, tue]}}
Properties:
  name: {Contract: $.string().notNull()}
  seats: {Contract: $.int().notNull()}
  opens:
    Contract:
      - $.string().notNull().check($ in [mon, tue, wed])
    Default: []
  maxGuests:
    Contract: $.int() or 4
  pin:
    Contract: $.string().check($ = null or $.matches('^[A-Z0-9]{8,12}$'))
    Meta: {f:Secret: {}}
  instance: {Contract: $.class(res:LinuxMuranoInstance)}
  friend: {Contract: $.class(Shop).notOwned()}
Methods:
  deploy:
    Body:
      If: $.instance != null
      Then: $.instance.deploy()
"""


def plain(text: str) -> str:
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", text)))


def test_a_class_becomes_a_form_that_people_understand(
    browser: Browser, ann: Any, publish: Callable[..., Any], environment: str, drain: Callable[[], int]
) -> None:
    from vetro.server.forms.models import FormDraft
    from vetro.server.tasks.models import Task

    client = browser(ann)
    row = publish(ann, manifest=MADE, shop=SHOP)
    page = opened(client, f"/app/environments/{environment}/add/{row.id}")
    # The first preset holds; what it sets is folded, in the order of the file, under titles in words.
    assert re.findall(r'class="preset"[^>]*aria-pressed="(\w+)"', page.text) == ["true", "false"]
    assert "For trying out" in page.text and '<details class="advanced adjust"><summary>' in page.text
    assert page.inputs()["i!.seats"] == ["4"] and page.inputs()["q.opens"] == ["set", '"mon"']
    labels = re.findall(r'<(?:label class="form-label"|legend)[^>]*>([^<]+)<', page.text)
    assert labels == ["Seats", "Opens", "Name", "Max guests", "Pin", "Instance", "Friend"]
    assert page.inputs()["i?.maxGuests"] == ["4"]
    # Another one; then values of one's own.
    large = json.dumps({"do": "preset", "name": "large"})
    page = page.send(large, name="Corner")
    assert page.inputs()["i!.seats"] == ["80"] and page.inputs()["q.opens"] == ["set", '"mon"', '"tue"']
    assert page.inputs()["s!.name"] == ["Corner"]
    answer = page.keep(seats="7")
    assert "those of no preset" in answer["parts"]["presets"]
    # What deploying does stands in the review as soon as it is found out; a change without effect outside says so.
    review = page.send(name="Corner", seats="7")
    where, htmx = review.url.replace("review", "plan"), {"hx-request": "true"}
    assert f'hx-post="{where}" hx-trigger="load"' in review.text, plain(review.text)
    before = FormDraft.objects.get()
    begun = client.post(where, headers=htmx).content.decode()
    # Who presses the button at that moment is not told that the form was changed in another window.
    assert FormDraft.objects.get().revision == before.revision and "plan" in str(FormDraft.objects.get().content)
    assert f'hx-get="{where}" hx-trigger="every 1s"' in begun and Task.objects.filter(kind="plan").count() == 1
    assert drain() == 1
    found = client.get(where, headers=htmx).content.decode()
    assert "data-nothing" in found and "Nothing outside changes." in found and "every 1s" not in found
    client.post(where, headers=htmx)
    assert Task.objects.filter(kind="plan").count() == 1 and not services(ann, environment)
    page = opened(client, page.url)
    # A server: sizes by size, the image that there is chosen already, and a name and a size as a command chooses them.
    kind = re.findall(r'value="(\+io.murano.resources.LinuxMuranoInstance[^"]*)"', page.text)[0]
    page = opened(client, page.send("keep", instance=kind, seats="7").url)
    card = plain(page.text[page.text.index('data-v-missing="f-instance-d"') :])
    assert "Missing:" not in card, card[:200]
    assert page.inputs()["s!.instance/name"] == ["street-1"] and page.inputs()["c!.instance/flavor"] == ['"m1.small"']
    flavors = re.findall(r'<option value="(&quot;[^"]*)"[^>]*>([^<]*GiB disk[^<]*)<', page.text)
    sizes = [float(re.findall(r"([\d.]+) GiB memory", label)[0]) for _, label in flavors]
    assert sizes == sorted(sizes) and len(sizes) > 2 and flavors[0][1].startswith(unescape(flavors[0][0]).strip('"'))
    assert "c!.instance/flavor" in page.inputs() and "c?.instance/image" in page.inputs()
    # A secret is made by its rule, and nothing on the way keeps it.
    made = client.post(f"{page.url}/password", {"path": "/pin"})
    assert re.fullmatch(r"[A-Z0-9]{12}", made.json()["password"]) and made["Cache-Control"] == "no-store"
    assert client.post(f"{page.url}/password", {"path": "/name"}).status_code == 404
    # What is wrong is told with names, not paths; a secret that does not fit is not kept without a word.
    bad = page.send(name="", pin="short", instance__name="")
    summary = plain(bad.text[bad.text.index('id="summary"') : bad.text.index("</ul>")])
    assert "Name: Enter a value." in summary and "Instance / Name of the server: Enter a value." in summary
    assert "Pin: " in summary and "instance/name" not in summary
    again = opened(client, bad.url)
    assert re.search(r'href="#f-pin">\s*Pin: ', again.text)
    smallest = unescape(flavors[0][0])
    chosen = again.text[again.text.index('name="c?.instance/image"') :]
    image = unescape(re.findall(r'<option value="(&quot;[^"]*)"', chosen)[0])
    server = {"instance__name": "front", "instance__flavor": smallest, "instance__image": image}
    review = again.send(name="Corner", pin="AB123456", **server)
    assert review.url.endswith("/review"), plain(review.text)
    client.post(where, headers=htmx)
    assert drain() == 1
    found = plain(opened(client, review.url).text)
    assert "Created" in found and "OS::Nova::Server" in found and "Nothing outside changes." not in found, found
    shown, rest = review.text.partition("Is this right?")[2].split("<details", 1)
    assert "Name" in shown and "Seats" in shown and "Max guests" not in shown and "Max guests" in rest
    assert "AB123456" not in review.text and "mon, tue" in plain(shown)
    followed(client, client.post(review.url.replace("review", "finish")), "")
    (first,) = services(ann, environment)
    assert (first["seats"], first["opens"], first["instance"]["name"]) == (7, ["mon", "tue"], "front")
    assert first["instance"]["flavor"] == json.loads(smallest)
    # An edit shows only what it changes, beside what was there.
    edit = opened(client, f"/app/environments/{environment}/edit/{first['?']['id']}")
    assert "Corner (Corner shop)" not in edit.text
    changed = edit.send(seats="9", pin="CD123456")
    told = changed.text.split('<dl class="answers">')[1].split("</dl>")[0]
    assert "<del>7</del>" in told and "<ins>9</ins>" in told and "another one than before" in told
    assert "Name" not in told and "as before" in plain(changed.text)
    same = opened(client, f"/app/environments/{environment}/edit/{first['?']['id']}")
    assert "Nothing is other than before" in same.send(seats="7", pin="AB123456").text
    # Options of references read as people named them.
    other = opened(client, f"/app/environments/{environment}/add/{row.id}")
    assert re.search(r"<option value=\"=[^\"]*\">Corner \((Corner shop|Shop)\)</option>", other.text)
