import Backstitch
import BackstitchCore

/// What became of the operations that a device made itself: each is counted in exactly one place.
struct DemoAccount: Equatable {
    /// Made here: saves, deletes, and what a conflict policy rebased.
    var made = 0
    /// The service has them.
    var acknowledged = 0
    /// A conflict policy decided against them, and the journal keeps their values.
    var superseded = 0
    /// They wait with a reason.
    var parked = 0
    /// They wait to be pushed.
    var unsynced = 0
    /// Gone without a trace.
    var lost = 0
}

extension DemoAccount {
    private struct Place: Hashable {
        let entity: EntityNumber
        let key: RecordKey
    }

    /// Walks the log of a store and settles each operation by what the log says after it.
    init(_ store: Store) throws {
        self = try store.read { transaction in
            var account = DemoAccount()
            var waiting: [Place: [UInt64]] = [:]
            try transaction.reader.log.visit(from: 1) { operation in
                let isContent = operation.kind.changesContent
                let isRemote = operation.origin == .remote
                guard isContent || operation.kind == .acknowledge else { return true }
                let place = Place(entity: operation.entity, key: try operation.key)
                if isContent, !isRemote {
                    account.made += 1
                    waiting[place, default: []].append(operation.sequence)
                } else if let sequences = waiting.removeValue(forKey: place) {
                    let through = operation.stamp?.acknowledgedThrough ?? 0
                    let rest = sequences.filter { $0 > through }
                    account.acknowledged += sequences.count - rest.count
                    if rest.isEmpty { return true }
                    if operation.kind == .acknowledge {
                        waiting[place] = rest
                    } else if unsafe operation.conflictBytes != nil {
                        account.superseded += rest.count
                    } else {
                        account.lost += rest.count
                    }
                }
                return true
            }
            for (place, sequences) in waiting {
                guard let table = transaction.reader.catalog.table(place.entity) else { continue }
                let record = try transaction.record(
                    RecordID(entity: table.name, key: place.key), includesDeleted: true)
                switch record {
                case .none: account.lost += sequences.count
                case .some(let record) where record.state == .parked:
                    account.parked += sequences.count
                case .some: account.unsynced += sequences.count
                }
            }
            return account
        }
    }
}
