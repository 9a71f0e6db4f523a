#!/usr/bin/env python3
"""The tour of ./quickstart: the examples of this folder, one after the other on one SQLite file.

usage: examples/tour.py BUILD FOLDER

Takes the programs from the build folder and leaves the shop in FOLDER, which is made anew. Prints
what it runs, at the end a table of what was expected and what was seen, and ten commands to try
next. Exits with 0 only if everything turned out as expected.
"""
import os
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time

PATIENCE_S = 30  # only to notice that something hangs
COLOUR = sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def paint(text, code):
    return f"\x1b[{code}m{text}\x1b[0m" if COLOUR else text


def say(text, indent="    "):
    print("\n".join(indent + line for line in text.rstrip("\n").split("\n")), flush=True)


class Wrong(Exception):
    """A step could not be done; says why."""


class Shop:
    """The folder of the tour: the shop's database, its mails, the logs of its workers."""

    def __init__(self, build, folder):
        self.folder, self.file, self.mails = folder, f"{folder}/shop.db", f"{folder}/mails"
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(self.mails)
        self.settings = (f'export PATH="{quoted(build)}/src/cli:{quoted(build)}/examples:$PATH" '
                         f"POSTHORN_DB=sqlite:{shlex.quote(self.file)}")
        os.environ["PATH"] = (f"{os.path.abspath(build)}/src/cli:{os.path.abspath(build)}/examples:"
                              f"{os.environ['PATH']}")
        os.environ["POSTHORN_DB"] = f"sqlite:{self.file}"

    def ask(self, query, *values):
        """The first value of a query: what is really in the file."""
        db = sqlite3.connect(f"file:{self.file}?mode=ro", uri=True, timeout=PATIENCE_S)
        try:
            return db.execute(query, values).fetchone()[0]
        finally:
            db.close()

    def change(self, statement):
        show(f"-- {statement}")
        db = sqlite3.connect(self.file, timeout=PATIENCE_S)
        db.execute("PRAGMA wal_autocheckpoint = 0")  # see orders.c
        with db:
            db.execute(statement)
        db.close()

    def message(self, what, topic, order):
        """A column of the newest message about an order; None: there is none."""
        return self.ask(f"SELECT (SELECT {what} FROM posthorn_outbox WHERE topic = ? AND "
                        "json_extract(payload, '$.order') = ? ORDER BY created_at DESC LIMIT 1)",
                        topic, order)

    def mail(self, kind, order):
        return os.path.exists(f"{self.mails}/{kind}-{order}")


def quoted(folder):
    """As the printed line names it: from where the reader is."""
    return folder if os.path.isabs(folder) else f"$PWD/{folder}"


def show(command):
    say(paint(f"$ {command}" if not command.startswith("--") else command, "1"), "  ")


def run(*command, silent=False):
    """Shows and runs a command that must succeed."""
    show(shlex.join(command))
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=PATIENCE_S, check=False)
    if not silent or done.returncode != 0:
        say(done.stdout)
    if done.returncode != 0:
        raise Wrong(f"{command[0]} ended with status {done.returncode}")


class Worker:
    """A program that runs in the background; its words are shown, its log goes to a file."""
    running = []

    def __init__(self, shop, *command):
        show(shlex.join(command) + " &")
        self.said = ""
        with open(f"{shop.folder}/{command[0]}.log", "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        Worker.running.append(self)

    def read(self):
        for line in self.process.stdout:
            say(line)
            self.said += line

    def until(self, condition):
        """Waits for what the worker must bring about."""
        end = time.monotonic() + PATIENCE_S
        while not condition():
            if self.process.poll() is not None or time.monotonic() > end:
                raise Wrong(f"{self.process.args[0]} did not do it")
            time.sleep(0.02)

    def end(self, how):
        """Sends a signal; returns the exit status."""
        show(f"kill -{how.name[3:]} {self.process.pid}")
        self.process.send_signal(how)
        status = self.process.wait(PATIENCE_S)
        self.reader.join(PATIENCE_S)
        Worker.running.remove(self)
        return status


class Table:
    def __init__(self):
        self.rows = []

    def expect(self, what, expected, seen):
        self.rows.append((what, expected, seen))

    def print(self):
        """Returns whether everything is as expected."""
        width = max(len(what) for what, _, _ in self.rows)
        print(paint(f"\n  {'step':{width}}  expected  seen  ok", "1"))
        for what, expected, seen in self.rows:
            ok = expected == seen
            print(f"  {what:{width}}  {expected!s:>8}  {seen!s:>4}  "
                  f"{paint('✓', 32) if ok else paint('✗', 31)}")
        return all(expected == seen for _, expected, seen in self.rows)


def step(title):
    print(paint(f"\n{title}", "1;34"), flush=True)


def place_orders(shop, table):
    step("1. Orders and their messages, each in one transaction")
    run("orders", shop.file)
    table.expect("orders stored, of 8", 7, shop.ask("SELECT count(*) FROM orders"))
    table.expect("messages stored with them", 14, shop.ask("SELECT count(*) FROM posthorn_outbox"))
    table.expect("  of the order that was rolled back", 0, shop.ask(
        "SELECT count(*) FROM posthorn_outbox WHERE json_extract(payload, '$.order') = 4"))


def send_mails(shop, table):
    step("2. A dispatcher with handlers; one mail needs a retry, two are hopeless")
    run("posthorn", "queue", "set", "--backoff-base", "200ms", silent=True)
    mailer = Worker(shop, "mailer", shop.file, shop.mails)
    mailer.until(lambda: shop.mail("confirmation", 3)
                 and shop.ask("SELECT count(*) FROM posthorn_dead_letters") == 2)
    table.expect("mails that needed one attempt", 4, shop.ask(
        "SELECT count(*) FROM posthorn_outbox WHERE topic = 'mail.confirm' AND status = 'done' "
        "AND attempts = 1"))
    table.expect("attempts for the mail that needed a retry", 2,
                 shop.message("attempts", "mail.confirm", 3))
    table.expect("messages dead because 3 attempts were spent", 2, shop.ask(
        "SELECT count(*) FROM posthorn_dead_letters WHERE reason = 'attempts' AND attempts = 3"))
    return mailer


def replay(shop, table, mailer):
    step("3. The operator mends the cause, and replays a dead message")
    run("posthorn", "dead", "list")
    dead = shop.message("id", "mail.confirm", 6)
    shop.change("UPDATE customers SET mail = 'fritz@example.org' WHERE name = 'fritz'")
    run("posthorn", "dead", "retry", dead)
    mailer.until(lambda: shop.mail("confirmation", 6))
    table.expect("mails sent after the replay", 1, int(shop.mail("confirmation", 6)))
    table.expect("dead messages left", 1, shop.ask(
        "SELECT count(*) FROM posthorn_dead_letters WHERE retried_as IS NULL"))


def kill_worker(shop, table):
    step("4. A worker is killed between its effect and its commit; another one takes over")
    worker = Worker(shop, "billing", shop.file, "60000")
    worker.until(lambda: "not yet committed" in worker.said)
    worker.end(signal.SIGKILL)
    table.expect("bookings by the worker that was killed", 0,
                 shop.ask("SELECT count(*) FROM ledger"))
    worker = Worker(shop, "billing", shop.file)
    worker.until(lambda: shop.ask(
        "SELECT count(*) FROM posthorn_outbox WHERE topic = 'payment.book' AND status = 'done'") == 7)
    worker.end(signal.SIGTERM)
    table.expect("bookings after another one took over", 7,
                 shop.ask("SELECT count(*) FROM ledger"))
    table.expect("  orders booked twice", 0,
                 shop.ask("SELECT count(*) - count(DISTINCT order_id) FROM ledger"))
    table.expect("  attempts for the first of them", 2, shop.message("attempts", "payment.book", 1))


def schedule(shop, table, mailer):
    step("5. Messages for later: in two seconds, and tomorrow")
    run("reminder", shop.file, "1", "2")
    run("reminder", shop.file, "1", "2")
    run("reminder", shop.file, "2", "86400")
    run("posthorn", "explain", shop.message("id", "mail.remind", 1))
    mailer.until(lambda: shop.message("status", "mail.remind", 1) == "done")
    table.expect("reminders stored, though one was asked for twice", 2, shop.ask(
        "SELECT count(*) FROM posthorn_outbox WHERE topic = 'mail.remind'"))
    table.expect("  sent when its time had come", 1,
                 shop.message("processed_at >= due_time_utc", "mail.remind", 1))
    table.expect("  still waiting for tomorrow", 1,
                 shop.message("status = 'ready' AND attempts = 0", "mail.remind", 2))


def stop(shop, table, mailer):
    step("6. A worker is told to stop")
    table.expect("exit status of the worker that was told to stop", 0, mailer.end(signal.SIGTERM))
    table.expect("messages left in anybody's hands", 0, shop.ask(
        "SELECT count(*) FROM posthorn_outbox WHERE status = 'in_progress'"))


def try_next(shop):
    dead, later = shop.message("id", "mail.confirm", 8), shop.message("id", "mail.remind", 2)
    print(f"""
Ten commands to try next:

  {shop.settings}
  posthorn stats
  posthorn list
  posthorn show {shop.message("id", "payment.book", 1)}
  posthorn explain {later}
  posthorn dead list
  posthorn dead retry {dead}
  posthorn enqueue greet '{{"name":"Ada"}}'
  posthorn work greet --once --exec cat
  posthorn doctor
  posthorn bench --yes --seconds 3""")


def tour(shop, table):
    print("\nA small shop on one SQLite file. After this line you can type the commands yourself:\n")
    show(shop.settings)
    place_orders(shop, table)
    mailer = send_mails(shop, table)
    replay(shop, table, mailer)
    kill_worker(shop, table)
    schedule(shop, table, mailer)
    stop(shop, table, mailer)


def main():
    if len(sys.argv) != 3:
        raise SystemExit("usage: examples/tour.py BUILD FOLDER")
    shop, table, wrong = Shop(*sys.argv[1:]), Table(), ""
    try:
        tour(shop, table)
    except Wrong as why:
        wrong = f"{why}. "
    finally:
        for worker in Worker.running:
            worker.process.kill()
    if not table.print() or wrong:
        raise SystemExit(f"\n{wrong}Not everything is as expected; the workers' logs are in "
                         f"{shop.folder}.")
    print("\nAll as expected.")
    try_next(shop)


main()
