package import BackstitchCore

/// A record, wherever it is.
package struct StoredRecordID: Hashable, Sendable {
    package let entity: EntityNumber
    package let key: RecordKey

    package init(entity: EntityNumber, key: RecordKey) {
        self.entity = entity
        self.key = key
    }
}
