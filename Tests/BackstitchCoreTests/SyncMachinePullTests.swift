import BackstitchCore
import TestBudget
import Testing

@Suite(.budgeted) struct SyncMachinePullTests {
    private let unchanged = SyncEvent.databaseChanges(
        zoneChanged: false, zoneEnded: nil, moreComing: false)
    private let changed = SyncEvent.databaseChanges(
        zoneChanged: true, zoneEnded: nil, moreComing: false)

    private func begun(needsPull: Bool = false) -> SyncMachine {
        var machine = SyncMachine()
        let action = machine.handle(
            .began(isSetUp: true, needsPull: needsPull, suspension: nil))
        #expect(action == .fetchDatabaseChanges)
        return machine
    }

    @Test func `the first round sets up, pulls everything and pushes`() {
        var machine = SyncMachine()
        #expect(
            machine.handle(.began(isSetUp: false, needsPull: false, suspension: nil)) == .setUp)
        #expect(machine.handle(.done) == .fetchDatabaseChanges)
        #expect(machine.handle(unchanged) == .fetchZoneChanges)
        #expect(
            machine.handle(.zoneChanges(moreComing: false, isFullFetch: false))
                == .foldOutbox(continues: false))
        #expect(machine.handle(.folded([], isComplete: true)) == .raiseFloor)
        #expect(machine.handle(.done) == .finish(.completed))
    }

    @Test func `a suspended zone ends the round before any request`() {
        var machine = SyncMachine()
        let action = machine.handle(
            .began(isSetUp: true, needsPull: true, suspension: .zonePurged))
        #expect(action == .finish(.suspended(.zonePurged)))
    }

    @Test func `a zone without changes is not pulled`() {
        var machine = begun()
        #expect(machine.handle(unchanged) == .foldOutbox(continues: false))
    }

    @Test func `a pull that was left open goes on though the zone has no news`() {
        var machine = begun(needsPull: true)
        #expect(machine.handle(unchanged) == .fetchZoneChanges)
    }

    @Test func `pages are read until none is coming`() {
        var machine = begun()
        let more = SyncEvent.databaseChanges(zoneChanged: true, zoneEnded: nil, moreComing: true)
        #expect(machine.handle(more) == .fetchDatabaseChanges)
        #expect(machine.handle(unchanged) == .fetchZoneChanges)
        for _ in 0..<3 {
            #expect(
                machine.handle(.zoneChanges(moreComing: true, isFullFetch: false))
                    == .fetchZoneChanges)
        }
        #expect(
            machine.handle(.zoneChanges(moreComing: false, isFullFetch: false))
                == .foldOutbox(continues: false))
    }

    @Test func `an expired zone token leads to a full fetch and a sweep`() {
        var machine = begun()
        _ = machine.handle(changed)
        #expect(machine.failed(.tokenExpired) == .beginFullFetch)
        #expect(machine.handle(.done) == .fetchZoneChanges)
        #expect(
            machine.handle(.zoneChanges(moreComing: true, isFullFetch: true)) == .fetchZoneChanges)
        #expect(machine.handle(.zoneChanges(moreComing: false, isFullFetch: true)) == .sweep)
        #expect(machine.handle(.done) == .foldOutbox(continues: false))
    }

    /// A machine that has ended a full fetch but for the sweep.
    private func sweeping() -> SyncMachine {
        var machine = begun()
        _ = machine.handle(changed)
        #expect(machine.handle(.zoneChanges(moreComing: false, isFullFetch: true)) == .sweep)
        return machine
    }

    @Test func `what a full fetch did not list is looked up before the sweep ends`() {
        var machine = sweeping()
        #expect(machine.handle(.missed(3)) == .lookUpMissed(0..<3))
        #expect(machine.handle(.done) == .sweep)
        #expect(machine.handle(.missed(1)) == .lookUpMissed(0..<1))
        #expect(machine.handle(.done) == .sweep)
        #expect(machine.handle(.done) == .foldOutbox(continues: false))
    }

    @Test func `a refused look-up before a sweep is made smaller, and is not left out`() {
        var machine = sweeping()
        #expect(machine.handle(.missed(3)) == .lookUpMissed(0..<3))
        #expect(machine.failed(.invalidRequest) == .lookUpMissed(0..<1))
        #expect(machine.handle(.done) == .lookUpMissed(1..<2))
        #expect(
            machine.failed(.invalidRequest)
                == .finish(.backOff(ServiceError(.invalidRequest))))
    }

    @Test func `an expired database token is dropped`() {
        var machine = begun()
        #expect(machine.failed(.tokenExpired) == .dropDatabaseToken)
        #expect(machine.handle(.done) == .fetchDatabaseChanges)
    }

    /// A service that lost everything refuses the token, and then lists no zone: a device with
    /// nothing to push never noticed, and kept its records for itself.
    @Test func `after a dropped database token the zone is pulled, though no list names it`() {
        var machine = begun()
        _ = machine.failed(.tokenExpired)
        _ = machine.handle(.done)
        let unchanged = SyncEvent.databaseChanges(
            zoneChanged: false, zoneEnded: nil, moreComing: false)
        #expect(machine.handle(unchanged) == .fetchZoneChanges)
    }

    @Test func `tokens that expire again and again end the round`() {
        var machine = begun()
        _ = machine.handle(changed)
        for _ in 0..<SyncMachine.restartsMax {
            #expect(machine.failed(.tokenExpired) == .beginFullFetch)
            #expect(machine.handle(.done) == .fetchZoneChanges)
        }
        #expect(
            machine.failed(.tokenExpired) == .finish(.backOff(ServiceError(.tokenExpired))))
    }

    @Test(arguments: [ServiceError.Code.zoneNotFound, .encryptedDataReset])
    func `a lost zone is made again`(code: ServiceError.Code) {
        var machine = begun()
        let ended = SyncEvent.databaseChanges(
            zoneChanged: false, zoneEnded: code, moreComing: false)
        if code == .zoneNotFound {
            // Whether its user deleted it, the zone itself has to tell.
            #expect(machine.handle(ended) == .fetchZoneChanges)
            #expect(machine.failed(code) == .forgetService)
        } else {
            #expect(machine.handle(ended) == .forgetService)
        }
        #expect(machine.handle(.done) == .setUp)
        #expect(machine.handle(.done) == .fetchDatabaseChanges)
        #expect(machine.handle(unchanged) == .fetchZoneChanges)
    }

    @Test(arguments: [ServiceError.Code.zoneDeletedByUser, .zonePurged])
    func `a zone that its user ended suspends`(code: ServiceError.Code) {
        var machine = begun()
        let ended = SyncEvent.databaseChanges(
            zoneChanged: false, zoneEnded: code, moreComing: false)
        #expect(machine.handle(ended) == .suspend(code))
        #expect(machine.handle(.done) == .finish(.suspended(code)))
    }

    @Test func `a zone that ends again and again ends the round`() {
        var machine = begun()
        _ = machine.handle(changed)
        for _ in 0..<SyncMachine.restartsMax {
            #expect(machine.failed(.zoneNotFound) == .forgetService)
            #expect(machine.handle(.done) == .setUp)
        }
        guard case .finish(.backOff(let error)) = machine.failed(.zoneNotFound) else {
            Issue.record("the round ends")
            return
        }
        #expect(error.code == .zoneNotFound)
        #expect(
            machine.handle(.began(isSetUp: true, needsPull: false, suspension: nil))
                == .fetchDatabaseChanges)
    }

    @Test(arguments: ServiceError.Code.allCases)
    func `every failure of every reading step leads on or ends the round`(
        code: ServiceError.Code
    ) {
        var settingUp = SyncMachine()
        _ = settingUp.handle(.began(isSetUp: false, needsPull: true, suspension: nil))
        var pulling = begun()
        _ = pulling.handle(changed)
        for var machine in [settingUp, begun(), pulling] {
            let action = machine.failed(code)
            switch code {
            case .zoneNotFound, .encryptedDataReset: #expect(action == .forgetService)
            case .zoneDeletedByUser, .zonePurged: #expect(action == .suspend(code))
            case .quotaExceeded, .notAuthenticated, .accountChanged, .incompatibleVersion,
                .permissionDenied, .unsupported:
                #expect(action == .finish(.blocked(ServiceError(code))))
            case .tokenExpired:
                #expect(
                    [
                        .finish(.backOff(ServiceError(code))), .dropDatabaseToken,
                        .beginFullFetch,
                    ].contains(action))
            default: #expect(action == .finish(.backOff(ServiceError(code))))
            }
        }
    }
}
