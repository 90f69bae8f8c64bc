import BackstitchCore

/// Items and replies for tests of the state machine.
enum Push {
    static func create(
        _ name: String, requires: [String: String] = [:], bytes: Int = 0
    ) -> PushItem {
        PushItem(
            .create(
                recordName: name, recordType: "Note",
                fields: ["text": .string(String(repeating: "x", count: bytes))]),
            requiredFields: requires)
    }

    static func update(_ name: String, requires: [String: String] = [:]) -> PushItem {
        PushItem(
            .update(
                recordName: name, recordType: "Note", changeTag: "1",
                fields: ["text": .string("new")]),
            requiredFields: requires)
    }

    static func delete(_ name: String) -> PushItem {
        PushItem(.delete(recordName: name, changeTag: "1"))
    }

    static let saved = ModificationResult.saved(changeTag: "2", modifiedMilliseconds: 5)
    static let version = ServerVersion(changeTag: "2", modifiedMilliseconds: 5)

    static func failed(
        _ code: ServiceError.Code, retryAfter: Double? = nil, server: ServiceRecord? = nil
    ) -> ModificationResult {
        .failed(ServiceError(code, retryAfterSeconds: retryAfter, serverRecord: server))
    }

    static func record(
        _ name: String, tag: String = "9", type: String = "Note"
    ) -> ServiceRecord {
        ServiceRecord(
            recordName: name, recordType: type, changeTag: tag, modifiedMilliseconds: 9,
            fields: [:])
    }
}

extension SyncMachine {
    /// A machine that has just folded items in a round where nothing was to be pulled.
    static func pushing(
        _ items: [PushItem], limits: ServiceLimits = ServiceLimits(), isAtomic: Bool = false,
        isComplete: Bool = true
    ) -> (machine: SyncMachine, action: SyncAction) {
        var machine = SyncMachine(limits: limits, isAtomic: isAtomic)
        _ = machine.handle(.began(isSetUp: true, needsPull: false, suspension: nil))
        _ = machine.handle(
            .databaseChanges(zoneChanged: false, zoneEnded: nil, moreComing: false))
        let action = machine.handle(.folded(items, isComplete: isComplete))
        return (machine, action)
    }

    /// Applies decisions, and answers with the next action.
    mutating func applied(_ action: SyncAction, _ expected: [ItemDecision]) -> SyncAction? {
        guard action == .apply(expected) else { return nil }
        return handle(.done)
    }

    mutating func failed(_ code: ServiceError.Code) -> SyncAction {
        handle(.failed(ServiceError(code)))
    }
}
