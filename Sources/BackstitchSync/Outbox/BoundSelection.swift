package import BackstitchCore
import BackstitchLog
import BackstitchStore

/// A selection by the numbers of a store.
package struct BoundSelection: Sendable {
    /// The names of the only entities that are pulled; nil if those of a newer version are too.
    private let wantedTypes: Set<String>?
    /// The entities that are not exchanged. One that no schema declares is, if it may be of a newer version.
    var excluded: Set<EntityNumber> = []
    var filters: [EntityNumber: QueryFilter] = [:]

    /// A selection of everything.
    package init() { self.init(wantedTypes: nil) }

    init(wantedTypes: Set<String>?) { self.wantedTypes = wantedTypes }

    /// Whether records of a type are taken over.
    package func pulls(_ table: EntityTable?) -> Bool {
        guard let table else { return wantedTypes == nil }
        return !excluded.contains(table.number) && wantedTypes?.contains(table.name) != false
    }
}

extension BoundSelection {
    /// Whether a record's operations are not to be pushed.
    func holdsBack(
        _ place: StoredRecordID, _ row: RowView, _ reader: TableReader
    ) throws -> Bool {
        if excluded.contains(place.entity) { return true }
        guard let filter = filters[place.entity] else { return false }
        func isOut(_ body: UnsafeRawBufferPointer) -> Bool {
            let key = place.key.bytes
            do {
                return try unsafe !key.withUnsafeBytes {
                    try unsafe filter.holds(key: $0, body: body)
                }
            } catch {
                return true
            }
        }
        guard row.isDeleted else { return unsafe isOut(row.bodyBytes) }
        return try reader.log.withOperation(row.lastSequence) { operation in
            guard operation.kind == .delete else { return false }
            return unsafe isOut(try operation.before.bytes)
        } ?? false
    }
}
