"""The README's Python works as printed; its other languages are run by tests/meta."""
import os

import host
from examples import blocks
from runner import run, temporary_folder


def test_python_stores_an_order_and_its_message():
    programs = blocks("README.md", "python")
    assert len(programs) == 1
    with temporary_folder() as folder:
        os.symlink(host.extension(), os.path.join(folder, "posthorn.so"))
        run([host.SYSTEM_PYTHON, "-c", programs[0]], cwd=folder, env=host.environment(leaks=False))
        out, _ = host.shell("SELECT cents, topic, payload, status FROM orders, posthorn_outbox;",
                            path="shop.db", folder=folder)
        assert out == '1999|order.placed|{"order":1}|ready\n', out
