import BackstitchCore
import BackstitchLog
import BackstitchStore

/// The records of a pass that are not pushed yet, because files of theirs are not on the service, or
/// records that they need wait for that.
struct WaitingFiles {
    private let receipts: ReceiptReader
    /// The files that are to be uploaded.
    private(set) var uploads: [AssetUpload] = []
    /// The records that wait.
    private(set) var waiting: Set<RecordKey> = []
    /// The records whose files can't be uploaded.
    private(set) var refused: [(change: PendingChange, reason: String)] = []

    init(_ receipts: ReceiptReader) { self.receipts = receipts }

    /// Puts receipts into an item. Files that may come afterwards are left to a later pass, if there is
    /// anything to push without them.
    ///
    /// - Returns: Whether it can be pushed.
    mutating func complete(
        _ item: inout PushItem, _ change: PendingChange, _ catalog: CatalogSnapshot
    ) throws -> Bool {
        let values: Fields
        switch change.push {
        case .create(let fields), .update(let fields): values = fields
        case .nothing, .delete: return true
        }
        guard values.holdsAssets else { return true }
        var files: NamedFields = [:]
        var isReady = true
        let later = afterwards(values, change, catalog)
        for (field, value) in values {
            guard let attribute = catalog.table(change.entity)?.attribute(field),
                let file = try receipts.value(
                    value, recordName: item.modification.recordName,
                    recordType: change.entityName, fieldName: attribute.name)
            else { continue }
            switch file {
            case .ready(let value): files[attribute.name] = value
            case .waits(let more):
                uploads += more
                if later.contains(attribute.name) {
                    item.deferredFields.insert(attribute.name)
                } else {
                    isReady = false
                }
            case .refused where later.contains(attribute.name):
                item.deferredFields.insert(attribute.name)
            case .refused(let reason):
                refused.append((change, reason))
                return false
            }
        }
        if !isReady { waiting.insert(change.key) }
        if !files.isEmpty { item.modification = item.modification.setting(files) }
        return isReady
    }

    /// The names of the fields whose files may come after the rest of a change; none if nothing else is
    /// to be pushed.
    private func afterwards(
        _ values: Fields, _ change: PendingChange, _ catalog: CatalogSnapshot
    ) -> Set<String> {
        guard let table = catalog.table(change.entity) else { return [] }
        let later = values.compactMap { field, value -> String? in
            guard value.holdsAssets, let attribute = table.attribute(field),
                attribute.schema?.isAfterwards == true
            else { return nil }
            return attribute.name
        }
        if case .update = change.push, later.count == values.count { return [] }
        return Set(later)
    }

    /// Holds back edits of records whose file another record is to get, if the file is not on this device.
    ///
    /// The service has the only copy then, and an edit could remove it before it is uploaded again.
    ///
    /// - Parameter earlier: The files that earlier passes of the round wait for, those of other zones too.
    mutating func keepSources(
        _ reader: TableReader, _ folder: ContentFolder, earlier: [AssetUpload]
    ) throws {
        for upload in Set(uploads).union(earlier) {
            guard let key = ContentKey(upload.asset),
                try reader.meta.content(of: upload.asset).map(folder.holds) != true
            else { continue }
            try ContentStanding(key, reader).visitNamers { place, row in
                let isHere = place.key.zone == receipts.place.slot
                if isHere, row.isDirty, row.hasChangeTag { waiting.insert(place.key) }
                return true
            }
        }
    }

    /// Whether neither an item waits nor a record that it needs; notes it as waiting otherwise.
    ///
    /// Items come after what they need, as records are saved after those that they refer to; one that
    /// comes before is refused by the service, and pushed when the other has arrived.
    mutating func isReady(_ item: PushItem) -> Bool {
        let record = key(item.modification.recordName)
        guard
            waiting.contains(record) || item.requires.contains(where: { waiting.contains(key($0)) })
        else { return true }
        waiting.insert(record)
        return false
    }

    private func key(_ recordName: String) -> RecordKey {
        RecordKey(RecordName(recordName), zone: receipts.place.slot)
    }
}

extension RecordModification {
    /// The modification with other values of some fields.
    fileprivate func setting(_ files: NamedFields) -> RecordModification {
        switch self {
        case .create(let name, let type, let fields):
            .create(
                recordName: name, recordType: type,
                fields: fields.merging(files))
        case .update(let name, let type, let tag, let fields):
            .update(
                recordName: name, recordType: type, changeTag: tag,
                fields: fields.merging(files))
        case .delete: self
        }
    }
}
