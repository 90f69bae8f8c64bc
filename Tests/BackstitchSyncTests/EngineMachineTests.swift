import BackstitchCore
import BackstitchStore
import Foundation
import TestBudget
import Testing

@testable import BackstitchSync

/// What the engine decides, by value: no store, no service, no task.
@Suite(.budgeted) struct EngineMachineTests {
    @Test func `a round checks, takes the lease, and exchanges`() {
        var bench = EngineBench()
        #expect(bench.machine.status == .idle)
        #expect(bench.hand(.sync(1)) == [.perform(1, .checkConfiguration)])
        #expect(bench.reply(.done) == [.perform(1, .takeLease)])
        #expect(
            bench.reply(.lease(nil)) == [.tell(.started(.manual)), .perform(1, .settleZone)])
        #expect(bench.reply(.done) == [.perform(1, .finishReset)])
        #expect(bench.reply(.done) == [.perform(1, .prepare)])
        #expect(
            bench.reply(.zone(isSetUp: true))
                == [.perform(1, .exchange(0, .setUp))])
        #expect(bench.machine.status == .idle)
        bench.reply(.exchanged(.done))
        #expect(bench.machine.status == .pulling)
        bench.go { $0.isPush }
        #expect(bench.machine.status == .pushing)
        #expect(bench.go() == [.tell(.finished), .answer([1], .report)])
        #expect(bench.machine.status == .idle)
    }

    @Test func `the account is looked at once, and again when there is news of it`() {
        var bench = EngineBench()
        func setsUp() -> Bool {
            bench.hand(.sync(1))
            bench.go { $0 == .prepare }
            bench.reply(.zone())
            defer { bench.go() }
            return bench.machine.round?.step == .exchange(0, .setUp)
        }
        #expect(setsUp())
        #expect(!setsUp())
        bench.hand(.accountChanged)
        #expect(setsUp())
        #expect(!setsUp())
    }

    @Test func `news of the account that come while it is looked at count`() {
        var bench = EngineBench()
        bench.hand(.sync(1))
        bench.go { $0 == .exchange(0, .setUp) }
        bench.hand(.accountChanged)
        bench.go()
        #expect(bench.machine.account == .unchecked)
        #expect(bench.machine.timerMilliseconds == bench.now)
    }

    @Test func `a started engine goes on when a round left something to be done later`() {
        var bench = EngineBench()
        bench.hand(.sync(1))
        bench.go()
        #expect(bench.hand(.scheduled(dueMilliseconds: 5_000)) == [])
        bench.hand(.start)
        #expect(
            bench.hand(.scheduled(dueMilliseconds: 5_000)) == [.setTimer(dueMilliseconds: 5_000)])
        bench.now = 5_000
        #expect(
            bench.hand(.timer(dueMilliseconds: 5_000)) == [.perform(2, .checkConfiguration)])
        #expect(bench.hand(.scheduled(dueMilliseconds: 6_000)) == [])
        // After a failure the next round comes at its own time.
        bench.go { $0.isFetch }
        bench.fail(ServiceError(.network, retryAfterSeconds: 60))
        bench.go()
        let due = bench.machine.timerMilliseconds
        #expect(due == 65_000)
        #expect(bench.hand(.scheduled(dueMilliseconds: 5_001)) == [])
        #expect(bench.machine.timerMilliseconds == due)
    }

    @Test func `calls during a round get one round of their own`() {
        var bench = EngineBench()
        bench.hand(.sync(1))
        #expect(bench.hand(.sync(2)) == [])
        #expect(bench.hand(.sync(3)) == [])
        let actions = bench.go()
        #expect(
            actions == [
                .tell(.finished), .answer([1], .report), .perform(2, .checkConfiguration),
            ])
        #expect(bench.go().answered == [2, 3])
        #expect(bench.machine.round == nil)
    }

    @Test func `requests run one after another, in the order in which they came`() {
        var bench = EngineBench()
        bench.hand(.sync(1))
        bench.hand(.request(.resetRemote, 2))
        bench.hand(.sync(3))
        bench.hand(.request(.fetchAgain(["a", "b"]), 4))
        bench.hand(.sync(5))
        var ends: [[EngineMachine.CallID]] = []
        while bench.machine.round != nil { ends.append(bench.go().answered) }
        #expect(ends == [[1], [2], [3, 5], [4]])
    }

    @Test func `a request takes the lease first, and nothing else`() {
        var bench = EngineBench()
        #expect(bench.hand(.request(.destroyZone, 1)) == [.perform(1, .takeLease)])
        #expect(bench.reply(.lease(nil)) == [.perform(1, .request(.destroyZone))])
        #expect(bench.reply(.answered(.done)) == [.answer([1], .done)])
        #expect(bench.machine.status == .suspended(.zoneDeletedByUser))
        bench.hand(.resumed)
        #expect(bench.machine.status == .idle)
    }

    @Test func `without the lease nothing is exchanged, and a started engine asks again`() {
        for request in [nil, EngineRequest.fetchAgain(["a"])] {
            for isStarted in [false, true] {
                var bench = EngineBench { $0.standbyMilliseconds = 70 }
                if isStarted { bench.hand(.start) }
                bench.hand(request.map { .request($0, 1) } ?? .sync(1))
                bench.go { $0 == .takeLease }
                let actions = bench.reply(.leaseRefused)
                #expect(actions.steps == [] && actions.codes == [.standby])
                #expect(bench.machine.status == .standby)
                #expect(bench.machine.timerMilliseconds == (isStarted ? bench.now + 70 : nil))
            }
        }
    }

    @Test func `an engine that got the lease does not stand by, whatever becomes of the round`() {
        var bench = EngineBench()
        bench.hand(.sync(1))
        bench.go { $0 == .takeLease }
        bench.reply(.leaseRefused)
        bench.hand(.sync(2))
        bench.go { $0 == .settleZone }
        bench.hand(.cancelled(2))
        bench.goOn()
        #expect(bench.machine.round == nil && bench.machine.status == .idle)
    }

    @Test func `a round that is outdated begins again once, then stands by`() {
        var bench = EngineBench()
        bench.hand(.sync(1))
        bench.go { $0.isPush }
        #expect(bench.fail(SyncPrecondition.Outdated()) == [.perform(1, .takeLease)])
        #expect(bench.reply(.lease(nil)) == [.perform(1, .settleZone)])
        bench.go { $0.isFetch }
        let actions = bench.fail(SyncPrecondition.Outdated())
        #expect(actions.first == .giveBackLease)
        #expect(actions.codes == [.standby])
        #expect(bench.machine.status == .standby)
        bench.hand(.sync(2))
        #expect(bench.go().answered == [2])
        #expect(bench.machine.status == .idle)
    }

    @Test func `failures wait longer each time, and the store is told`() {
        var bench = EngineBench()
        bench.hand(.start)
        bench.hand(.begin(1, nil))
        for wait in [750, 1_500, 3_000] as [Int64] {
            bench.go { $0.isFetch }
            let due = bench.now + wait
            guard
                case .storeRetry(0, let deadline?, .failed(let error))? =
                    bench.fail(ServiceError(.network)).steps.first
            else {
                Issue.record("the store is told")
                return
            }
            #expect(deadline.dueMilliseconds == due && error.retryMilliseconds == due)
            #expect(bench.machine.status == .backingOff(until: Date(milliseconds: due)))
            let actions = bench.reply(.done)
            #expect(actions.contains(.tell(.failed(error))))
            #expect(actions.last == .setTimer(dueMilliseconds: due))
            bench.now = due
            #expect(bench.hand(.timer(dueMilliseconds: due)).steps == [.checkConfiguration])
        }
        bench.go { $0.isStoring }
        #expect(bench.machine.round?.step == .storeRetry(0, nil, .completed))
        bench.go()
        #expect(bench.machine.status == .idle && bench.machine.timerMilliseconds == nil)
    }

    @Test func `a start waits for the time of an earlier run, and a call by hand does not`() {
        let retry = RetryDeadline(dueMilliseconds: 9_000, failures: 3, isAsked: true)
        var bench = EngineBench()
        bench.hand(.start)
        let actions = bench.hand(.begin(1, retry))
        #expect(actions == [.answer([1], .done), .setTimer(dueMilliseconds: 9_000)])
        #expect(bench.machine.status == .backingOff(until: Date(milliseconds: 9_000)))
        #expect(bench.hand(.sync(2)) == [.perform(1, .checkConfiguration), .endTimer])
        bench.go()
        #expect(bench.machine.status == .idle)
    }

    @Test func `a store that fails is waited for, whatever step failed`() {
        for code in [StoreError.Code.io, .full] {
            var bench = EngineBench()
            bench.hand(.sync(1))
            var steps = 0
            while bench.machine.round != nil {
                var failed = bench
                #expect(failed.fail(StoreError(code, "injected")).steps.first?.isStoring == true)
                let actions = failed.fail(StoreError(code, "again"))
                #expect(actions.codes == [code == .full ? .storeFull : .store])
                guard case .backingOff = failed.machine.status else {
                    Issue.record("it waits: \(failed.machine.status)")
                    return
                }
                bench.goOn()
                steps += 1
            }
            #expect(steps >= 10)
        }
    }

    @Test func `a refusal that lasts blocks, and is asked about again by a started engine`() {
        var bench = EngineBench { $0.blockedRetryMilliseconds = 5_000 }
        bench.hand(.start)
        bench.hand(.begin(1, nil))
        bench.go { $0.isFetch }
        #expect(bench.fail(ServiceError(.quotaExceeded)).codes == [.blocked])
        #expect(bench.machine.status == .blocked(.quotaExceeded))
        #expect(bench.machine.timerMilliseconds == bench.now + 5_000)
        #expect(bench.machine.account == .unchecked)
    }

    // It said idle, although nothing would be exchanged.
    @Test func `when the network is back the status is what it was`() {
        var bench = EngineBench()
        bench.hand(.sync(1))
        bench.go { $0.isFetch }
        bench.fail(ServiceError(.notAuthenticated))
        bench.hand(.reachable(false))
        #expect(bench.machine.status == .offline)
        #expect(bench.hand(.sync(2)).codes == [.offline])
        #expect(bench.hand(.reachable(true)) == [.setTimer(dueMilliseconds: bench.now)])
        #expect(bench.machine.status == .blocked(.notAuthenticated))
    }

    @Test func `a network that goes during a round fails those who joined it`() {
        var bench = EngineBench()
        bench.hand(.sync(1))
        bench.hand(.sync(2))
        bench.hand(.request(.resetRemote, 3))
        bench.hand(.reachable(false))
        let actions = bench.go()
        #expect(actions.answered == [1, 2, 3])
        #expect(actions.codes == [.offline, .offline])
        #expect(bench.machine.status == .offline)
    }

    @Test func `a closed store ends the engine, and gives the lease back at once`() {
        var bench = EngineBench()
        bench.hand(.start)
        bench.hand(.sync(1))
        bench.hand(.sync(2))
        bench.hand(.waitForOperation(7, 3))
        bench.go { $0.isPush }
        let actions = bench.fail(StoreError.closed)
        #expect(actions.first == .tell(.failed(SyncError.closed)))
        #expect(actions.answered == [1, 2, 3] && actions.contains(.giveBackLease))
        #expect(bench.machine.status == .stopped)
        #expect(bench.machine.ending == SyncError.closed)
    }

    @Test func `the lease is kept until the last request of a stopped engine has ended`() {
        var bench = EngineBench()
        bench.hand(.sync(1))
        bench.go { $0.isPush }
        let actions = bench.hand(.stop)
        #expect(actions.contains(.endLease) && actions.contains(.cancel(1)))
        #expect(!actions.contains(.giveBackLease) && actions.answered == [1])
        #expect(bench.hand(.replied(1, .exchanged(.done))) == [.giveBackLease])
        #expect(bench.hand(.replied(1, .exchanged(.done))) == [])
    }

    @Test func `a call that waits for a later round is answered by one that ends well`() {
        var bench = EngineBench()
        bench.hand(.start)
        bench.hand(.begin(1, nil))
        bench.hand(.catchUp(2))
        #expect(bench.go { $0.isStoring }.answered == [1])
        bench.hand(.timer(dueMilliseconds: bench.now))
        bench.go { $0.isFetch }
        bench.fail(ServiceError(.network))
        #expect(bench.go().answered == [])
        bench.hand(.sync(3))
        #expect(Set(bench.go().answered) == [2, 3])
    }

    @Test func `a round goes on until the last of its calls is cancelled`() {
        var bench = EngineBench()
        bench.hand(.sync(1))
        bench.hand(.sync(2))
        bench.hand(.sync(3))
        bench.go()
        #expect(bench.hand(.cancelled(2)) == [])
        #expect(bench.hand(.cancelled(3)) == [.cancel(2)])
        let actions = bench.reply(.done)
        #expect(actions == [.tell(.failed(SyncError.cancelled))])
        #expect(bench.machine.status == .idle && bench.machine.round == nil)
    }

    @Test func `what a cancelled round was told is stored, and nothing more is sent`() {
        var bench = EngineBench()
        bench.hand(.sync(1))
        bench.go { $0.isPush }
        #expect(bench.hand(.cancelled(1)) == [.cancel(1)])
        guard case .exchange(_, .apply)? = bench.reply(.exchanged(.pushed([.deleted]))).steps.first
        else {
            Issue.record("the reply is stored")
            return
        }
        #expect(bench.reply(.exchanged(.done)).steps == [])
        #expect(bench.machine.round == nil)
    }

    @Test func `a started engine goes on without the call that was cancelled`() {
        var bench = EngineBench()
        bench.hand(.start)
        bench.hand(.begin(1, nil))
        #expect(bench.hand(.cancelled(1)) == [])
        #expect(bench.go() == [.tell(.finished)])
    }

    // It was forgotten if the cancelled round came right behind another one.
    @Test func `a trigger that a cancelled round was to cover is due again`() {
        for comesEarly in [false, true] {
            var bench = EngineBench()
            bench.hand(.sync(1))
            if comesEarly {
                bench.hand(.triggered(.notification))
                bench.hand(.sync(2))
                bench.go()
            } else {
                bench.go()
                bench.hand(.triggered(.notification))
                bench.hand(.sync(2))
            }
            bench.hand(.cancelled(2))
            #expect(bench.go().last == .setTimer(dueMilliseconds: bench.now))
            #expect(
                bench.hand(.timer(dueMilliseconds: bench.now)).steps == [.checkConfiguration])
            #expect(bench.machine.round?.purpose == .exchange(.notification))
        }
    }

    @Test func `time leads to rounds of a started engine only`() {
        for isStarted in [false, true] {
            var bench = EngineBench(poll: 60_000)
            if isStarted { bench.hand(.start) }
            bench.hand(.sync(1))
            let last = bench.go().last
            #expect(
                last == (isStarted ? .setTimer(dueMilliseconds: 61_000) : .answer([1], .report)))
        }
    }

    @Test func `a timer that was replaced does nothing`() {
        var bench = EngineBench()
        bench.hand(.triggered(.save))
        #expect(bench.machine.timerMilliseconds == bench.now + 500)
        #expect(bench.hand(.timer(dueMilliseconds: bench.now)) == [])
        #expect(
            bench.hand(.triggered(.notification)) == [.setTimer(dueMilliseconds: bench.now)])
    }
}
