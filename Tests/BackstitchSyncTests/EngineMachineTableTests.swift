import BackstitchCore
import BackstitchStore
import BackstitchTesting
import TestBudget
import Testing

@testable import BackstitchSync

/// Every event in every state, and long random walks over both.
@Suite(.budgeted) struct EngineMachineTableTests {
    typealias Machine = EngineMachine

    private static let requests: [EngineRequest] = [
        .fetchAgain(["a"]), .move(to: "Notes2", adoptsUser: false), .destroyZone,
        .resetLocal(keepsUnsynced: true), .resetRemote, .resync(from: .server),
    ]

    private static let errors: [any Error] =
        [
            CancellationError(), SyncPrecondition.Outdated(), StoreError.closed,
            StoreError(.io, "injected"), StoreError(.full, "injected"),
            SyncError(.invalidConfiguration, "injected"),
        ] + ServiceError.Code.allCases.map { ServiceError($0) }

    /// What can come of a step, failures too. What an exchange is told fits its action.
    private static func replies(to step: Round.Step?) -> [Round.Reply] {
        var replies: [Round.Reply] = [
            .lease(nil), .leaseRefused,
            .lease(RetryDeadline(dueMilliseconds: 9_000, failures: 2, isAsked: false)),
            .answered(.done), .answered(.count(1)),
        ]
        if step?.isExchange != true { replies.append(.done) }
        if step == .prepare {
            replies += [
                .zone(), .zone(isSetUp: false),
                .zone(needsPull: true, prefersLocal: true),
                .zone(suspension: .zonePurged),
            ]
        }
        if let step, step.isExchange { replies.append(EngineBench.reply(to: step)) }
        if case .exchange(_, .foldOutbox)? = step {
            replies += [.exchanged(.folded([], isComplete: true)), .exchanged(.missed(2))]
        }
        return replies + errors.map { .failed(StepFailure($0)) }
    }

    /// Everything that can be told to a machine; calls have numbers from `call` on.
    private static func events(for machine: Machine, call: Int) -> [Machine.Event] {
        var events: [Machine.Event] = [
            .start, .begin(call, nil),
            .begin(call, RetryDeadline(dueMilliseconds: 5_000, failures: 1, isAsked: true)),
            .sync(call), .catchUp(call), .waitForOperation(3, call), .resumed, .stop, .storeClosed,
            .accountChanged, .reachable(true), .reachable(false),
            .timer(dueMilliseconds: machine.timerMilliseconds ?? 0), .timer(dueMilliseconds: -1),
            .scheduled(dueMilliseconds: 5_000),
        ]
        events += requests.map { .request($0, call) }
        events += SyncTrigger.allCases.map { .triggered($0) }
        events += calls(of: machine).sorted().map { .cancelled($0) } + [.cancelled(call)]
        events += machine.operations.keys.sorted().flatMap {
            [
                .operationEnded($0, .progress(.settled)),
                .operationEnded($0, .failed(StepFailure(StoreError(.io, "injected")))),
            ] as [Machine.Event]
        }
        let parked = ParkedRecord(record: RecordID(entity: "A", name: "a"), sequence: 1, reason: "")
        events.append(.operationEnded(call, .progress(.parked(parked))))
        let step = machine.round?.step
        let id = machine.rounds
        events += replies(to: step).map { .replied(id, $0) }
        events += [id - 1, id + 1].flatMap { id in
            [.replied(id, .done), .replied(id, .lease(nil)), .replied(id, .leaseRefused)]
                as [Machine.Event]
        }
        if let step { events.append(.replied(id - 1, EngineBench.reply(to: step))) }
        return events
    }

    /// The calls that wait.
    private static func calls(of machine: Machine) -> Set<Machine.CallID> {
        Set(machine.waiting.all).union(machine.round?.calls ?? [])
    }

    /// Machines in every state: at every step of every kind of round, before and after, alone and with
    /// calls that wait, started or not, also cancelled and stopped there.
    private static let benches: [EngineBench] = {
        var benches: [EngineBench] = []
        func add(_ bench: EngineBench) {
            for isStarted in [false, true] {
                for isWaiting in [false, true] {
                    var bench = bench
                    if isStarted { bench.hand(.start) }
                    if isWaiting {
                        bench.hand(.catchUp(2))
                        bench.hand(.waitForOperation(3, 3))
                    }
                    if bench.machine.round != nil, isWaiting {
                        bench.hand(.sync(4))
                        bench.hand(.request(.resetRemote, 5))
                    }
                    benches.append(bench)
                    var cancelled = bench
                    cancelled.hand(.cancelled(1))
                    if cancelled != bench { benches.append(cancelled) }
                    bench.hand(.stop)
                    benches.append(bench)
                }
            }
        }
        func follow(_ first: EngineBench) {
            var bench = first
            while bench.machine.round != nil {
                add(bench)
                bench.goOn()
            }
            add(bench)
        }
        add(EngineBench())
        var unreachable = EngineBench()
        unreachable.hand(.reachable(false))
        add(unreachable)
        for event in [.sync(1)] + requests.map({ .request($0, 1) }) as [Machine.Event] {
            var bench = EngineBench(poll: 60_000)
            bench.hand(event)
            follow(bench)
            for error in errors where event == .sync(1) || event == .request(requests[0], 1) {
                var failed = bench
                failed.go { $0.isFetch || $0.isRequest }
                failed.fail(error)
                add(failed)
                failed.go()
                add(failed)
            }
            bench.go { $0 == .takeLease }
            bench.reply(.leaseRefused)
            add(bench)
        }
        return benches
    }()

    /// Checks what holds after every event, whatever was before.
    private static func check(
        _ before: Machine, _ event: Machine.Event, _ actions: [Machine.Action], _ after: Machine
    ) -> String? {
        if let violation = after.violation { return violation }
        let (had, has) = (calls(of: before), calls(of: after))
        let answered = actions.answered
        if Set(answered).count != answered.count { return "A call was answered twice." }
        if !has.isDisjoint(with: answered) { return "A call was answered, and waits." }
        var expected = had
        if let call = event.call { expected.insert(call) }
        if case .cancelled(let call) = event { expected.remove(call) }
        if has.union(answered) != expected { return "\(expected) became \(has) and \(answered)." }
        let steps = actions.compactMap { if case .perform(let id, _) = $0 { id } else { nil } }
        if steps.count > 1 { return "Two steps at once." }
        if let id = steps.first, after.round?.id != id { return "A step of no round." }
        if before.ending != nil {
            let isAnswer = event.call != nil && actions.answered == [event.call]
            if !(actions.isEmpty || actions == [.giveBackLease] || isAnswer && actions.count == 1) {
                return "A machine that has ended does \(actions)."
            }
            if after.status != .stopped { return "A machine that has ended is \(after.status)." }
        }
        if after.ending != nil, !steps.isEmpty { return "A machine that ends takes a step." }
        if case .replied(let id, _) = event, id != before.round?.id, before.ending == nil {
            if after != before || !actions.isEmpty { return "A late reply has an effect." }
        }
        for case .perform(_, let step) in actions where !step.isPreparation {
            if before.round == nil { return "\(step) without the lease." }
        }
        return nil
    }

    @Test func `every event in every state keeps what holds`() {
        var (count, kinds) = (0, Set<String>())
        for bench in Self.benches {
            kinds.insert("\(bench.machine.status)")
            for event in Self.events(for: bench.machine, call: 6) {
                var next = bench
                let actions = next.hand(event)
                if let problem = Self.check(bench.machine, event, actions, next.machine) {
                    Issue.record("\(bench.machine.state) \(event): \(problem)")
                    return
                }
                count += 1
            }
        }
        #expect(count > 20_000)
        #expect(
            kinds.isSuperset(of: ["idle", "pulling", "pushing", "standby", "offline", "stopped"]))
        #expect(kinds.contains { $0.hasPrefix("blocked") })
        #expect(kinds.contains { $0.hasPrefix("suspended") })
        #expect(kinds.contains { $0.hasPrefix("backingOff") })
    }

    @Test func `stopping answers every call at once, in every state`() {
        for bench in Self.benches where bench.machine.ending == nil {
            var stopped = bench
            let actions = stopped.hand(.stop)
            #expect(Set(actions.answered) == Self.calls(of: bench.machine))
            #expect(Self.calls(of: stopped.machine).isEmpty)
            #expect(actions.contains(.endLease))
            #expect(actions.contains(.giveBackLease) == (bench.machine.round == nil))
        }
    }

    @Test func `a cancelled call is forgotten at once, in every state`() {
        for bench in Self.benches {
            for call in Self.calls(of: bench.machine) {
                var cancelled = bench
                cancelled.hand(.cancelled(call))
                #expect(!Self.calls(of: cancelled.machine).contains(call))
            }
        }
    }

    @Test func `every round comes to an end, and answers those who wait for it`() {
        for bench in Self.benches {
            var bench = bench
            let waits = bench.machine.waiting.waits.keys
            let waiting = Self.calls(of: bench.machine).subtracting(waits)
            var answered: Set<Machine.CallID> = []
            var steps = 0
            while bench.machine.round != nil, steps < 1_000 {
                answered.formUnion(bench.goOn().answered)
                steps += 1
            }
            #expect(bench.machine.round == nil)
            #expect(answered.isSuperset(of: waiting))
        }
    }

    @Test(arguments: Load.some(of: UInt64(1)...40, oneOf: 7))
    func `a random walk keeps what holds`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var bench = EngineBench(poll: seed % 2 == 0 ? 500 : nil)
        for number in 0..<3_000 {
            bench.now += Int64(generator.next() % 400)
            var events = Self.events(for: bench.machine, call: number)
            // The end comes late, and what goes well as often as not.
            events.removeAll { ($0 == .stop || $0 == .storeClosed) && number < 2_900 }
            if bench.machine.round != nil, generator.next() % 2 == 0 {
                bench.goOn()
                continue
            }
            let event = events[Int(generator.next() % UInt64(events.count))]
            if number < 2_900, case .replied(_, .failed(let failure)) = event,
                failure.kind == .storeClosed
            {
                continue
            }
            let before = bench.machine
            let actions = bench.hand(event)
            if let problem = Self.check(before, event, actions, bench.machine) {
                Issue.record("step \(number), \(before.state) \(event): \(problem)")
                return
            }
        }
    }
}
