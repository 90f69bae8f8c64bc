import BackstitchCore
import TestBudget
import Testing

@Suite(.budgeted) struct SyncMachineReplyTests {
    @Test(arguments: [ServiceError.Code.conflict, .alreadyExists])
    func `a conflict that tells the server's record is merged`(code: ServiceError.Code) {
        let item = code == .conflict ? Push.update("a") : Push.create("a")
        var (machine, _) = SyncMachine.pushing([item])
        let server = Push.record("a")
        #expect(
            machine.handle(.pushed([Push.failed(code, server: server)]))
                == .apply([ItemDecision(0, .merge(server))]))
        #expect(machine.handle(.done) == .foldOutbox(continues: false))
    }

    @Test func `a conflict that does not is looked up`() {
        let items = [Push.update("a"), Push.update("b"), Push.update("c"), Push.create("d")]
        var (machine, action) = SyncMachine.pushing(items)
        #expect(action == .push([3, 0, 1, 2], atomic: false))
        let results = [Push.failed(.alreadyExists)] + (0..<3).map { _ in Push.failed(.conflict) }
        #expect(machine.handle(.pushed(results)) == .lookUp([3, 0, 1, 2]))
        let server = Push.record("a")
        action = machine.handle(
            .lookedUp([
                .notFound, .found(server), .notFound, .failed(ServiceError(.zoneBusy)),
            ]))
        // A conflict speaks of a record: one that is not found was answered by a replica behind.
        #expect(action == .apply([ItemDecision(0, .merge(server))]))
        #expect(machine.handle(.done) == .push([3], atomic: false))
    }

    @Test func `a version from before the one that is known is left to a later round`() {
        var item = Push.update("a")
        item.baseMilliseconds = 10
        var (machine, _) = SyncMachine.pushing([item])
        #expect(machine.handle(.pushed([Push.failed(.conflict)])) == .lookUp([0]))
        guard
            case .finish(.backOff(let error)) = machine.handle(
                .lookedUp([.found(Push.record("a"))]))
        else {
            Issue.record("the round ends")
            return
        }
        #expect(error.code == .conflict)
    }

    @Test func `a lookup that is too large is halved`() {
        let items = (0..<4).map { Push.update("r\($0)") }
        var (machine, _) = SyncMachine.pushing(items)
        let conflicts = items.map { _ in Push.failed(.conflict) }
        #expect(machine.handle(.pushed(conflicts)) == .lookUp([0, 1, 2, 3]))
        #expect(machine.failed(.limitExceeded) == .lookUp([0, 1]))
        #expect(machine.failed(.limitExceeded) == .lookUp([0]))
        #expect(machine.failed(.limitExceeded) == .lookUp([1]))
        #expect(
            machine.handle(.lookedUp([.found(Push.record("r1"))]))
                == .apply([ItemDecision(1, .merge(Push.record("r1")))]))
        #expect(machine.handle(.done) == .lookUp([2]))
    }

    @Test func `a conflict with the version that was sent is left to a later round`() {
        var (machine, _) = SyncMachine.pushing([Push.update("a")])
        let conflict = Push.failed(.conflict, server: Push.record("a", tag: "1"))
        guard case .finish(.backOff(let error)) = machine.handle(.pushed([conflict])) else {
            Issue.record("the round ends")
            return
        }
        #expect(error.code == .conflict)
    }

    @Test func `a name that a record of another type has parks the record`() {
        var (machine, _) = SyncMachine.pushing([Push.create("a")])
        let taken = Push.failed(.alreadyExists, server: Push.record("a", type: "Other"))
        guard case .apply(let decisions) = machine.handle(.pushed([taken])),
            case .park(let error)? = decisions.first?.kind
        else {
            Issue.record("the record is parked")
            return
        }
        #expect(error.code == .alreadyExists)
        #expect(machine.handle(.done) == .raiseFloor)
    }

    @Test func `an update or a delete of an unknown record is a delete on the service`() {
        var (machine, _) = SyncMachine.pushing([Push.update("a"), Push.delete("b")])
        let unknown = Push.failed(.unknownItem)
        #expect(machine.handle(.pushed([unknown, unknown])) == .lookUp([0, 1]))
        #expect(
            machine.handle(.lookedUp([.notFound, .notFound]))
                == .apply([ItemDecision(0, .mergeAbsent), ItemDecision(1, .mergeAbsent)]))
    }

    @Test func `what fails for a while leaves the others alone and has the longest wait`() {
        let items = ["a", "b", "c", "d"].map { Push.create($0) }
        var (machine, _) = SyncMachine.pushing(items)
        let results = [
            Push.failed(.zoneBusy), Push.failed(.rateLimited, retryAfter: 30), Push.saved,
            Push.failed(.network, retryAfter: 5),
        ]
        #expect(
            machine.handle(.pushed(results))
                == .apply([ItemDecision(2, .acknowledge(Push.version))]))
        #expect(
            machine.handle(.done)
                == .finish(.backOff(ServiceError(.rateLimited, retryAfterSeconds: 30))))
    }

    @Test func `a merge is pushed in the same round though another record waits`() {
        var (machine, _) = SyncMachine.pushing([Push.update("a"), Push.update("b")])
        let conflict = Push.failed(.conflict, server: Push.record("a"))
        _ = machine.handle(.pushed([conflict, Push.failed(.zoneBusy)]))
        #expect(machine.handle(.done) == .foldOutbox(continues: false))
        #expect(
            machine.handle(.folded([Push.update("a"), Push.update("b")], isComplete: true))
                == .push([0], atomic: false))
        _ = machine.handle(.pushed([Push.saved]))
        #expect(machine.handle(.done) == .finish(.backOff(ServiceError(.zoneBusy))))
    }

    @Test(arguments: [
        ServiceError.Code.notAuthenticated, .accountChanged, .incompatibleVersion,
    ])
    func `a refusal that is not about the record blocks`(code: ServiceError.Code) {
        var (machine, _) = SyncMachine.pushing(
            [Push.create("a"), Push.create("b"), Push.delete("c")],
            limits: ServiceLimits(operationsPerRequest: 2))
        #expect(
            machine.handle(.pushed([Push.saved, Push.failed(code)]))
                == .apply([ItemDecision(0, .acknowledge(Push.version))]))
        #expect(machine.handle(.done) == .finish(.blocked(ServiceError(code))))
    }

    @Test func `deletes still go to a full account`() {
        var (machine, _) = SyncMachine.pushing(
            [Push.create("a"), Push.create("b"), Push.delete("c")],
            limits: ServiceLimits(operationsPerRequest: 1))
        #expect(
            machine.handle(.pushed([Push.failed(.quotaExceeded)])) == .push([2], atomic: false))
        _ = machine.handle(.pushed([.deleted]))
        #expect(machine.handle(.done) == .finish(.blocked(ServiceError(.quotaExceeded))))
    }

    @Test(arguments: [
        ServiceError.Code.permissionDenied, .invalidRequest, .assetMissing,
    ])
    func `a refusal that is about the record parks it`(code: ServiceError.Code) {
        var (machine, _) = SyncMachine.pushing([Push.create("a"), Push.create("b")])
        #expect(
            machine.handle(.pushed([Push.failed(code), Push.saved]))
                == .apply([
                    ItemDecision(1, .acknowledge(Push.version)),
                    ItemDecision(0, .park(ServiceError(code))),
                ]))
        #expect(machine.handle(.done) == .raiseFloor)
    }

    @Test func `the end of the zone in one record's reply is that of the zone`() {
        var (machine, _) = SyncMachine.pushing([Push.create("a"), Push.create("b")])
        #expect(
            machine.handle(.pushed([Push.saved, Push.failed(.zoneNotFound)])) == .forgetService)
    }

    @Test(arguments: [0, 1, 3])
    func `a reply of another length ends the round`(count: Int) {
        var (machine, _) = SyncMachine.pushing([Push.create("a"), Push.create("b")])
        guard
            case .finish(.backOff) = machine.handle(
                .pushed((0..<count).map { _ in Push.saved }))
        else {
            Issue.record("the round ends")
            return
        }
        (machine, _) = SyncMachine.pushing([Push.update("a"), Push.update("b")])
        _ = machine.handle(.pushed([Push.failed(.conflict), Push.failed(.conflict)]))
        guard
            case .finish(.backOff) = machine.handle(
                .lookedUp((0..<count).map { _ in .notFound }))
        else {
            Issue.record("the round ends")
            return
        }
    }

    @Test func `results that fit no request are left to a later round`() {
        let items = [Push.create("a"), Push.update("b"), Push.delete("c")]
        let long = String(repeating: "t", count: 256)
        var (machine, _) = SyncMachine.pushing(items)
        let results: [ModificationResult] = [
            .saved(changeTag: "", modifiedMilliseconds: 1),
            .saved(changeTag: long, modifiedMilliseconds: 1),
            .saved(changeTag: "5", modifiedMilliseconds: 1),
        ]
        guard case .finish(.backOff(let error)) = machine.handle(.pushed(results)) else {
            Issue.record("the round ends")
            return
        }
        #expect(error.message.contains("change tag") && error.message.contains("'a'"))
        (machine, _) = SyncMachine.pushing([Push.update("a")])
        guard case .finish(.backOff(let other)) = machine.handle(.pushed([.deleted])) else {
            Issue.record("the round ends")
            return
        }
        #expect(other.message.contains("another kind for the record 'a'"))
    }

    @Test(arguments: [(0, 1, "0 results for 1 record."), (1, 2, "1 result for 2 records.")])
    func `a reply with other counts is told with them`(
        results: Int, records: Int, message: String
    ) {
        let items = (0..<records).map { Push.update("r\($0)") }
        var (machine, _) = SyncMachine.pushing(items)
        let reply = (0..<results).map { _ in
            ModificationResult.saved(changeTag: "5", modifiedMilliseconds: 1)
        }
        guard case .finish(.backOff(let error)) = machine.handle(.pushed(reply)) else {
            Issue.record("the round ends")
            return
        }
        #expect(error.message == "The reply has " + message)
    }
}
