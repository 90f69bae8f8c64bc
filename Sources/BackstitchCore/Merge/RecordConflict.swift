public import Foundation

/// A record that was changed both here and on the service, with the values of each side. Resolvers,
/// events and the conflict journal use this type.
///
/// Values are by attribute name, those that the schema does not know among them; nil says that the
/// record does not exist on that side.
public struct RecordConflict: Hashable, Sendable {
    /// The record.
    public let record: RecordID
    /// The version that both sides started from; nil if each made the record by itself.
    public let base: [String: RecordValue]?
    /// The local version.
    public let local: [String: RecordValue]?
    /// The service's version.
    public let server: [String: RecordValue]?
    /// When the last local operation was made, by this device's clock; nil for a settled conflict.
    public let localDate: Date?
    /// When the service's version was saved, by the service's clock; nil for a settled conflict, and if
    /// the service deleted the record.
    public let serverDate: Date?
    /// The sequence of the operation that settled it, by which it is undone; 0 while a resolver is asked.
    public let sequence: UInt64
    /// When it was settled, by this device's clock; nil while a resolver is asked.
    public let date: Date?
    /// The policy that decided; nil while a resolver is asked.
    public let policy: ConflictPolicy?
    /// The outcome; nil if the record was deleted, and while a resolver is asked.
    public let outcome: [String: RecordValue]?
    /// The record that has the local version: a new one if both were kept, or the record that
    /// remains if this one was a duplicate with the same unique value.
    public let copy: RecordID?

    /// The attributes that both sides changed to different values, and that have no rule of their own: all
    /// that a resolver decides within a merge. Empty if a side deleted the record, and for a settled conflict.
    public let contested: Set<String>

    /// The attributes that differ between the base and the local version.
    public var locallyChanged: Set<String> { Self.changes(from: base, to: local) }
    /// The attributes that differ between the base and the service's version.
    public var changedOnService: Set<String> { Self.changes(from: base, to: server) }

    private static func changes(
        from base: [String: RecordValue]?, to side: [String: RecordValue]?
    ) -> Set<String> {
        guard let side else { return [] }
        let base = base ?? [:]
        return Set(base.keys).union(side.keys).filter { base[$0] != side[$0] }
    }
}

extension RecordConflict {
    /// A conflict that was settled.
    package init(
        _ report: ConflictReport, sequence: UInt64, clock: UInt64, table: EntityTable?,
        entity: EntityNumber, key: RecordKey
    ) {
        func values(_ fields: Fields?) -> [String: RecordValue]? {
            guard let fields else { return nil }
            if let table { return table.values(of: fields) }
            return Dictionary(
                uniqueKeysWithValues: fields.map { ("field \($0.field.rawValue)", $0.value) })
        }
        let name = table?.name ?? "entity \(entity.rawValue)"
        record = RecordID(entity: name, key: key)
        base = values(report.base)
        local = values(report.local)
        server = values(report.server)
        localDate = nil
        serverDate = nil
        contested = []
        self.sequence = sequence
        date = Date(milliseconds: LogicalClock.milliseconds(of: clock))
        policy = report.policy
        outcome = values(report.outcome)
        copy = report.copy.map { RecordID(entity: name, key: RecordKey($0, zone: key.zone)) }
    }

    /// A conflict that a resolver is asked about.
    package init(
        _ question: ConflictQuestion, of key: RecordKey, in table: EntityTable
    ) {
        func values(_ fields: Fields?) -> [String: RecordValue]? { fields.map(table.values) }
        record = RecordID(entity: table.name, key: key)
        base = values(question.base)
        local = values(question.local)
        server = values(question.server)
        localDate = Date(milliseconds: question.localMilliseconds)
        serverDate = question.serverMilliseconds.map { Date(milliseconds: $0) }
        contested = Set(question.contested.map(table.attributeName))
        sequence = 0
        (date, policy, outcome, copy) = (nil, nil, nil, nil)
    }
}
