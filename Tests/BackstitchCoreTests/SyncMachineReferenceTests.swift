import BackstitchCore
import TestBudget
import Testing

@Suite(.budgeted) struct SyncMachineReferenceTests {
    private let violation = Push.failed(.referenceViolation)

    @Test func `a record whose target comes later in the queue goes behind it`() {
        let items = [Push.update("child", requires: ["f": "late"]), Push.update("late")]
        var (machine, _) = SyncMachine.pushing(
            items, limits: ServiceLimits(operationsPerRequest: 1))
        #expect(machine.handle(.pushed([violation])) == .push([1], atomic: false))
        _ = machine.handle(.pushed([Push.saved]))
        #expect(machine.handle(.done) == .push([0], atomic: false))
    }

    @Test func `a record whose target is nowhere is parked`() {
        var (machine, _) = SyncMachine.pushing([Push.create("child", requires: ["f": "none"])])
        #expect(
            machine.handle(.pushed([violation]))
                == .apply([ItemDecision(0, .park(ServiceError(.referenceViolation)))]))
        #expect(machine.handle(.done) == .raiseFloor)
    }

    @Test func `a record whose target waits for a later round waits too`() {
        let items = [Push.create("parent"), Push.create("child", requires: ["f": "parent"])]
        var (machine, _) = SyncMachine.pushing(items)
        #expect(
            machine.handle(.pushed([Push.failed(.zoneBusy), violation]))
                == .finish(.backOff(ServiceError(.zoneBusy))))
    }

    @Test func `a record whose target is parked is parked too`() {
        let items = [Push.create("parent"), Push.create("child", requires: ["f": "parent"])]
        var (machine, _) = SyncMachine.pushing(items)
        #expect(
            machine.handle(.pushed([Push.failed(.invalidRequest), violation]))
                == .apply([
                    ItemDecision(0, .park(ServiceError(.invalidRequest))),
                    ItemDecision(1, .park(ServiceError(.referenceViolation))),
                ]))
    }

    @Test func `a record whose target is merged goes in the next pass`() {
        let items = [Push.create("parent"), Push.create("child", requires: ["f": "parent"])]
        var (machine, _) = SyncMachine.pushing(items)
        let server = Push.record("parent")
        #expect(
            machine.handle(.pushed([Push.failed(.alreadyExists, server: server), violation]))
                == .apply([ItemDecision(0, .merge(server))]))
        #expect(machine.handle(.done) == .foldOutbox(continues: false))
    }

    @Test func `a delete that others refer to waits for their changes`() {
        let items = [Push.update("referrer"), Push.delete("target")]
        var (machine, _) = SyncMachine.pushing(items)
        #expect(
            machine.handle(.pushed([Push.failed(.zoneBusy), violation]))
                == .finish(.backOff(ServiceError(.zoneBusy))))
    }

    @Test func `deletes that others refer to are parked where nothing can help them`() {
        var (machine, _) = SyncMachine.pushing([Push.delete("a"), Push.delete("b")])
        let error = ServiceError(.referenceViolation)
        #expect(
            machine.handle(.pushed([violation, violation]))
                == .apply([ItemDecision(0, .park(error)), ItemDecision(1, .park(error))]))
        #expect(machine.handle(.done) == .raiseFloor)
    }
}
