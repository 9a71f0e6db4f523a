"""What is installed runs: from any folder, and from where the system looks."""
import json
import os
import shutil
import subprocess

from examples import SANITIZE, blocks, installation
from runner import ROOT, Skip, build_folder, run, temporary_folder

BARE = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nonexistent"}

# In a mount namespace of its own: /usr/local is empty, and /etc a copy, since ldconfig writes there.
SYSTEM = r"""
set -eu
mkdir "$1/etc"
mount -t tmpfs none "$1/etc"
cp -a /etc/. "$1/etc"
mount --bind "$1/etc" /etc
mount -t tmpfs none /usr/local
if [ -d /var/cache/ldconfig ]; then mount -t tmpfs none /var/cache/ldconfig; fi
cd "$1"
meson install -C "$2" --no-rebuild --quiet
exec env -i PATH="$PATH" HOME=/nonexistent sh -eu -c '
    posthorn --version
    posthorn --quiet --db sqlite:x.db migrate up >/dev/null
    posthorn --quiet --db sqlite:x.db enqueue t x >/dev/null
    posthorn --quiet --db sqlite:x.db work t --drain --exec cat
    echo
    cc shop.c -o shop "$@" $(pkg-config --cflags --libs posthorn sqlite3)
    ./shop' sh "${@:3}"
"""


def test_a_fresh_build_goes_where_loader_and_pkg_config_look():
    """Without dpkg-dev Meson would choose lib64, which Debian's do not know."""
    with temporary_folder() as folder:
        run(["meson", "setup", folder, ROOT])
        options = json.loads(run(["meson", "introspect", "--buildoptions", folder]))
        values = {option["name"]: option["value"] for option in options}
        assert (values["prefix"], values["libdir"]) == ("/usr/local", "lib"), values["libdir"]


def test_the_command_runs_from_any_folder():
    """No loader knows of it, and no variable helps."""
    command = os.path.join(installation().name, "usr/local/bin/posthorn")
    assert run([command, "--version"], env=BARE).startswith("posthorn "), command


def in_a_namespace(folder):
    unshare = ["unshare", "-m"] if os.getuid() == 0 else ["unshare", "-rm"]
    probe = [*unshare, "sh", "-c", "mount -t tmpfs none /usr/local"]
    if not shutil.which("unshare") or subprocess.run(probe, capture_output=True, check=False).returncode:
        raise Skip("no mount namespace can be had here; as root it can")
    if shutil.which("meson").startswith("/usr/local/"):
        raise Skip("Meson itself is in /usr/local")
    return run([*unshare, "bash", "-c", SYSTEM, "bash", folder, build_folder(), *SANITIZE],
               env={**os.environ, "PATH": BARE["PATH"] + ":/usr/sbin:/sbin"})


def test_what_the_system_has_installed_runs():
    """As docs/getting-started.md says: the command, and a program in C. Only this process sees it."""
    with temporary_folder() as folder:
        with open(os.path.join(folder, "shop.c"), "w", encoding="utf-8") as file:
            file.write(blocks("docs/getting-started.md", "c")[0])
        output = in_a_namespace(folder)
        assert "posthorn " in output and "\nx\n" in output, output
