import Backstitch
import Foundation
import Terminal

/// The JSON of an operation. Its keys are documented in the help and never change their meaning.
struct LogDocument: Encodable {
    struct Change: Encodable {
        let attribute: String
        var before: RecordValue?
        var after: RecordValue?
    }

    struct Settled: Encodable {
        let policy: String
        var base: [String: RecordValue]?
        var local: [String: RecordValue]?
        var server: [String: RecordValue]?
        var outcome: [String: RecordValue]?
        let copy: String?

        init(_ conflict: RecordConflict) {
            policy = conflict.policyName
            base = conflict.base
            local = conflict.local
            server = conflict.server
            outcome = conflict.outcome
            copy = conflict.copy?.name
        }
    }

    let sequence: UInt64
    let kind: String
    let origin: String
    let author: String
    let context: String
    let transaction: UInt64
    let date: String
    let entity: String
    let record: String
    let zone: String?
    let owner: String?
    let previous: UInt64
    var changes: [Change]
    let changeTag: String?
    let acknowledgedThrough: UInt64?
    let parkReason: String?
    var conflict: Settled?

    init(_ operation: LoggedOperation, of store: Store) {
        let zone = ZoneName(of: operation.record.key, in: store)
        sequence = operation.sequence
        kind = "\(operation.kind)"
        origin = "\(operation.origin)"
        author = operation.author
        context = operation.context
        transaction = operation.transaction
        date = operation.date.utc
        entity = operation.record.entity
        record = operation.record.name
        self.zone = zone?.name
        owner = zone?.owner
        previous = operation.previous
        changes = operation.changes.map {
            Change(attribute: $0.attribute, before: $0.before, after: $0.after)
        }
        changeTag = operation.changeTag
        acknowledgedThrough = operation.acknowledgedThrough
        parkReason = operation.parkReason
        conflict = operation.conflict.map(Settled.init)
    }
}

extension RecordConflict {
    /// The policy that decided, as the help names it.
    var policyName: String { policy.map { "\($0)" } ?? "" }
}
