import BackstitchCore
import Threading

/// A service as plain as can be: one zone, and a count of its changes that orders them.
///
/// It has no code in common with `SimulatedCloud`, so that a rule which that one got wrong is noticed.
final class PlainCloud: Sendable {
    fileprivate struct Version {
        var type: String
        var fields: NamedFields
        var tag: String
        var milliseconds: Int64

        func record(_ name: String) -> ServiceRecord {
            ServiceRecord(
                recordName: name, recordType: type, changeTag: tag,
                modifiedMilliseconds: milliseconds, fields: fields)
        }
    }

    fileprivate struct Slot {
        /// The change that was the last one of this name.
        var place: Int
        /// The record; nil after its deletion.
        var version: Version?
    }

    fileprivate struct State {
        var hasZone = false
        var slots: [String: Slot] = [:]
        var changes = 0
        /// Tokens of another epoch have expired.
        var epoch = 0
        var emptyPages = 0
        var milliseconds: Int64 = 1_700_000_000_000
    }

    private let state = Locked(State())

    var hasZone: Bool { state.withLock { $0.hasZone } }

    /// The texts of all records, by name and field.
    var records: [String: [String: String]] {
        state.withLock { state in
            var records: [String: [String: String]] = [:]
            for (name, slot) in state.slots {
                guard let version = slot.version else { continue }
                records[name] = version.fields.texts
            }
            return records
        }
    }

    func advance(milliseconds: Int64) { state.withLock { $0.milliseconds += milliseconds } }

    func makeZone() {
        state.withLock { state in
            if !state.hasZone { state.changes += 1 }
            state.hasZone = true
        }
    }

    /// Ends all tokens, and forgets which records there were.
    func expireTokens() {
        state.withLock { state in
            state.epoch += 1
            state.slots = state.slots.filter { $0.value.version != nil }
        }
    }

    /// Loses a record and does not tell of it, as no service should.
    func lose(_ name: String) { state.withLock { $0.slots[name] = nil } }

    // MARK: Requests

    /// - Parameters:
    ///   - refused: What fails whatever it is, with the errors.
    ///   - tellsRecords: Whether a conflict comes with the record.
    func modify(
        _ modifications: [RecordModification], atomic: Bool, refused: [String: ServiceError],
        tellsRecords: Bool
    ) -> [ModificationResult] {
        state.withLock { state in
            let before = state
            let results = modifications.map { modification -> ModificationResult in
                if let error = refused[modification.recordName] { return .failed(error) }
                return state.apply(modification, tellsRecords: tellsRecords)
            }
            guard atomic, results.contains(where: \.hasFailed) else { return results }
            state = before
            return results.map { $0.hasFailed ? $0 : .failed(ServiceError(.batchFailed)) }
        }
    }

    func find(_ names: [String]) -> [LookupResult] {
        state.withLock { state in
            names.map { name -> LookupResult in
                guard let version = state.slots[name]?.version else { return .notFound }
                return .found(version.record(name))
            }
        }
    }

    /// - Returns: nil if the token has expired.
    func zones(_ zone: ZoneID, changedSince token: String?) -> DatabaseChangesPage? {
        state.withLock { state -> DatabaseChangesPage? in
            guard let place = state.place(of: token) else { return nil }
            return DatabaseChangesPage(
                changedZones: state.hasZone && state.changes > place ? [zone] : [], endedZones: [:],
                token: state.token(at: state.changes), moreComing: false)
        }
    }

    /// - Parameters:
    ///   - repeated: How many changes before the token are told again.
    ///   - isEmpty: Whether the page tells nothing, and another one follows.
    /// - Returns: nil if the token has expired.
    func page(
        since token: String?, limit: Int, repeated: Int, isEmpty: Bool
    ) -> ZoneChangesPage? {
        state.withLock { state -> ZoneChangesPage? in
            guard let place = state.place(of: token) else { return nil }
            if isEmpty {
                state.emptyPages += 1
                return ZoneChangesPage(
                    records: [], deletions: [],
                    token: state.token(at: place, emptyPage: state.emptyPages), moreComing: true)
            }
            // Each page has one new change at least.
            let start = max(0, place - min(repeated, limit - 1))
            let changed = state.slots.filter { $0.value.place > start }
                .sorted { $0.value.place < $1.value.place }
            let told = changed.prefix(limit)
            let isLast = told.count == changed.count
            return ZoneChangesPage(
                records: told.compactMap { $0.value.version?.record($0.key) },
                deletions: told.filter { $0.value.version == nil }
                    .map { ServiceDeletion(recordName: $0.key) },
                token: state.token(at: isLast ? state.changes : told.last?.value.place ?? place),
                moreComing: !isLast)
        }
    }
}

extension PlainCloud.State {
    fileprivate func token(at place: Int, emptyPage: Int = 0) -> String {
        "\(epoch).\(place).\(emptyPage)"
    }

    fileprivate func place(of token: String?) -> Int? {
        guard let token else { return 0 }
        let parts = token.split(separator: ".").compactMap { Int($0) }
        guard parts.count == 3, parts[0] == epoch else { return nil }
        return parts[1]
    }

    fileprivate mutating func apply(
        _ modification: RecordModification, tellsRecords: Bool
    ) -> ModificationResult {
        let name = modification.recordName
        let old = slots[name]?.version
        func refusal(_ code: ServiceError.Code) -> ModificationResult {
            .failed(ServiceError(code, serverRecord: tellsRecords ? old?.record(name) : nil))
        }
        switch modification {
        case .create(_, let type, let fields):
            return old == nil ? put(name, type, fields) : refusal(.alreadyExists)
        case .update(_, let type, let tag, let fields):
            guard let old else { return refusal(.unknownItem) }
            guard old.tag == tag else { return refusal(.conflict) }
            return put(name, type, old.fields.merging(fields))
        case .delete(_, let tag):
            guard let old else { return refusal(.unknownItem) }
            guard old.tag == tag else { return refusal(.conflict) }
            changes += 1
            slots[name] = PlainCloud.Slot(place: changes, version: nil)
            return .deleted
        }
    }

    private mutating func put(
        _ name: String, _ type: String, _ fields: NamedFields
    ) -> ModificationResult {
        changes += 1
        milliseconds += 1
        let version = PlainCloud.Version(
            type: type, fields: fields.filter { $0.value != .null }, tag: "v\(changes)",
            milliseconds: milliseconds)
        slots[name] = PlainCloud.Slot(place: changes, version: version)
        return .saved(changeTag: version.tag, modifiedMilliseconds: version.milliseconds)
    }
}

extension ModificationResult {
    fileprivate var hasFailed: Bool { if case .failed = self { true } else { false } }
}
