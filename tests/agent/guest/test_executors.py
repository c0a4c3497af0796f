"""Scripts really run, in folders of the test; Puppet and Chef are small programs that tell what they were given."""

from __future__ import annotations

import http.server
import json
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from vetro.agent.guest.errors import PlanError
from vetro.agent.guest.executors import ScriptCall
from vetro.agent.guest.files import Files, download
from vetro.agent.guest.plan import Plan, read_plan
from vetro.agent.guest.values import AttributeMap


def make(scripts: dict[str, Any], files: dict[str, Any], version: str = "2.2.0") -> Plan:
    return read_plan("id", {"FormatVersion": version, "Body": "return", "Scripts": scripts, "Files": files})


def app(folder: Path, text: str | bytes, name: str = "run.sh", options: Any = None, **more: Any) -> ScriptCall:
    """A script with this entry point; more files by keyword."""
    files = {"f": {"Name": name, "BodyType": "Text", "Body": text}}
    files |= {key: {"Name": key, "BodyType": "Text", "Body": value} for key, value in more.items()}
    script = {"Type": "Application", "EntryPoint": "f", "Files": list(more), "Options": options or {}}
    return ScriptCall(make({"s": script}, files).scripts["s"], Files(str(folder / "plan")))


def test_result_of_a_script(tmp_path: Path) -> None:
    result = app(tmp_path, "#!/bin/bash\necho ' out '; echo err >&2")()
    assert isinstance(result, AttributeMap)
    assert (result.exitCode, result.stdout, result.stderr) == (0, "out", "err")
    assert result == {"exitCode": 0, "stdout": "out", "stderr": "err"}


def test_arguments_go_through_the_shell(tmp_path: Path) -> None:
    script = app(tmp_path, 'printf "%s|" "$@"')
    assert script("a 'b c' $((1+1)) \"d\"").stdout == "a|b c|2|d|"
    assert script().stdout == "|"
    assert script(None).stdout == "|"
    assert script(5).stdout == "5|"
    assert script.function("x").stdout == "x|"


def test_input(tmp_path: Path) -> None:
    script = app(tmp_path, "cat")
    assert script("", "text ж").stdout == "text ж"
    assert script(input=b"bytes").stdout == "bytes"
    assert script().stdout is None
    assert app(tmp_path / "2", "exit 0")(input="x" * 1_000_000).exitCode == 0  # it does not read its input


def test_names_of_entry_points(tmp_path: Path) -> None:
    for n, name in enumerate(("core/apply manifest.sh", "a'b$(touch x)\"c;d", "-n")):
        assert app(tmp_path / str(n), "echo $0", name)().stdout == f"./{name}"
        assert not (tmp_path / str(n) / "plan" / "s" / "x").exists()


def test_folder_and_links(tmp_path: Path) -> None:
    script = app(tmp_path, "pwd; readlink data; cat $(readlink data); stat -L -c %A run.sh", data="content\n")
    folder, link, content, mode = script().stdout.splitlines()
    assert folder == str(tmp_path / "plan" / "s")
    assert os.path.isabs(link)
    assert content == "content"
    assert mode[1:4] in ("rwx", "r-x")


def test_without_interpreter_it_is_for_sh(tmp_path: Path) -> None:
    assert app(tmp_path, "echo ${BASH_VERSION:-sh}")().stdout == "sh"


def test_line_endings_are_kept(tmp_path: Path) -> None:
    assert app(tmp_path, "cat data | od -An -c | tr -s ' '", data="a\r\nb")().stdout == "a \\r \\n b"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"captureStdout": False}, (3, None, "err")),
        ({"captureStderr": "false"}, (3, "out", None)),
        ({"captureStdout": None}, (3, "out", "err")),
    ],
)
def test_options(tmp_path: Path, options: dict[str, Any], expected: tuple[Any, ...]) -> None:
    script = app(tmp_path, "echo out; echo err >&2; exit 3", options={**options, "verifyExitcode": False})
    result = script()
    assert (result.exitCode, result.stdout, result.stderr) == expected


def test_a_failing_script_raises(tmp_path: Path) -> None:
    with pytest.raises(PlanError) as caught:
        app(tmp_path, "echo out; exit 7")()
    assert caught.value.error_code == 100
    assert caught.value.message == "Script s returned error code"
    assert caught.value.additional_data == {"exitCode": 7, "stdout": "out", "stderr": None}


def test_a_daemon_that_keeps_the_output_does_not_hang(tmp_path: Path) -> None:
    script = app(tmp_path, "sleep 300 & echo $!")
    pid = int(script().stdout)
    try:
        assert Path(f"/proc/{pid}").exists()  # it lives on
    finally:
        os.kill(pid, 9)


def test_a_chatty_daemon_does_not_hang(tmp_path: Path) -> None:
    script = app(tmp_path, "sh -c 'while echo x; do sleep 0.05; done' & echo $!")
    assert script().exitCode == 0


def test_much_output_is_shortened_in_the_middle(tmp_path: Path) -> None:
    result = app(tmp_path, "echo begin; head -c 20000000 /dev/zero | tr '\\0' x; echo; echo end")()
    assert result.stdout.startswith("begin")
    assert result.stdout.endswith("end")
    assert "bytes left out" in result.stdout
    assert len(result.stdout) < 3_000_000


def test_output_that_is_no_text(tmp_path: Path) -> None:
    assert app(tmp_path, "printf 'a\\377b'")().stdout == "a\ufffdb"


# -- files -------------------------------------------------------------------------------------------------------------


def test_files_of_several_scripts_share_contents(tmp_path: Path) -> None:
    plan = make(
        {n: {"Type": "Application", "EntryPoint": "f", "Files": ["d"]} for n in "ab"},
        {
            "f": {"Name": "sub/run.sh", "BodyType": "Text", "Body": "readlink ../x/data"},
            "d": {"Name": "x/data", "BodyType": "Text", "Body": ""},
        },
    )
    files = Files(str(tmp_path / "plan"))
    a, b = (ScriptCall(plan.scripts[n], files)("; readlink x/data") for n in "ab")
    assert a.stdout.splitlines()[-1] == b.stdout.splitlines()[-1]


def test_a_file_inside_of_a_link_is_refused(tmp_path: Path, served_folder: tuple[str, Path]) -> None:
    """A downloaded folder is linked; a second file of the plan tries to be written through that link."""
    url, root = served_folder
    (root / "evil").write_text("x")
    plan = make(
        {"s": {"Type": "Application", "EntryPoint": "f", "Files": ["d", "e"]}},
        {
            "f": {"Name": "run.sh", "BodyType": "Text", "Body": "true"},
            "d": {"Name": "link", "Type": "Downloadable", "URL": f"{url}/evil"},
            "e": {"Name": "link/etc/passwd", "BodyType": "Text", "Body": "root"},
        },
    )
    with pytest.raises(PlanError, match="inside of another") as caught:
        ScriptCall(plan.scripts["s"], Files(str(tmp_path / "plan")))()
    assert caught.value.error_code == 2


def test_a_file_in_place_of_a_folder_is_refused(tmp_path: Path) -> None:
    plan = make(
        {"s": {"Type": "Application", "EntryPoint": "f", "Files": ["d"]}},
        {
            "f": {"Name": "a/run.sh", "BodyType": "Text", "Body": "true"},
            "d": {"Name": "a", "BodyType": "Text", "Body": ""},
        },
    )
    with pytest.raises(PlanError, match="the place of another"):
        ScriptCall(plan.scripts["s"], Files(str(tmp_path / "plan")))()


@pytest.fixture
def served_folder(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """An address and the folder that is served there by HTTP."""
    root = tmp_path / "served"
    root.mkdir()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, directory=str(root), **kwargs)

        def log_message(self, *args: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", root
        server.shutdown()
        thread.join()


def test_downloads_lie_in_a_folder_of_their_name(tmp_path: Path, served_folder: tuple[str, Path]) -> None:
    url, root = served_folder
    (root / "tool.zip").write_bytes(b"\0\xff")
    plan = make(
        {"s": {"Type": "Application", "EntryPoint": "f", "Files": ["d", "e"]}},
        {
            "f": {"Name": "run.sh", "BodyType": "Text", "Body": "ls tool tool.zip; od -An -tx1 tool/tool.zip"},
            "d": {"Name": "tool", "Type": "Downloadable", "URL": f"{url}/tool.zip?x=1"},
            "e": {"Type": "Downloadable", "URL": f"{url}/tool.zip"},
        },
    )
    result = ScriptCall(plan.scripts["s"], Files(str(tmp_path / "plan")))()
    assert result.stdout.split() == ["tool:", "tool.zip", "tool.zip:", "tool.zip", "00", "ff"]


def test_git_repositories_are_cloned(tmp_path: Path, served_folder: tuple[str, Path]) -> None:
    url, root = served_folder
    source = tmp_path / "source"
    author = ["-c", "user.name=x", "-c", "user.email=x@x"]
    for command in (
        ["init", "-q", str(source)],
        ["-C", str(source), *author, "commit", "-q", "--allow-empty", "-m", "x"],
        ["clone", "-q", "--bare", str(source), str(root / "book.git")],
        ["-C", str(root / "book.git"), "update-server-info"],
    ):
        subprocess.run(["git", *command], check=True)
    for n, address in enumerate((f"{url}/book.git", f"git+{url}/book.git")):
        folder = tmp_path / str(n)
        folder.mkdir()
        download(address, str(folder))
        assert (folder / ".git").is_dir()


@pytest.mark.parametrize(
    "url",
    [
        "file",
        "/etc/passwd",
        "file:///etc/passwd",
        "file://host/etc/passwd",
        "ftp://h/x",
        "http://",
        "http://h/..",
        "-x",
        "http://[x",
    ],
)
def test_addresses_that_cannot_be_fetched(tmp_path: Path, url: str) -> None:
    with pytest.raises(PlanError, match="cannot fetch") as caught:
        download(url, str(tmp_path))
    assert caught.value.error_code == 1
    assert list(tmp_path.iterdir()) == []


def test_failing_downloads(tmp_path: Path, served_folder: tuple[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    url, _ = served_folder
    for address in (f"{url}/missing", f"{url}/missing.git", "http://127.0.0.1:1/x"):
        (tmp_path / "f").mkdir(exist_ok=True)
        with pytest.raises(PlanError, match="cannot fetch"):
            download(address, str(tmp_path / "f"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PlanError, match="svn is not installed"):
        download("svn://host/x", str(tmp_path / "f"))


# -- Puppet and Chef ---------------------------------------------------------------------------------------------------


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in PATH for programs that the test writes."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def install(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text("#!/bin/sh\n" + text)
    (folder / name).chmod(0o755)


def other(folder: Path, kind: str, entry: str, options: Any = None, files: Any = None) -> ScriptCall:
    files = files or {}
    script = {"Type": kind, "EntryPoint": entry, "Files": list(files), "Options": options or {}}
    return ScriptCall(make({"s": script}, files).scripts["s"], Files(str(folder / "plan")))


def test_puppet(tmp_path: Path, programs: Path) -> None:
    install(programs, "puppet", 'if [ "$1" = --version ]; then echo 7.1.0; else echo "$@"; pwd; fi')
    result = other(tmp_path, "Puppet", "mysql::server")({"port": 3306, "name": "a: b"}, extra=True)
    folder = tmp_path / "plan" / "s"
    arguments, place = result.stdout.splitlines()
    assert arguments == f"apply --hiera_config=hiera.yaml --modulepath={folder} manifest.pp"
    assert place == str(folder)
    assert (folder / "manifest.pp").read_text() == "include mysql::server\n"
    lines = (folder / "default.yaml").read_text().splitlines()
    assert lines == ["---", '"mysql::port": 3306', '"mysql::name": "a: b"', '"mysql::extra": true']
    assert "version: 5" in (folder / "hiera.yaml").read_text()


def test_old_puppet(tmp_path: Path, programs: Path) -> None:
    install(programs, "puppet", "echo 3.8.7")
    other(tmp_path, "Puppet", "mysql::")()
    folder = tmp_path / "plan" / "s"
    assert ":backends:" in (folder / "hiera.yaml").read_text()
    assert (folder / "manifest.pp").read_text() == "include mysql\n"
    assert (folder / "default.yaml").read_text() == "---\n{}\n"


def test_chef(tmp_path: Path, programs: Path) -> None:
    install(programs, "chef-solo", 'echo "$@"; pwd; cat solo.rb')
    result = other(tmp_path, "Chef", "web::install")({"port": 80})
    folder = tmp_path / "plan" / "s"
    assert result.stdout.splitlines() == [
        "-j node.json -c solo.rb",
        str(folder),
        f"cookbook_path '{folder}'",
    ]
    assert json.loads((folder / "node.json").read_text()) == {"run_list": ["recipe[web::install]"], "web": {"port": 80}}


def test_errors_on_the_output_of_chef(tmp_path: Path, programs: Path) -> None:
    install(programs, "chef-solo", "echo fine; echo 'x ERROR: bad'; echo err >&2; exit 1")
    with pytest.raises(PlanError) as caught:
        other(tmp_path, "Chef", "web::install")()
    assert caught.value.error_code == 100
    assert caught.value.additional_data["stderr"] == "err\nx ERROR: bad"


def test_berkshelf(tmp_path: Path, programs: Path) -> None:
    install(programs, "chef-solo", "cat solo.rb")
    install(programs, "berks", 'echo "$@" > called; mkdir berks-cookbooks')
    files = {"b": {"Name": "web/Berksfile", "BodyType": "Text", "Body": ""}}
    script = other(tmp_path, "Chef", "web::install", {"useBerkshelf": True}, files)
    folder = tmp_path / "plan" / "s"
    for _ in range(2):  # a second call does not stumble over the first
        assert script().stdout == f"cookbook_path '{folder}/berks-cookbooks'"
    assert (folder / "called").read_text() == f"vendor --berksfile={folder}/web/Berksfile {folder}/berks-cookbooks\n"


def test_failing_berkshelf(tmp_path: Path, programs: Path) -> None:
    files = {"b": {"Name": "B", "BodyType": "Text", "Body": ""}}
    options = {"useBerkshelf": True, "berksfilePath": "B"}
    cases = [
        ({"useBerkshelf": True}, None, "no Berksfile"),
        (options, None, "not installed"),
        (options, "exit 4", "returned error code"),
    ]
    for n, (given, program, message) in enumerate(cases):
        if program:
            install(programs, "berks", program)
        with pytest.raises(PlanError, match=message) as caught:
            other(tmp_path / str(n), "Chef", "web::install", given, files)()
        assert caught.value.error_code == 100


@pytest.mark.parametrize(("kind", "program"), [("Puppet", "puppet"), ("Chef", "chef-solo")])
def test_missing_programs_and_bad_entry_points(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, program: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PlanError, match=f"{program} is not installed") as caught:
        other(tmp_path, kind, "a::b")()
    assert caught.value.error_code == 100
    for n, entry in enumerate(("a'b::c", "::b", "a::b c", "../a::b")):
        with pytest.raises(PlanError, match="EntryPoint") as caught:
            other(tmp_path / str(n), kind, entry)()
        assert caught.value.error_code == 100
    with pytest.raises(PlanError, match="map of attributes"):
        other(tmp_path / "x", kind, "a::b")("text")
