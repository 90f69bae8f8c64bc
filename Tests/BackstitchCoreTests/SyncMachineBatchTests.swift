import BackstitchCore
import TestBudget
import Testing

@Suite(.budgeted) struct SyncMachineBatchTests {
    @Test func `batches keep to the count`() {
        let items = (0..<5).map { Push.create("r\($0)") }
        var (machine, action) = SyncMachine.pushing(
            items, limits: ServiceLimits(operationsPerRequest: 2))
        var sizes: [Int] = []
        while case .push(let indexes, atomic: false) = action {
            sizes.append(indexes.count)
            let results = machine.handle(.pushed(indexes.map { _ in Push.saved }))
            let expected = indexes.map { ItemDecision($0, .acknowledge(Push.version)) }
            action = machine.applied(results, expected) ?? .sweep
        }
        #expect(sizes == [2, 2, 1])
        #expect(action == .raiseFloor)
        #expect(machine.handle(.done) == .foldOutbox(continues: false))
        #expect(machine.handle(.folded([], isComplete: true)) == .raiseFloor)
        #expect(machine.handle(.done) == .finish(.completed))
    }

    /// The floor stays if something after the run was made pending again meanwhile.
    @Test func `a run with nothing to push is passed by, whether the floor rises or not`() {
        var (machine, action) = SyncMachine.pushing([], isComplete: false)
        for _ in 0..<(2 * SyncMachine.passesMax) {
            #expect(action == .raiseFloor)
            #expect(machine.handle(.done) == .foldOutbox(continues: true))
            action = machine.handle(.folded([], isComplete: false))
        }
        #expect(machine.handle(.done) == .foldOutbox(continues: true))
        #expect(machine.handle(.folded([], isComplete: true)) == .raiseFloor)
        #expect(machine.handle(.done) == .finish(.completed))
    }

    @Test func `batches keep to the bytes, and one record always goes`() {
        let items = [300, 300, 900, 10].enumerated().map { Push.create("r\($0)", bytes: $1) }
        var (machine, action) = SyncMachine.pushing(
            items, limits: ServiceLimits(requestBytes: 800))
        var batches: [[Int]] = []
        while case .push(let indexes, _) = action {
            batches.append(indexes)
            _ = machine.handle(.pushed(indexes.map { _ in Push.saved }))
            action = machine.handle(.done)
        }
        #expect(batches == [[0, 1], [2], [3]])
    }

    @Test func `a request that is too large is halved down to one, which is parked`() {
        let items = (0..<8).map { Push.create("r\($0)") }
        var (machine, action) = SyncMachine.pushing(items)
        var sizes: [Int] = []
        for _ in 0..<3 {
            guard case .push(let indexes, _) = action else { break }
            sizes.append(indexes.count)
            action = machine.failed(.limitExceeded)
        }
        #expect(sizes == [8, 4, 2])
        #expect(action == .push([0], atomic: false))
        let parked = machine.failed(.limitExceeded)
        #expect(parked == .apply([ItemDecision(0, .park(ServiceError(.limitExceeded)))]))
        #expect(machine.handle(.done) == .push([1], atomic: false))
        #expect(machine.batchCount == 1)
        var grown: [Int] = []
        action = .push([1], atomic: false)
        while case .push(let indexes, _) = action {
            grown.append(indexes.count)
            _ = machine.handle(.pushed(indexes.map { _ in Push.saved }))
            action = machine.handle(.done)
        }
        #expect(grown == [1, 2, 3, 1])
        #expect(action == .raiseFloor)
    }

    @Test func `a limit that every record tells is that of the request`() {
        let items = (0..<4).map { Push.create("r\($0)") }
        var (machine, _) = SyncMachine.pushing(items)
        let all = (0..<4).map { _ in Push.failed(.limitExceeded) }
        #expect(machine.handle(.pushed(all)) == .push([0, 1], atomic: false))
    }

    @Test func `a record over the limit goes alone, then is parked`() {
        let items = (0..<3).map { Push.create("r\($0)") }
        var (machine, _) = SyncMachine.pushing(items)
        let results = [Push.saved, Push.failed(.limitExceeded), Push.saved]
        #expect(
            machine.handle(.pushed(results))
                == .apply([
                    ItemDecision(0, .acknowledge(Push.version)),
                    ItemDecision(2, .acknowledge(Push.version)),
                ]))
        #expect(machine.handle(.done) == .push([1], atomic: false))
        #expect(
            machine.handle(.pushed([Push.failed(.limitExceeded)]))
                == .apply([ItemDecision(1, .park(ServiceError(.limitExceeded)))]))
        #expect(machine.handle(.done) == .raiseFloor)
    }

    @Test func `of a failed atomic batch the culprit is decided and the innocent go again`() {
        let items = [Push.create("a"), Push.create("b")]
        var (machine, action) = SyncMachine.pushing(items, isAtomic: true)
        #expect(action == .push([0, 1], atomic: true))
        let server = Push.record("a")
        let results = [Push.failed(.alreadyExists, server: server), Push.failed(.batchFailed)]
        #expect(machine.handle(.pushed(results)) == .apply([ItemDecision(0, .merge(server))]))
        #expect(machine.handle(.done) == .push([1], atomic: true))
        #expect(
            machine.handle(.pushed([Push.saved]))
                == .apply([ItemDecision(1, .acknowledge(Push.version))]))
        #expect(machine.handle(.done) == .foldOutbox(continues: false))
    }

    @Test func `a batch that fails without a culprit is given up after some attempts`() {
        var (machine, action) = SyncMachine.pushing([Push.create("a"), Push.create("b")])
        var attempts = 0
        while case .push(let indexes, _) = action, attempts < 100 {
            attempts += 1
            action = machine.handle(.pushed(indexes.map { _ in Push.failed(.batchFailed) }))
        }
        #expect(attempts == SyncMachine.attemptsMax)
        #expect(action == .finish(.backOff(ServiceError(.batchFailed))))
    }

    @Test func `a window of the outbox is followed by the next`() {
        var (machine, _) = SyncMachine.pushing([Push.create("a")], isComplete: false)
        _ = machine.handle(.pushed([Push.saved]))
        #expect(machine.handle(.done) == .raiseFloor)
        #expect(machine.handle(.done) == .foldOutbox(continues: false))
    }

    @Test func `a record that waits does not keep the windows behind it waiting`() {
        var (machine, _) = SyncMachine.pushing([Push.create("a")], isComplete: false)
        let busy = ServiceError(.zoneBusy)
        #expect(
            machine.handle(.pushed([.failed(busy)])) == .foldOutbox(continues: true))
        _ = machine.handle(.folded([Push.create("b")], isComplete: false))
        _ = machine.handle(.pushed([Push.saved]))
        #expect(machine.handle(.done) == .foldOutbox(continues: true))
        let action = machine.handle(
            .folded([Push.create("a"), Push.create("c")], isComplete: true))
        #expect(action == .push([1], atomic: false))
        _ = machine.handle(.pushed([Push.saved]))
        #expect(machine.handle(.done) == .finish(.backOff(busy)))
    }

    @Test func `any number of windows is pushed in one round`() {
        var (machine, action) = SyncMachine.pushing([Push.create("a")], isComplete: false)
        for _ in 0..<(SyncMachine.passesMax * 2) {
            guard case .push = action else { break }
            _ = machine.handle(.pushed([Push.saved]))
            _ = machine.handle(.done)
            #expect(machine.handle(.done) == .foldOutbox(continues: false))
            action = machine.handle(.folded([Push.create("a")], isComplete: false))
        }
        #expect(action == .push([0], atomic: false))
    }

    @Test func `a record that is edited here all the time lets the round end well`() {
        var (machine, action) = SyncMachine.pushing([Push.update("a")])
        var passes = 0
        while case .push = action {
            passes += 1
            _ = machine.handle(.pushed([Push.saved]))
            _ = machine.handle(.done)
            action = machine.handle(.done)
            if case .foldOutbox = action {
                action = machine.handle(.folded([Push.update("a")], isComplete: true))
            }
        }
        #expect(passes == SyncMachine.passesMax)
        #expect(action == .finish(.completed))
    }

    @Test func `a record that others change all the time ends the round`() {
        var (machine, action) = SyncMachine.pushing([Push.update("a")])
        let conflict = Push.failed(.conflict, server: Push.record("a"))
        var passes = 0
        while case .push = action {
            passes += 1
            _ = machine.handle(.pushed([conflict]))
            action = machine.handle(.done)
            if case .foldOutbox = action {
                action = machine.handle(.folded([Push.update("a")], isComplete: true))
            }
        }
        #expect(passes == SyncMachine.passesMax)
        guard case .finish(.backOff(let error)) = action else {
            Issue.record("the round ends: \(action)")
            return
        }
        #expect(error.code == .conflict)
    }
}
