"""The workflows and services in examples/: each says by its exit status whether all went well."""
import contextlib
import os
import re
import subprocess
import uuid

from examples import FreshDatabase
import runner


def take(name, url, *arguments):
    """What a workflow printed, without the log of handlers that failed."""
    output = runner.run([os.path.join(runner.build_folder(), "examples", name), url, *arguments])
    return re.sub(r"^handle: .*\n", "", output, flags=re.M)


def on_each_database(test):
    with runner.temporary_folder() as folder:
        test(f"sqlite:{folder}/workflow.db")
    with FreshDatabase() as url:
        test(url)


def test_etl_transforms_once_when_all_is_extracted():
    def check(url):
        lines = take("etl", url).splitlines()
        assert sorted(lines[:3]) == [f"extract.{what} of CUST-123" for what in
                                     ("customers", "orders", "products")], lines
        # The call that ends a join reports it when it has its answer: the continuation may be quicker.
        assert sorted(lines[3:]) == ["all extracted: transforming CUST-123",
                                     "join: completed, 3 of 3 steps completed, 0 failed"], lines
    on_each_database(check)


def test_etl_that_fails_says_so_instead():
    def check(url):
        output = take("etl", url, "fail")
        assert "join: failed, 2 of 3 steps completed, 1 failed" in output
        assert "an extraction failed: nothing to transform for CUST-123\n" in output, output
        assert "transforming" not in output
    on_each_database(check)


def test_report_is_assembled_from_what_could_be_made():
    def check(url):
        output = take("report", url)
        assert "join: failed, 4 of 5 steps completed, 1 failed" in output
        assert re.findall(r"section (\d): (\w+)", output) == [
            ("1", "included"), ("2", "included"), ("3", "included"), ("4", "left"),
            ("5", "included")], output
    on_each_database(check)


def test_pipeline_runs_one_stage_after_the_other():
    def check(url):
        lines = take("pipeline", url).splitlines()
        assert lines[:3] == ["ingest.source"] * 3, lines
        assert "ingested: validating" in lines[3:5], lines
        assert sorted(lines[-4:-2]) == ["validate.rules", "validate.schema"], lines
        assert lines[-2:] == ["join: completed, 2 of 2 steps completed, 0 failed",
                              "published WF-789"], lines
    on_each_database(check)


def test_services_book_what_is_delivered_twice_once_and_in_order():
    def check(shop):
        ledger = shop.replace("workflow.db", "ledger.db")  # PostgreSQL: one database, outbox and inbox
        carried = take("sender", shop, ledger).splitlines()
        assert len(carried) == 24, carried
        for customer in "123":
            mine = [line for line in carried if line.startswith(f"customer/{customer} ")]
            assert mine == [f"customer/{customer} order {n}: {how}" for n in range(1, 5)
                            for how in ("taken in", "was there already")], mine
        booked = take("receiver", ledger, "12").splitlines()
        assert booked[-1] == "12 booked, 0 out of order", booked
        again = take("receiver", ledger, "0").splitlines()
        assert again == ["0 booked, 0 out of order"], again
    on_each_database(check)


TENANTS = {"acme": 2, "bolt": 1, "cyan": 1}  # and their orders


def check_tenants(pattern):
    lines = take("tenants", pattern).splitlines()
    assert lines[:2] == ["acme has moved in", "bolt has moved in"], lines
    shipped = [line for line in lines if ": shipping " in line]
    assert sorted(shipped) == [f'{tenant}: shipping {{"tenant":"{tenant}","order":{order}}}'
                               for tenant, orders in TENANTS.items()
                               for order in range(1, orders + 1)], lines
    assert "bolt: order 2 rolled back, and its message with it" in lines, lines
    refused = [line for line in lines if line.startswith("zork: refused: ")]
    assert len(refused) == 1, lines
    assert lines.index("cyan has moved in") > lines.index(refused[0]), lines
    assert lines[-4:] == [*(f"{tenant}: {orders} shipped" for tenant, orders in TENANTS.items()),
                          "every order went to its own tenant"], lines


def test_tenants_have_their_orders_in_databases_of_their_own():
    with runner.temporary_folder() as folder:
        check_tenants(f"sqlite:{folder}/{{}}.db")
        again = subprocess.run([os.path.join(runner.build_folder(), "examples", "tenants"),
                                f"sqlite:{folder}/{{}}.db"], capture_output=True, text=True,
                               timeout=120, check=False)
        assert again.returncode == 1 and "something went wrong" in again.stdout, again.stdout
    prefix = "shop_" + uuid.uuid4().hex[:8]
    with contextlib.ExitStack() as stack:
        urls = [stack.enter_context(FreshDatabase(f"{prefix}_{tenant}")) for tenant in TENANTS]
        check_tenants(urls[0].replace(f"{prefix}_acme", f"{prefix}_{{}}"))
