import BackstitchCore
import BackstitchSync
import BackstitchTesting

/// Two devices of one user, and a zone.
struct Fixture {
    let cloud: SimulatedCloud
    let phone: SimulatedRecordService
    let laptop: SimulatedRecordService
    let zone = ZoneID("notes")

    init(
        limits: ServiceLimits = ServiceLimits(),
        options: SimulatedCloud.Options = SimulatedCloud.Options()
    ) async throws {
        cloud = SimulatedCloud(limits: limits, options: options)
        phone = cloud.connection(device: "phone")
        laptop = cloud.connection(device: "laptop")
        try await phone.createZone(zone)
    }

    /// Creates records with the phone.
    func create(_ names: String...) async throws {
        _ = try await modify(names.map { Self.creation($0) })
    }

    func modify(
        _ operations: [RecordModification], atomic: Bool = false
    ) async throws(ServiceError) -> [ModificationResult] {
        try await phone.modifyRecords(operations, in: zone, atomic: atomic)
    }

    /// Sends one operation with the phone.
    func modify(_ operation: RecordModification) async throws(ServiceError) -> ModificationResult? {
        try await modify([operation]).first
    }

    func page(
        since token: String? = nil, limit: Int = 100
    ) async throws(ServiceError) -> ZoneChangesPage {
        try await phone.zoneChanges(in: zone, since: token, limit: limit, fields: nil)
    }

    /// The names on the server, sorted.
    var names: [String] { cloud.records(in: zone).map(\.recordName) }

    func tag(_ name: String) -> String {
        cloud.record(named: name, in: zone)?.changeTag ?? ""
    }

    func update(_ name: String, _ fields: NamedFields) -> RecordModification {
        .update(recordName: name, recordType: "Note", changeTag: tag(name), fields: fields)
    }

    func deletion(_ name: String) -> RecordModification {
        .delete(recordName: name, changeTag: tag(name))
    }

    static func creation(
        _ name: String, _ fields: NamedFields = ["title": .string("one")]
    ) -> RecordModification {
        .create(recordName: name, recordType: "Note", fields: fields)
    }

    static func child(
        _ name: String, of parent: String, _ action: ServiceReference.Action = .validate
    ) -> RecordModification {
        creation(
            name,
            ["parent": .reference(ServiceReference(recordName: parent, action: action))])
    }
}

extension ModificationResult {
    /// The code that the operation failed with.
    var code: ServiceError.Code? {
        if case .failed(let error) = self { error.code } else { nil }
    }

    /// The error that the operation failed with.
    var error: ServiceError? {
        if case .failed(let error) = self { error } else { nil }
    }

    var isSaved: Bool {
        if case .saved = self { true } else { false }
    }
}

/// The code that a call throws; nil where it throws none.
func code(
    of call: () async throws(ServiceError) -> Void
) async -> ServiceError.Code? {
    do throws(ServiceError) {
        try await call()
        return nil
    } catch {
        return error.code
    }
}
