import BackstitchCore
import BackstitchLog

/// The last results of a live query, as far as they tell which changes concern it.
struct QueryResults {
    /// More changed records than this are not looked at one by one.
    private static let recordsMax = 256

    /// The last operation of each record, in the order of the results.
    let versions: [UInt64]
    private let keys: Set<RecordKey>

    init(_ records: [(key: RecordKey, version: UInt64)]) {
        versions = records.map(\.version)
        keys = Set(records.map(\.key))
    }

    /// Whether the results can be others after a change.
    ///
    /// A record concerns the query if it was among the results, or fits its conditions now. What
    /// an offset skips is not known here, so that every change counts.
    func areTouched<Model: Entity>(
        by changes: ChangeSet, _ query: Query<Model>, in store: Store
    ) throws -> Bool {
        guard changes.isComplete else { return true }
        guard let changed = changes.records[Model.entityName] else { return false }
        if query.offsetCount != 0 || changed.count > Self.recordsMax { return true }
        let (updated, deleted) = (changed.updated, changed.deleted)
        if !keys.isDisjoint(with: updated) || !keys.isDisjoint(with: deleted) { return true }
        return try store.read { transaction in
            let reader = transaction.reader
            let entity = try transaction.types.binding(of: Model.self).number
            let filter = try QueryFilter(query.lowered(), in: reader.entityBinding(entity))
            func fits(_ key: RecordKey) throws -> Bool {
                try key.bytes.withUnsafeBytes { key in
                    try reader.withRow(of: entity, key: key) { body in
                        try filter.holds(key: key, body: body)
                    } ?? false
                }
            }
            return try changed.inserted.contains(where: fits) || updated.contains(where: fits)
        }
    }
}
