import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import Threading
import TestBudget
import Testing

/// The calls of a round that can fail.
enum FailingCall: String, CaseIterable, Sendable {
    case currentUser, createZone, createSubscription, databaseChanges, zoneChanges
    case modify, modifyOne, lookUp, lookUpOne

    var request: RequestKind {
        switch self {
        case .currentUser: .currentUser
        case .createZone: .createZone
        case .createSubscription: .createSubscription
        case .databaseChanges: .databaseChanges
        case .zoneChanges: .zoneChanges
        case .modify, .modifyOne: .modify
        case .lookUp, .lookUpOne: .lookup
        }
    }

    var isOneRecord: Bool { self == .modifyOne || self == .lookUpOne }
    var isPull: Bool { ![.modify, .modifyOne, .lookUp, .lookUpOne].contains(self) }

    /// What the engine reports while the failure lasts; nil is a round that completes.
    func reaction(to code: ServiceError.Code) -> SyncError.Code? {
        switch code {
        // Making the zone again leaves nothing to look up.
        case .zoneNotFound, .encryptedDataReset:
            self == .lookUp || self == .lookUpOne ? nil : .unreachable
        case .zoneDeletedByUser, .zonePurged: .suspended
        case .quotaExceeded, .notAuthenticated, .accountChanged, .incompatibleVersion,
            .unsupported:
            .blocked
        case .permissionDenied: isOneRecord ? nil : .blocked
        case .invalidRequest: self == .modify || isOneRecord ? nil : .unreachable
        case .limitExceeded, .referenceViolation, .assetMissing:
            self == .modify || self == .modifyOne ? nil : .unreachable
        default: .unreachable
        }
    }
}

/// Every failure in every call: nothing is lost, what can go on does, and all is well afterwards.
@Suite(.budgeted) struct ErrorTableTests {
    @Test(arguments: ServiceError.Code.allCases, FailingCall.allCases)
    func `a failure has its reaction, and leaves no trace when it ends`(
        code: ServiceError.Code, call: FailingCall
    ) async throws {
        let cloud = SimulatedCloud()
        cloud.options.conflictsCarryServerRecord = false
        cloud.options.existsCarriesServerRecord = false
        let phone = try Device(cloud) { $0.conflictPolicy = .clientWins }
        for name in ["gone", "old", "seen"] { try await phone.note(name, "first") }
        try await phone.sync()
        try cloud.write(
            "seen", type: "Note", fields: ["title": .string("theirs")], in: scenarioZone)
        try await phone.note("old", "mine")
        try await phone.note("new", "mine")
        try await phone.delete(Note.ID("gone"))

        if call == .createZone || call == .createSubscription {
            try await phone.store.withLogWriter { context in
                var state = try context.reader.zoneState(scenarioZone.zoneName)
                state.isSetUp = false
                try context.setZoneState(state, scenarioZone.zoneName)
            }
        }
        // Somebody edits the same record between our pull and our push, so that it is looked up.
        let isEdited = Locked(false)
        phone.service.beforeRequest = { info throws(ServiceError) in
            guard info.kind == .modify, isEdited.withLock({ !$0 }) else { return }
            isEdited.withLock { $0 = true }
            try cloud.write(
                "old", type: "Note", fields: ["title": .string("theirs")], in: scenarioZone)
        }
        let failing = FailingService(phone.service)
        let fault = ScriptedFault(.error(code), on: call.request, for: .untilCleared)
        if call.isOneRecord {
            failing.fail("old", on: call.request, with: ServiceError(code))
        } else {
            phone.service.inject(fault)
        }
        await phone.engine.stop()
        let engine = SyncEngine(
            store: phone.store, service: failing, configuration: phone.engine.configuration)
        let events = EventRecorder(engine)

        let error = await syncError { _ = try await engine.sync() }
        #expect(error?.code == call.reaction(to: code))
        switch error?.code {
        case .some(.unreachable):
            guard case .backingOff = engine.status else {
                Issue.record("the engine waits: \(engine.status)")
                return
            }
        case .some(.blocked): #expect(engine.status == .blocked(code))
        case .some(.suspended): #expect(engine.status == .suspended(code))
        default:
            #expect(engine.status == .idle)
            let isRecovered = [.zoneNotFound, .encryptedDataReset].contains(code)
            #expect(try engine.parked().isEmpty == isRecovered)
        }
        let titles = try phone.titles()
        #expect(titles["old"] == "mine" && titles["new"] == "mine" && titles["gone"] == nil)
        if !call.isPull { #expect(titles["seen"] == "theirs") }
        if call.isOneRecord {
            #expect(cloud.record(named: "new", in: scenarioZone) != nil)
            #expect(cloud.record(named: "gone", in: scenarioZone) == nil)
        }

        phone.service.endFaults()
        failing.endFailures()
        if error?.code == .suspended { #expect(try await engine.resume(after: .reupload)) }
        _ = try await engine.retryParked()
        try await engine.sync()
        #expect(
            remote(cloud) == [
                "Note new {title: mine}", "Note old {title: mine}", "Note seen {title: theirs}",
            ])
        #expect(try phone.titles() == ["new": "mine", "old": "mine", "seen": "theirs"])
        #expect(try engine.parked() == [])
        #expect(engine.status == .idle)
        let fresh = try Device(cloud, "fresh")
        try await fresh.sync()
        #expect(try fresh.titles() == phone.titles())
        try await phone.expectSettled()
        await engine.stop()
        let told = await events.all()
        #expect(told.contains { $0.tells(error) })
    }
}

extension SyncEngineEvent {
    /// Whether the event tells of a failure, or of a parked record where the round completed.
    fileprivate func tells(_ error: SyncError?) -> Bool {
        switch self {
        case .failed(let failed): failed == error
        case .parked, .zoneLost: error == nil
        default: false
        }
    }
}
