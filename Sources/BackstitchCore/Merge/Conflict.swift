public import Foundation

/// A conflict that was settled, with all its sides, as the conflict journal keeps it.
///
/// Values are by attribute name; nil says that the record did not exist on that side.
public struct Conflict: Hashable, Sendable {
    /// The sequence of the operation that settled it.
    public let sequence: UInt64
    /// When it was settled, by this device's clock.
    public let date: Date
    /// The name of the entity.
    public let entity: String
    /// The record's zone and name.
    public let record: RecordKey
    /// The policy that decided.
    public let policy: ConflictPolicy
    /// The version that both sides started from.
    public let base: [String: Value]?
    /// The local version.
    public let local: [String: Value]?
    /// The service's version.
    public let server: [String: Value]?
    /// What both sides agreed on.
    public let outcome: [String: Value]?
    /// The record that has the local version: a new one if both were kept, or the one that this
    /// one became one with, because a unique attribute had the same value.
    public let copy: RecordName?
}

extension Conflict {
    package init(
        _ report: ConflictReport, sequence: UInt64, clock: UInt64, table: EntityTable?,
        entity: EntityNumber, record: RecordKey
    ) {
        func values(_ fields: Fields?) -> [String: Value]? {
            guard let fields else { return nil }
            if let table { return table.values(of: fields) }
            return Dictionary(
                uniqueKeysWithValues: fields.map { ("field \($0.field.rawValue)", $0.value) })
        }
        self.sequence = sequence
        date = Date(milliseconds: LogicalClock.milliseconds(of: clock))
        self.entity = table?.name ?? "entity \(entity.rawValue)"
        self.record = record
        policy = report.policy
        base = values(report.base)
        local = values(report.local)
        server = values(report.server)
        outcome = values(report.outcome)
        copy = report.copy
    }
}
