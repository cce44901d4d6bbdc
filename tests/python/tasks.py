# redlock_quorum.aio on real servers: many locks, a loop that is never blocked, cancellation, losses.
# SPDX-License-Identifier: MIT
"""usage: REDLOCK_CONFIG=FILE REDLOCK_LIBRARY=FILE PYTHONPATH=DIR tasks.py [TEST...]"""
import asyncio
import gc
import json
import os
import pathlib
import random
import resource
import socket
import sys
import threading
import time
import unittest
import unittest.mock

import redlock_quorum as redlock
from redlock_quorum import _client, aio
from redlock_quorum._native import library
from locks import LONGEST_S, await_value

THOUSANDS_S = 300  # ends what hangs, where thousands of tasks are waited for


class Tasks(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.client = aio.Client.from_environment()

    async def asyncTearDown(self):
        await self.client.close()

    async def await_value(self, what, look, wanted, within_s=LONGEST_S):
        """Looks until it sees what is wanted; fails with what it saw last."""
        end = time.monotonic() + within_s
        while (seen := await look() if asyncio.iscoroutinefunction(look) else look()) != wanted:
            if time.monotonic() > end:
                self.fail(f"{what}: {seen!r} after {within_s} s, where {wanted!r} was awaited")
            await asyncio.sleep(0.001)

    async def becomes(self, member, value):
        async def look():
            return (await self.client.inspect(self.id()))[member]
        await self.await_value(f"{member} of {self.id()}", look, value)

    async def waiting_is(self, count):
        await self.await_value("calls that wait", lambda: self.client.stats()["waiting"], count, THOUSANDS_S)

    async def test_a_section_holds_the_lock(self):
        async with self.client.lock(self.id(), ttl=10, wait=5) as lease:
            self.assertTrue(lease.valid and not lease.lost.is_set())
            await lease.extend(20)
            self.assertGreater(lease.remaining, 15)
            self.assertIsNone(await self.client.lock(self.id()).try_acquire())
        self.assertFalse((await self.client.inspect(self.id()))["held"])

    async def test_a_thousand_locks(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        leases = await asyncio.gather(*(self.client.lock(f"{self.id()}:{n}", ttl=30, wait=30).acquire()
                                        for n in range(1000)))
        losses = [asyncio.ensure_future(lease.lost.wait()) for lease in leases]
        await asyncio.sleep(0)
        self.assertEqual(self.client.stats()["leases"], 1000)
        self.assertTrue(all(lease.valid for lease in leases))
        await asyncio.gather(*(lease.release() for lease in leases))
        self.assertEqual(await asyncio.gather(*losses), [False] * 1000)
        self.assertEqual(await self.client.list(self.id()), [])

    async def test_a_thousand_tasks_want_one(self):
        lock = self.client.lock(self.id(), wait=600)
        total = 0

        async def one():
            nonlocal total
            async with lock:
                before = total
                await asyncio.sleep(0)
                total = before + 1

        await asyncio.gather(*(one() for _ in range(1000)))
        self.assertEqual(total, 1000)

    async def test_a_wait_does_not_block_the_loop(self):
        async with self.client.lock(self.id()):
            waits = asyncio.ensure_future(self.client.lock(self.id(), wait=600).acquire())
            await self.becomes("waiting", 1)  # of which each look needs the loop
            for _ in range(100):
                await asyncio.sleep(0)
            self.assertFalse(waits.done())
        await (await waits).release()

    def threads(self):
        return len(os.listdir("/proc/self/task"))

    async def test_waiting_tasks_need_no_threads(self):
        before = self.threads()
        for count in (500, 10_000):
            async with self.client.lock(self.id(), ttl=60):
                lock = self.client.lock(self.id(), wait=600)
                waits = [asyncio.ensure_future(lock.acquire()) for _ in range(count)]
                await self.waiting_is(count)
                self.assertLessEqual(self.threads() - before, 10)
                for one in waits:
                    one.cancel()
                said = await asyncio.gather(*waits, return_exceptions=True)
                self.assertTrue(all(isinstance(one, asyncio.CancelledError) for one in said))
                await self.waiting_is(0)
        await asyncio.sleep(2)
        self.assertLessEqual(self.threads(), before)

    async def test_nothing_is_reported_to_the_loop(self):
        reports = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reports.append(context))
        drawn = random.Random(4711)
        limiter = self.client.rate_limiter(self.id() + "limit", 1, 20)
        await limiter.acquire()
        async with self.client.lock(self.id()):
            lock = self.client.lock(self.id(), wait=0.02)
            for _ in range(10):
                for wait in (lock.acquire, lambda: limiter.acquire(wait=1), limiter.acquire,
                             lambda: self.client.adopt("nonsense")):
                    try:
                        await asyncio.wait_for(wait(), drawn.uniform(0, 0.04))
                    except (asyncio.TimeoutError, redlock.Error):
                        pass
            await asyncio.sleep(0.1)
            gc.collect()
        gc.collect()
        self.assertEqual(reports, [])

    async def test_no_call_blocks_the_loop(self):
        config = json.loads(pathlib.Path(os.environ["REDLOCK_CONFIG"]).read_text(encoding="utf-8"))
        client = aio.Client(config)
        lease = await client.lock(self.id(), ttl=30).acquire()
        held = threading.Event()
        went = threading.Event()

        def hangs(*_):
            held.set()
            went.wait(60)
            return 0

        with unittest.mock.patch.object(library, "extend", hangs):
            extends = asyncio.ensure_future(lease.extend(20))
            await self.await_value("an extension in its thread", held.is_set, True)
            lease.touch()  # each of these would wait for the extension
            self.assertTrue(lease.valid and lease.remaining > 0 and lease.token)
            self.assertFalse(lease.lost.is_set())
            releases = asyncio.ensure_future(lease.release())
            await asyncio.sleep(0.01)
            went.set()
            await extends
        await releases
        await asyncio.sleep(0)
        free, held = library.client_free, threading.Event()
        went.clear()

        def slow(handle):
            held.set()
            went.wait(60)
            free(handle)

        with unittest.mock.patch.object(_client._free, "__defaults__", (slow,)):
            del client, lease, extends, releases
            gc.collect()
            await self.await_value("the end of the client in its thread", held.is_set, True)
            went.set()

    async def test_a_section_is_left_in_another_task(self):
        lock = self.client.lock(self.id())
        await asyncio.ensure_future(lock.__aenter__())
        self.assertTrue(await lock.locked())
        self.assertTrue(lock.owned())
        await asyncio.ensure_future(lock.__aexit__(None, None, None))
        self.assertFalse(await lock.locked())
        self.assertTrue(await lock.acquire(blocking=False))
        self.assertIsNone(await self.client.lock(self.id()).acquire(blocking=False))
        await asyncio.ensure_future(lock.release())
        with self.assertRaises(redlock.NotHeld):
            await lock.release()

        @lock
        async def work():
            return await lock.locked()

        self.assertTrue(await work())
        self.assertFalse(await lock.locked())

    async def test_a_loop_after_the_other(self):
        def run():
            async def one():
                async with aio.Client.from_environment() as client, client.lock(self.id(), wait=60):
                    pass
            for _ in range(3):
                asyncio.run(one())

        await asyncio.to_thread(run)
        gc.collect()
        self.assertLessEqual(len(aio._calls), 2)

    async def test_a_loop_that_is_closed_leaves_no_waiter(self):
        kept = []

        def run():
            async def begin():
                kept.append(asyncio.ensure_future(self.client.lock(self.id(), wait=600).acquire()))
                await self.becomes("waiting", 1)

            loop = asyncio.new_event_loop()
            loop.set_exception_handler(lambda *_: None)  # asyncio's word on tasks that are destroyed
            loop.run_until_complete(begin())
            loop.close()

        async def other():
            async with self.client.lock(self.id() + "other"):
                pass

        async with self.client.lock(self.id()):
            await asyncio.to_thread(run)
            await asyncio.to_thread(asyncio.run, other())
            await asyncio.wait_for(self.becomes("waiting", 0), 60)
            kept.clear()
            gc.collect()
            await asyncio.to_thread(run)
            kept.clear()
            gc.collect()  # where no other loop begins a call
            await asyncio.wait_for(self.becomes("waiting", 0), 60)

    async def test_an_election_leads_and_is_observed(self):
        election = self.client.election(self.id())
        observed = election.observe(every=0.01)
        self.assertIsNone(await observed.__anext__())

        async def work(lease):
            self.assertFalse(election.lost.is_set())
            self.assertEqual((await observed.__anext__()).fence, lease.fence)
            return "done"

        self.assertEqual(await election.lead(work), "done")
        self.assertIsNone(await observed.__anext__())

    async def test_each_section_of_an_election_ends_its_own_term(self):
        election = self.client.election(self.id(), ttl=2, renew=False)
        with self.assertRaises(redlock.LeaseLost):
            async with election as first:
                with self.assertRaises(redlock.WouldDeadlock):
                    await election.campaign()
                await first.lost
                second = await asyncio.ensure_future(election.__aenter__())
        self.assertTrue(second.valid and second.fence > first.fence)
        self.assertEqual(election.fence, second.fence)
        await election.__aexit__(KeyError, None, None)
        self.assertFalse(second.valid or election.held)

    async def test_work_of_a_lost_term_is_cancelled(self):
        election = self.client.election(self.id(), ttl=30, max_hold=0.3)
        began = time.monotonic()
        with self.assertRaises(redlock.LeaseLost):
            await election.lead(lambda _: asyncio.sleep(60))
        await election.campaign()
        self.assertLess(time.monotonic() - began, 20)  # not the ttl
        self.assertTrue(await election.lost)
        await election.campaign()
        await election.resign()
        self.assertIsNone(election.lost)

    async def test_a_cancelled_wait_leaves_nothing(self):
        async with self.client.lock(self.id()):
            waits = asyncio.ensure_future(self.client.lock(self.id(), wait=600).acquire())
            await self.becomes("waiting", 1)
            waits.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await waits
            await self.becomes("waiting", 0)
        self.assertFalse((await self.client.inspect(self.id()))["held"])

    async def test_cancelled_at_any_moment_it_leaves_nothing(self):
        drawn = random.Random(4711)
        cancelled = 0
        for _ in range(200):
            task = asyncio.ensure_future(self.client.lock(self.id(), wait=5).acquire())
            await asyncio.sleep(drawn.uniform(0, 0.001))
            task.cancel()
            try:
                await (await task).release()
            except asyncio.CancelledError:
                cancelled += 1
        self.assertGreater(cancelled, 0)
        await self.becomes("held", False)
        await self.becomes("waiting", 0)
        self.assertEqual(self.client.stats()["leases"], 0)

    async def test_the_error_of_a_cancelled_task_keeps_no_lease(self):
        task = asyncio.ensure_future(self.client.lock(self.id(), ttl=30).acquire())
        await asyncio.sleep(0)
        end = time.monotonic() + LONGEST_S
        while self.client.stats()["leases"] == 0:
            self.assertLess(time.monotonic(), end, "nothing is granted")
            time.sleep(0.001)  # the loop has the grant and the cancellation in one turn
        asyncio.get_running_loop().call_later(0, task.cancel)
        try:
            await task
        except asyncio.CancelledError as error:
            kept = error
        await self.becomes("held", False)
        self.assertIsNotNone(kept.__traceback__)

    async def test_a_cancelled_adoption_releases_nothing(self):
        lease = await self.client.lock(self.id(), ttl=30).acquire()
        token = lease.token
        lease.detach()
        for is_over in (False, True):
            task = asyncio.ensure_future(self.client.adopt(token))
            await asyncio.sleep(0)
            if is_over:
                await_value(self, "calls", lambda: aio._threads._calls, 0)  # the loop has both in one turn
                asyncio.get_running_loop().call_later(0, task.cancel)
            else:
                task.cancel()
            await asyncio.wait((task,))
            self.assertTrue(task.cancelled())
            await self.await_value("calls", lambda: aio._threads._calls, 0)
            del task
            gc.collect()
        self.assertTrue((await self.client.inspect(self.id()))["held"])
        lease = await self.client.adopt(token)
        self.assertEqual((lease.resource, lease.resources), ("", ()))
        await lease.release()

    async def test_a_cancelled_call_of_a_limiter_uses_nothing_up(self):
        limiter = self.client.rate_limiter(self.id(), 20, 20)
        for _ in range(20):
            task = asyncio.ensure_future(limiter.acquire())
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait((task,))
        await self.await_value("calls", lambda: aio._threads._calls, 0)
        self.assertTrue(await limiter.try_acquire())  # some may have been over by then

    async def test_calls_of_a_limiter_are_allowed_in_their_order(self):
        limiter = self.client.rate_limiter(self.id(), 4, 1)
        allowed = []

        async def call(number, cost):
            await limiter.acquire(wait=LONGEST_S, cost=cost)
            allowed.append(number)
        await asyncio.gather(*(limiter.acquire() for _ in range(4)))
        first = asyncio.ensure_future(call(0, 1))
        await self.await_value("calls that rest", lambda: limiter._free_at > 0, True)
        waiting = [asyncio.ensure_future(call(n, 4 if n == 3 else 1)) for n in range(1, 8)]
        await asyncio.sleep(0)
        with self.assertRaises(redlock.Contended) as caught:
            await limiter.acquire()
        self.assertGreater(caught.exception.retry_after, 0)
        self.assertFalse(await limiter.try_acquire())
        waiting.pop(4).cancel()
        await asyncio.gather(first, *waiting)
        self.assertEqual(allowed, [0, 1, 2, 3, 4, 6, 7])

    async def test_a_call_without_a_thread_is_not_made_later(self):
        threads, made = aio._Threads(), []
        with unittest.mock.patch("threading.Thread.start", side_effect=RuntimeError):
            self.assertRaises(RuntimeError, threads.start, lambda: made.append("first"))
        threads.start(lambda: made.append("second"))
        await self.await_value("calls", lambda: made, ["second"])

    async def test_loops_of_several_threads(self):
        async def begin():
            return aio._calls_here()

        def run(failed):
            try:
                for _ in range(100):
                    asyncio.run(begin())
            except RuntimeError as error:
                failed.append(error)
        failed, interval = [], sys.getswitchinterval()
        sys.setswitchinterval(1e-5)
        try:
            threads = [threading.Thread(target=run, args=(failed,)) for _ in range(16)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            sys.setswitchinterval(interval)
        self.assertEqual(failed, [])

    async def test_a_loss_is_awaited(self):
        lease = await self.client.lock(self.id(), ttl=0.3, renew=False).acquire()
        self.assertEqual(await asyncio.gather(lease.lost.wait(), lease.lost), [True, True])
        self.assertTrue(lease.lost.is_set())
        self.assertTrue(await lease.lost)  # also later
        with self.assertRaises(redlock.LeaseLost):
            await lease.release()

    async def test_a_dropped_lease_is_released_after_a_wait_for_its_loss(self):
        lease = await self.client.lock(self.id(), ttl=30).acquire()
        for _ in range(2):
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(lease.lost.wait(), 0.01)
        one, two = (asyncio.ensure_future(lease.lost.wait()) for _ in range(2))
        await asyncio.sleep(0)
        one.cancel()
        await asyncio.wait((one,))
        self.assertFalse(two.done())  # the other waits on
        two.cancel()
        await asyncio.wait((two,))
        del lease, one, two
        gc.collect()
        await asyncio.wait_for(self.becomes("held", False), 20)

    async def test_a_task_that_waits_for_a_loss_is_kept_by_the_loop(self):
        seen = []

        async def hold():
            lease = await self.client.lock(self.id(), ttl=0.5, renew=False).acquire()
            seen.append("holds")
            seen.append(await lease.lost)

        asyncio.ensure_future(hold())  # which nothing else refers to
        while not seen:
            await asyncio.sleep(0.001)
        await asyncio.sleep(0)
        gc.collect()
        await asyncio.sleep(1)
        self.assertEqual(seen, ["holds", True])

    async def test_a_wait_for_a_loss_during_the_release_ends(self):
        lease = await self.client.lock(self.id()).acquire()
        release, went = lease._sync.release, threading.Event()

        def slow():
            went.wait(60)
            release()

        with unittest.mock.patch.object(type(lease._sync), "release", lambda _: slow()):
            releases = asyncio.ensure_future(lease.release())
            await asyncio.sleep(0)
            self.assertFalse(await asyncio.wait_for(lease.lost.wait(), 20))
            went.set()
            await releases

    async def test_a_decorator_is_for_coroutine_functions(self):
        def plain():
            pass

        async def generator():
            yield

        for wrong, instead in ((plain, "redlock_quorum.Client"), (generator, "`async with`"), (5, "")):
            with self.assertRaisesRegex(redlock.WrongType, f"^function must be .*{instead}"):
                self.client.lock("r")(wrong)

    async def test_a_loss_while_the_loop_is_blocked_is_seen_at_once(self):
        with self.assertRaises(redlock.LeaseLost):
            async with self.client.lock(self.id(), ttl=0.2, renew=False) as lease:
                watch = asyncio.ensure_future(lease.lost.wait())
                await asyncio.sleep(0)
                await_value(self, "validity", lambda: lease.valid, False)  # which the loop stands still for
                self.assertTrue(lease.lost.is_set())
                self.assertTrue(await watch)

    async def test_a_blocked_loop_loses_no_lease(self):
        async with self.client.lock(self.id(), ttl=0.4) as lease:
            time.sleep(1.5)  # the client renews it in its own thread
            self.assertTrue(lease.valid)

    async def test_a_lock_knows_its_task(self):
        lock = self.client.lock(self.id())
        async with lock:
            with self.assertRaises(redlock.WouldDeadlock):
                await lock.__aenter__()
        slots = self.client.semaphore(self.id(), 2)
        async with slots as a, slots as b:
            self.assertEqual({a.slot, b.slot}, {0, 1})
            self.assertTrue(await slots.locked())

    async def test_a_call_of_a_limiter_rides_out_an_outage(self):
        configuration = json.loads(pathlib.Path(os.environ["REDLOCK_CONFIG"]).read_text(encoding="utf-8"))
        async with aio.Client({**configuration, "node_timeout_ms": 100}) as hasty:
            limiter = hasty.rate_limiter(self.id(), 1, 20)
            await hasty.rate_limiter(self.id() + "before", 1, 20).acquire(wait=LONGEST_S)  # the nodes vote
            for node in configuration["nodes"][:2]:
                host, _, port = node.rpartition("/")[2].rpartition(":")
                with socket.create_connection((host, int(port))) as server:
                    server.sendall(b"CLIENT PAUSE 1500 ALL\r\n")
                    self.assertEqual(server.recv(64), b"+OK\r\n")
            await limiter.acquire(wait=LONGEST_S)

    async def test_a_leader_that_cannot_wait_for_its_loss_says_so(self):
        election = self.client.election(self.id())
        with unittest.mock.patch.object(library, "lease_lost_fd", lambda _: -1):
            with self.assertRaises(redlock.SystemRefused):
                await election.lead(lambda _: asyncio.sleep(LONGEST_S))

    async def test_the_other_kinds(self):
        async with self.client.reader(self.id()) as one, self.client.reader(self.id()) as two:
            self.assertTrue(one.valid and two.valid)
            self.assertIsNone(await self.client.writer(self.id()).try_acquire())
        limiter = self.client.rate_limiter(self.id() + "limit", 1, 20)
        await limiter.acquire()
        self.assertFalse(await limiter.try_acquire())
        dear = self.client.rate_limiter(self.id() + "dear", 5, 20)
        await dear.acquire(cost=3)
        self.assertFalse(await dear.try_acquire(3))
        self.assertTrue(await dear.try_acquire(cost=2))
        await dear.set_limit(6)
        self.assertTrue(await dear.try_acquire())
        waits = asyncio.ensure_future(limiter.acquire(wait=15))
        await asyncio.sleep(0.01)
        waits.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await waits
        election = self.client.election(self.id() + "election")
        await election.campaign()
        self.assertEqual((await election.leader()).fence, election.fence)
        await election.resign()
        lease = await self.client.lock(self.id() + "token", ttl=20).acquire()
        token = lease.token
        lease.detach()
        await (await self.client.adopt(token)).release()
        self.assertTrue(all(node["votes"] for node in await self.client.probe()))
        self.assertIn("redlock_", self.client.open_metrics())


if __name__ == "__main__":
    unittest.main(verbosity=2)
