# The Python package on real servers: each kind of lock, errors, losses.
# SPDX-License-Identifier: MIT
"""usage: REDLOCK_CONFIG=FILE REDLOCK_LIBRARY=FILE PYTHONPATH=DIR locks.py [TEST...]"""
import copy
import functools
import gc
import itertools
import json
import math
import os
import pathlib
import pickle
import signal
import sys
import threading
import time
import unittest
import unittest.mock
from datetime import timedelta

import redlock_quorum as redlock
from redlock_quorum import _client, _interrupts, _locks, _times, aio
from redlock_quorum._native import library

LONGEST_S = 60  # ends what hangs; judges no speed


def await_value(test, what, look, wanted):
    """Looks until it sees what is wanted; fails with what it saw last."""
    end = time.monotonic() + LONGEST_S
    while (seen := look()) != wanted:
        if time.monotonic() > end:
            test.fail(f"{what}: {seen!r} after {LONGEST_S} s, where {wanted!r} was awaited")
        time.sleep(0.001)


class TwoClients(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.client = redlock.Client.from_environment()
        cls.other = redlock.Client.from_file(os.environ["REDLOCK_CONFIG"])

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.other.close()


class Locks(TwoClients):
    def test_a_handle_that_is_let_go_of_releases(self):
        lease = self.client.lock(self.id(), ttl=30).acquire()
        handle = lease._taken()  # and a handler of a signal raises before the call
        self.assertTrue(handle)
        del handle
        await_value(self, "held", lambda: self.client.inspect(self.id())["held"], False)

    def test_an_adoption_that_is_interrupted_releases_nothing(self):
        lease = self.client.lock(self.id(), ttl=30).acquire()
        other = self.client._adopt(lease.token, 30, True, None)
        self.assertTrue(other.valid)
        del other  # a handler of a signal raised before the caller had it
        await_value(self, "leases", lambda: self.client.stats()["leases"], 1)
        self.assertTrue(lease.valid)
        lease.release()

    def test_the_error_of_an_interrupted_acquire_keeps_no_lease(self):
        with unittest.mock.patch.object(_client, "check", side_effect=KeyboardInterrupt):
            try:
                self.client.lock(self.id(), ttl=30).acquire()
            except KeyboardInterrupt as error:
                kept = error
        await_value(self, "held", lambda: self.client.inspect(self.id())["held"], False)
        self.assertIsNotNone(kept.__traceback__)

    def test_what_is_detached_beside_an_extension_ends_after_it(self):
        lease = self.client.lock(self.id(), ttl=30).acquire()
        detaches = threading.Thread(target=lease.detach)
        with lease._long:  # as this thread extends it
            detaches.start()
            detaches.join()
            self.assertEqual(self.client.stats()["leases"], 1)
        self.assertRaises(redlock.NotHeld, lease.extend, 30)
        await_value(self, "leases", lambda: self.client.stats()["leases"], 0)
        self.assertTrue(self.client.inspect(self.id())["held"])

    def test_a_call_that_begins_late_has_its_cancel(self):
        order, begun = [], []

        class Seen(_interrupts.Cancel):
            def __del__(self):
                order.append("freed")
                super().__del__()

        def interrupted(thread):
            begun.append(thread)
            raise KeyboardInterrupt
        with unittest.mock.patch.object(_interrupts, "Cancel", Seen):
            with unittest.mock.patch.object(threading.Thread, "start", interrupted):
                self.assertRaises(KeyboardInterrupt, _interrupts.beside, lambda cancel: order.append("used"))
            begun.pop().run()
            gc.collect()
        self.assertEqual(order, ["used", "freed"])

    def is_held(self, resource=None):
        return self.client.inspect(resource or self.id())["held"]

    def test_a_section_holds_the_lock(self):
        with self.client.lock(self.id(), ttl=10, note="here") as first:
            self.assertTrue(first and first.valid)
            self.assertEqual(self.client.inspect(self.id())["note"], "here")
            self.assertGreater(first.remaining, 5)
            self.assertIn(self.id(), repr(first))
        self.assertFalse(first.valid)
        self.assertEqual(first.remaining, 0)
        self.assertFalse(self.is_held())
        with self.other.lock(self.id()) as second:
            self.assertGreater(second.fence, first.fence)

    def test_contention_names_the_nodes(self):
        with self.client.lock(self.id()):
            with self.assertRaises(redlock.Contended) as caught:
                self.other.lock(self.id(), wait=0).acquire()
            self.assertIsNone(self.other.lock(self.id()).try_acquire())
            with self.assertRaises(redlock.Error):
                self.other.lock(self.id(), wait=timedelta(milliseconds=20)).acquire()
        votes = caught.exception.votes
        self.assertEqual(len(votes), 3)
        self.assertGreaterEqual([vote.answer for vote in votes].count("held"), 2)
        self.assertTrue(all(vote.node in str(caught.exception) for vote in votes))

    def test_durations_have_bounds(self):
        for wrong in (0, -1, math.nan, math.inf, timedelta(0)):
            with self.assertRaises(redlock.InvalidArgument):
                self.client.lock("r", ttl=wrong)
        with self.assertRaises(ValueError):
            self.client.lock("r", wait=-1)
        with self.assertRaises(redlock.InvalidArgument) as caught:
            self.client.lock("r", ttl=61).acquire()
        self.assertIn("ttl must be 0.001 to ttl_max, which is 60 seconds", str(caught.exception))
        with self.client.lock(self.id(), ttl=timedelta(seconds=20), wait=math.inf) as lease:
            self.assertGreater(lease.remaining, 15)

    def test_arguments_are_refused_by_name(self):
        for wrong in (lambda: self.client.lock("nul\0").acquire(),
                      lambda: self.client.lock("r" * 513).acquire(),
                      lambda: self.client.semaphore("r", 0),
                      lambda: self.client.semaphore("r", 1 << 16),
                      lambda: self.client.semaphore("r", 1001).acquire(),
                      lambda: self.client.lock("r", note="\n").acquire(),
                      lambda: self.client.rate_limiter("r", 0, 1),
                      lambda: self.client.adopt("nonsense")):
            self.assertRaises(redlock.InvalidArgument, wrong)
        with self.assertRaises(TypeError):
            self.client.lock("r", tll=1)

    def test_several_at_once(self):
        with self.client.lock(self.id() + "a", self.id() + "b") as lease:
            self.assertTrue(self.is_held(self.id() + "b"))
            self.assertEqual(len(lease.resources), 2)
            self.assertEqual(sorted(self.client.list(self.id())),
                             [self.id() + "a", self.id() + "b"])
        self.assertFalse(self.is_held(self.id() + "b"))
        both = self.client.lock(self.id() + "a", self.id() + "b")
        self.assertFalse(both.locked())
        with self.other.lock(self.id() + "b"):
            self.assertTrue(both.locked())

    def test_a_lock_knows_its_thread(self):
        lock = self.client.lock(self.id(), wait=LONGEST_S)
        with lock:
            with self.assertRaises(redlock.WouldDeadlock):
                lock.__enter__()
        total = []

        def work():
            for _ in range(20):
                with lock:
                    total.append(len(total))

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(total, list(range(160)))

    def test_an_rlock_nests(self):
        lock = self.client.rlock(self.id())
        with lock as outer:
            with lock as inner:
                self.assertIs(outer, inner)
            self.assertTrue(self.is_held())
            refused = []
            thread = threading.Thread(target=lambda: refused.append(self.catch(lock.acquire)))
            thread.start()
            thread.join()
            self.assertIsInstance(refused[0], redlock.Contended)
        self.assertFalse(self.is_held())
        self.assertRaises(redlock.NotHeld, lock.release)

    def catch(self, call):
        try:
            return call()
        except redlock.Error as error:
            return error

    def test_each_level_of_an_rlock_ends_once(self):
        lock = self.client.rlock(self.id())
        for _ in range(2):
            with lock.acquire() as outer:
                with lock.acquire():
                    pass
                self.assertTrue(outer.valid)
                with lock:
                    lock.acquire()
                    outer.release()
                    lock.acquire()
                    lock.release()
                    self.assertTrue(outer.valid)
                self.assertTrue(self.is_held())
            self.assertFalse(self.is_held())
        with lock as lease:
            lease.release()  # of a section alone
            self.assertFalse(self.is_held())
            with self.assertRaisesRegex(redlock.LeaseLost, "released in an outer section"):
                lock.acquire()
        lease = lock.acquire()
        lease.release()
        with self.assertRaises(redlock.NotHeld):
            lease.release()
        self.assertRaises(redlock.NotHeld, lock.release)
        lock.acquire()
        lock._held[threading.current_thread()][0].release()
        lock.acquire()
        del lock  # which alone had its lease
        gc.collect()
        await_value(self, "held", self.is_held, False)

    def test_the_last_release_of_an_rlock_raises_what_that_of_its_lease_does(self):
        lock = self.client.rlock(self.id(), ttl=0.2, renew=False)
        lock.acquire().lost.wait()
        self.assertRaises(redlock.LeaseLost, lock.release)
        self.assertRaises(redlock.NotHeld, lock.release)

    def test_a_handler_may_call_what_it_interrupted(self):
        def ring(handler, seconds):
            signal.signal(signal.SIGALRM, handler)
            signal.setitimer(signal.ITIMER_REAL, seconds)

        def is_stuck(*_):
            raise TimeoutError("the call waits for what it interrupted")

        def during(call, what):
            """Until the handler has called `what` during a call, which it may end."""
            said = []

            def handler(*_):
                ring(is_stuck, LONGEST_S)
                said.append(self.catch(what))
            ring(handler, 0.02)
            while not said:
                self.catch(call)
            ring(signal.SIG_IGN, 0)
            return said[0]

        self.addCleanup(signal.signal, signal.SIGALRM, signal.getsignal(signal.SIGALRM))
        lock = self.client.lock(self.id())
        for _ in range(10):
            lease = lock.acquire()
            self.assertIsNone(during(lambda: lease.extend(5), lease.release))
            self.assertFalse(self.is_held())
            lease = lock.acquire()
            self.assertTrue(during(lambda: lease.valid, lambda: lease.valid))
            self.assertFalse(during(lease.lost.is_set, lease.lost.is_set))
            self.assertTrue(during(lock.owned, lock.owned))
            self.assertIsNone(during(lock.owned, lock.release))
            self.assertFalse(self.is_held())

    def test_an_rlock_that_was_lost_is_entered_no_deeper(self):
        lock = self.client.rlock(self.id(), ttl=0.2, renew=False, wait=LONGEST_S)
        with self.assertRaises(KeyError):  # the program's own
            with lock as lease:
                lease.lost.wait()
                self.assertRaises(redlock.LeaseLost, lock.acquire)
                self.assertFalse(lock.owned())
                # Another thread has the lock meanwhile.
                thread = threading.Thread(target=lock.acquire)
                thread.start()
                thread.join()
                with self.assertRaises(redlock.LeaseLost):
                    lock.__enter__()
                raise KeyError
        with lock:
            pass

    def test_a_section_is_left_on_another_thread(self):
        for lock in (self.client.lock(self.id()), self.client.rlock(self.id())):
            thread = threading.Thread(target=lock.__enter__)
            thread.start()
            thread.join()
            self.assertTrue(self.is_held())
            lock.__exit__(None, None, None)
            self.assertFalse(self.is_held())
            self.assertRaises(redlock.NotHeld, lock.__exit__, None, None, None)
            lock.__exit__(KeyError, None, None)  # an exception that is on its way stays

    def test_a_lock_is_released_by_itself(self):
        lock = self.client.lock(self.id())
        other = self.other.lock(self.id())
        self.assertTrue(lock.acquire(blocking=False))
        self.assertTrue(lock.locked() and lock.owned())
        self.assertTrue(other.locked())
        self.assertFalse(other.owned())
        self.assertIsNone(other.acquire(blocking=False))
        with self.assertRaises(redlock.Contended):
            other.acquire(timeout=0.02)
        with self.assertRaises(redlock.InvalidArgument):
            other.acquire(blocking=False, timeout=1)
        self.assertRaises(redlock.NotHeld, other.release)
        lock.release()
        self.assertFalse(lock.locked() or lock.owned())
        self.assertRaises(redlock.NotHeld, lock.release)
        self.assertTrue(other.acquire(True, LONGEST_S))
        other.release()
        for _ in range(40):  # what ended by itself is kept no longer
            lock.acquire().release()
        self.assertLess(len(lock._held._held), 20)

    def test_a_decorated_function_is_a_section(self):
        @self.client.lock(self.id())
        def work(one, *, two):
            """Its own text."""
            return self.is_held(), one + two

        self.assertEqual(work(1, two=2), (True, 3))
        self.assertEqual(work.__doc__, "Its own text.")
        self.assertFalse(self.is_held())

    def test_a_decorator_refuses_what_runs_after_its_call(self):
        async def task():
            pass

        def generator():
            yield

        async def both():
            yield

        class Called:
            async def __call__(self):
                pass

        for lock in (self.client.lock("r"), self.client.rlock("r")):
            for wrong, instead in ((task, "aio.Client"), (functools.partial(task), "aio.Client"),
                                   (Called(), "aio.Client"), (generator, "`with` in it"),
                                   (both, "`async with` in it")):
                with self.assertRaisesRegex(redlock.WrongType, f"^function must be .*{instead}"):
                    lock(wrong)

    def raising_at(self, line, call):
        """The call, in which an exception comes at so manieth line of an acquire, as a handler's may."""
        def trace(frame, event, _):
            nonlocal line
            code = frame.f_code
            if code.co_filename != _locks.__file__ or code.co_name not in ("__enter__", "acquire", "_begin"):
                return None
            line -= event == "line"
            if line < 0:
                raise KeyError
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            call()
        finally:
            sys.settrace(before)

    def test_an_exception_of_a_handler_leaves_nothing_open(self):
        for kind in (self.client.lock, self.client.rlock):
            lock = kind(self.id(), wait=LONGEST_S)
            for begin, end in ((lock.__enter__, lambda lock=lock: lock.__exit__(None, None, None)),
                               (lock.acquire, lock.release)):
                for line in itertools.count():
                    try:
                        self.raising_at(line, begin)
                        break
                    except KeyError:
                        with lock:  # which is free while the exception is handled
                            pass
                        self.assertFalse(lock.owned())
                self.assertGreater(line, 5)
                end()
                self.assertFalse(lock.owned())

    def test_an_exception_of_a_handler_leaves_an_rlock_its_levels(self):
        lock = self.client.rlock(self.id())
        for line in itertools.count():
            with lock:
                try:
                    self.raising_at(line, lock.acquire)
                    break
                except KeyError:
                    self.assertTrue(lock.owned())
            self.assertFalse(lock.owned())
        self.assertGreater(line, 5)
        self.assertTrue(lock.owned())
        lock.release()

    def test_what_stands_for_one_object_has_no_copy(self):
        lease = self.client.lock(self.id()).acquire()
        for one in (self.client, lease, self.client.rate_limiter(self.id(), 1, 1),
                    self.client.lock("r"), self.client.rlock("r"), self.client.election("r")):
            for way in (copy.copy, copy.deepcopy, pickle.dumps):
                with self.assertRaisesRegex(TypeError, "one of its kind"):
                    way(one)
        lease.release()
        refused = self.catch(self.client.lock("r", ttl=61).acquire)
        self.assertEqual(str(pickle.loads(pickle.dumps(refused))), str(refused))

    def test_what_was_never_made_ends_without_a_word(self):
        said = []
        before, sys.unraisablehook = sys.unraisablehook, said.append
        try:
            for wrong in (redlock.Lease, redlock.Client,
                          lambda: redlock.RateLimiter(self.client, "r", -1, 1)):
                with self.assertRaises((TypeError, redlock.InvalidArgument)):
                    wrong()
            for kind in (redlock.Lease, redlock.Client, redlock.RateLimiter):
                kind.__new__(kind)
            gc.collect()
        finally:
            sys.unraisablehook = before
        self.assertEqual(said, [])

    def test_wrong_types_are_named(self):
        for name, wrong in (("resource", lambda: self.client.lock(5)),
                            ("resource", lambda: self.client.lock("r", None)),
                            ("resource", lambda: self.client.rate_limiter(None, 1, 1)),
                            ("resource", lambda: self.client.inspect(5)),
                            ("prefix", lambda: self.client.list(5)),
                            ("token", lambda: self.client.adopt(None)),
                            ("ttl", lambda: self.client.lock("r", ttl="10")),
                            ("wait", lambda: self.client.lock("r", wait="10")),
                            ("watchdog", lambda: self.client.lock("r", watchdog=True)),
                            ("note", lambda: self.client.lock("r", note=5)),
                            ("slots", lambda: self.client.semaphore("r", "2")),
                            ("limit", lambda: self.client.rate_limiter("r", 1.5, 1)),
                            ("configuration", lambda: redlock.Client(5)),
                            ("path", lambda: redlock.Client.from_file(5))):
            with self.assertRaisesRegex(redlock.WrongType, f"^{name} must be"):
                wrong()
        self.assertTrue(issubclass(redlock.WrongType, TypeError))
        with self.assertRaisesRegex(redlock.InvalidArgument, "^resource must be text"):
            self.client.lock("\ud800")

    def test_durations_are_rounded_up(self):
        for seconds, ms in ((0.0001, 1), (1.1, 1100), (0.0011, 2), (4.35, 4350),
                            (timedelta(microseconds=1), 1)):
            self.assertEqual(_times.milliseconds("ttl", seconds), ms)
            self.assertEqual(_times.waiting(seconds), ms)

    def test_errors_are_in_seconds(self):
        for how in ({"min_hold": 60}, {"ttl": 61}, {"max_hold": 0.001}):
            said = str(self.catch(self.client.lock(self.id(), **how).acquire))
            self.assertNotIn("_ms", said)
            self.assertNotRegex(said, r"\d{4,}|\d ms")
        said = str(self.catch(lambda: self.client.rate_limiter("r", 1, 3600)))
        self.assertIn("3600 s", said)

    def test_public_functions_say_what_they_do(self):
        for module in (redlock, aio):
            for name in module.__all__:
                kind = getattr(module, name)
                self.assertTrue(kind.__doc__, name)
                for member, what in vars(kind).items():
                    if not member.startswith("_") and (callable(what) or isinstance(
                            what, (property, classmethod, staticmethod))):
                        self.assertTrue(getattr(kind, member).__doc__ if not isinstance(what, property)
                                        else what.__doc__, f"{name}.{member}")

    def test_a_wait_for_a_loss_may_have_no_limit(self):
        lease = self.client.lock(self.id(), ttl=0.2, renew=False).acquire()
        self.assertTrue(lease.lost.wait(math.inf))

    def test_a_semaphore_has_slots(self):
        semaphore = self.client.semaphore(self.id(), 2)
        with semaphore as a, semaphore as b:
            self.assertEqual({a.slot, b.slot}, {0, 1})
            self.assertRaises(redlock.Contended, semaphore.acquire)
        with semaphore:
            self.assertTrue(semaphore.locked())
            self.assertFalse(self.client.lock(self.id()).locked())  # another lock, as nested ones are
        await_value(self, "locked", semaphore.locked, False)
        with self.client.lock(self.id()):
            self.assertFalse(semaphore.locked())

    def test_a_semaphore_gives_several_permits_at_once(self):
        two = self.client.semaphore(self.id(), 3, permits=2)
        with two as lease:
            self.assertIn(lease.slot, (0, 1))  # the lower one of two neighbours, which it draws
            self.assertRaises(redlock.Contended, two.acquire)
            with self.client.semaphore(self.id(), 3):
                pass
        for wrong in (0, 4):
            with self.assertRaisesRegex(redlock.InvalidArgument, "permits must be 1 to 3"):
                self.client.semaphore(self.id(), 3, permits=wrong)

    def test_readers_share_and_a_writer_does_not(self):
        with self.client.reader(self.id()), self.other.reader(self.id()):
            self.assertIsNone(self.other.writer(self.id()).try_acquire())
        with self.other.writer(self.id()):
            self.assertIsNone(self.client.reader(self.id()).try_acquire())

    def test_a_limit_is_per_period(self):
        limiter = self.client.rate_limiter(self.id(), 2, 20)
        self.assertTrue(limiter.try_acquire())
        limiter.acquire(wait=1)
        self.assertFalse(limiter.try_acquire())
        with self.assertRaises(redlock.Contended) as caught:
            limiter.acquire()
        self.assertGreater(caught.exception.retry_after, 0)
        self.assertLess(caught.exception.retry_after, 22)

    def test_a_call_of_a_limit_may_cost_several(self):
        dear = self.client.rate_limiter(self.id(), 5, 20)
        dear.acquire(cost=3)
        self.assertFalse(dear.try_acquire(cost=3))
        self.assertTrue(dear.try_acquire(2))
        for cost in (0, 6, 1001, 1.5):
            with self.assertRaises((redlock.InvalidArgument, redlock.WrongType)):
                dear.try_acquire(cost)

    def test_a_limit_is_set_for_all_programs(self):
        mine = self.client.rate_limiter(self.id(), 1, 20)
        theirs = self.other.rate_limiter(self.id(), 1, 20)
        mine.set_limit(3)
        self.assertEqual([theirs.try_acquire() for _ in range(4)], [True, True, True, False])
        self.assertRaises(redlock.InvalidArgument, mine.set_limit, 1001)

    def test_retry_after_is_no_whole_number_of_seconds(self):
        limiter = self.client.rate_limiter(self.id(), 1, 0.9)
        # The machine may stand still for a period: then the next one is allowed.
        for _ in range(20):
            if refused := self.catch(limiter.acquire):
                break
        self.assertIsInstance(refused, redlock.Contended, "of 20 calls, where one per 0.9 s is allowed")
        self.assertGreater(refused.retry_after, 0)
        self.assertLess(refused.retry_after, 1)

    def test_one_leads(self):
        mine = self.client.election(self.id(), note="in office")
        theirs = self.other.election(self.id(), wait=0)
        self.assertIsNone(theirs.leader())
        self.assertRaises(redlock.NotHeld, mine.resign)
        mine.campaign()
        self.assertRaises(redlock.WouldDeadlock, mine.campaign)
        self.assertRaises(redlock.Contended, theirs.campaign)
        leader = theirs.leader()
        self.assertEqual(next(theirs.observe()).fence, leader.fence)
        self.assertEqual((leader.fence, leader.note), (mine.fence, "in office"))
        self.assertTrue(mine.held and not mine.lost.is_set())
        self.assertTrue(leader.name.endswith(f":{os.getpid()}"))
        mine.resign()
        with theirs as term:
            self.assertEqual(term.fence, theirs.fence)
        self.assertFalse(theirs.held)

    def test_a_campaign_waits_for_the_leader(self):
        mine, theirs = self.client.election(self.id()), self.other.election(self.id())
        mine.campaign()
        said = []
        thread = threading.Thread(target=lambda: said.append(self.catch(theirs.campaign)))
        thread.start()
        await_value(self, "campaigns that wait",
                    lambda: said or self.client.inspect(self.id())["waiting"], 1)
        self.assertEqual(said, [])
        mine.resign()
        thread.join()
        self.assertTrue(theirs.held)
        theirs.resign()

    def test_each_section_of_an_election_ends_its_own_term(self):
        election = self.client.election(self.id(), ttl=2, renew=False)
        with self.assertRaises(redlock.LeaseLost):
            with election as first:
                self.assertRaises(redlock.WouldDeadlock, election.campaign)
                first.lost.wait()
                second = []
                thread = threading.Thread(target=lambda: second.append(election.__enter__()))
                thread.start()
                thread.join()
        self.assertTrue(second[0].fence > first.fence and election.fence == second[0].fence)
        self.assertTrue(second[0].valid)
        election.__exit__(KeyError, None, None)
        self.assertFalse(second[0].valid or election.held or self.is_held())

    def test_one_campaign_of_an_election_at_a_time(self):
        election = self.client.election(self.id())
        said = []
        with self.other.lock(self.id()):
            thread = threading.Thread(target=lambda: said.append(election.campaign()))
            thread.start()
            await_value(self, "waiting", lambda: self.client.inspect(self.id())["waiting"], 1)
            self.assertRaises(redlock.WouldDeadlock, election.campaign)
        thread.join()
        self.assertRaises(redlock.WouldDeadlock, election.campaign)
        self.assertTrue(said[0].valid)
        election.resign()
        election.campaign()
        election.resign()

    def test_a_lost_term_does_not_keep_its_election_out(self):
        election = self.client.election(self.id(), ttl=30, max_hold=0.3)
        election.campaign().lost.wait()
        began = time.monotonic()
        second = election.campaign()
        self.assertLess(time.monotonic() - began, 20)  # not the ttl
        self.assertTrue(second.valid)
        election.resign()

    def test_a_loss_is_an_event_and_an_error(self):
        with self.assertRaises(redlock.LeaseLost) as caught:
            with self.client.lock(self.id(), ttl=0.3, renew=False) as lease:
                self.assertFalse(lease.lost.wait(0))
                self.assertTrue(lease.lost.wait())
                self.assertTrue(lease.lost.is_set())
                self.assertFalse(lease)
        self.assertIn("expired", str(caught.exception))
        self.assertTrue(lease.lost.is_set())

    def test_a_loss_is_told_so_long_before_the_end(self):
        lease = self.client.lock(self.id(), ttl=20, margin=19, renew=False).acquire()
        self.assertTrue(lease.lost.wait(10))  # that of the usual margin comes later

    def test_an_exception_of_the_section_passes(self):
        with self.assertRaises(KeyError):
            with self.client.lock(self.id(), ttl=0.2, renew=False) as lease:
                lease.lost.wait()
                raise KeyError
        with self.assertRaises(KeyError):
            with self.client.lock(self.id()):
                raise KeyError
        self.assertFalse(self.is_held())

    def test_a_release_ends_the_wait_for_a_loss(self):
        lease = self.client.lock(self.id()).acquire()
        said = []
        thread = threading.Thread(target=lambda: said.append(lease.lost.wait()))
        thread.start()
        await_value(self, "tasks that wait for the loss", lambda: lease._waiters, 1)
        lease.release()
        thread.join()
        self.assertEqual(said, [False])
        self.assertRaises(redlock.NotHeld, lease.release)
        self.assertFalse(lease.lost.is_set())

    def test_a_detach_ends_the_wait_for_a_loss(self):
        lease = self.client.lock(self.id(), ttl=2).acquire()
        said = []
        threading.Thread(target=lambda: said.append(lease.lost.wait()), daemon=True).start()
        await_value(self, "threads that wait for the loss", lambda: lease._waiters, 1)
        lease.detach()
        await_value(self, "what the wait returned", lambda: said, [False])

    def test_a_token_moves_a_lease(self):
        lease = self.client.lock(self.id(), ttl=20).acquire()
        token = lease.token
        lease.detach()
        self.assertEqual(lease.token, "")
        adopted = self.other.adopt(token, renew=False)
        adopted.extend(30)
        self.assertGreater(adopted.remaining, 20)
        adopted.release()
        self.assertRaises(redlock.NotHeld, self.other.adopt, token)

    def test_a_lost_lease_has_no_token(self):
        lease = self.client.lock(self.id(), ttl=0.2, renew=False).acquire()
        self.assertNotEqual(lease.token, "")
        self.assertTrue(lease.lost.wait(LONGEST_S))
        self.assertEqual(lease.token, "")

    def test_without_descriptors_a_wait_for_a_loss_says_so(self):
        lease = self.client.lock(self.id(), ttl=20).acquire()
        with unittest.mock.patch.object(library, "lease_lost_fd", lambda _: -1):
            for ask in (lease.lost.wait, lease.lost.fileno):
                self.assertRaises(redlock.SystemRefused, ask)
        lease.release()

    def test_a_dropped_lease_is_released(self):
        self.client.lock(self.id()).acquire()
        gc.collect()
        await_value(self, "held", self.is_held, False)

    def test_a_watchdog_needs_signs_of_life(self):
        lease = self.client.lock(self.id(), watchdog=0.3).acquire()
        lease.touch()
        self.assertTrue(lease.lost.wait())
        with self.assertRaises(redlock.LeaseLost) as caught:
            lease.release()
        self.assertIn("stalled", str(caught.exception))

    def test_a_configuration_is_wrong_for_all_reasons(self):
        with self.assertRaises(redlock.ConfigError) as caught:
            redlock.Client({"nodes": ["127.0.0.1"], "ttl_max": 1, "drift_min_ms": -1})
        self.assertEqual({issue.where for issue in caught.exception.issues
                          if issue.severity == "error"}, {"/ttl_max", "/drift_min_ms"})
        self.assertRaises(redlock.SystemRefused, redlock.Client.from_file, "/no/such/file")
        text = pathlib.Path(os.environ["REDLOCK_CONFIG"]).read_text(encoding="utf-8")
        with redlock.Client(text) as client, client.lock(self.id()):
            pass
        for named in (os.environ["REDLOCK_CONFIG"], pathlib.Path(os.environ["REDLOCK_CONFIG"])):
            with redlock.Client(named) as client:
                pass
        self.assertRaises(redlock.ClientClosed, client.lock(self.id()).acquire)

    def test_nodes_and_counters_are_shown(self):
        with self.client.lock(self.id()):
            self.assertTrue(all(node["votes"] for node in self.client.probe()))
        self.assertGreater(self.client.stats()["granted"], 0)
        self.assertIn("redlock_", self.client.open_metrics())
        json.dumps(self.client.stats())


if __name__ == "__main__":
    unittest.main(verbosity=2)
