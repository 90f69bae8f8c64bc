package import BackstitchCore
package import BackstitchLog

/// What a store says of a content: who names it, and whether the service has it.
package struct ContentStanding {
    private let content: ContentKey
    private let reader: TableReader
    /// The most operations that are looked at; a content that more name stays where it is.
    private static let operationsMax = 10_000

    package init(_ content: ContentKey, _ reader: TableReader) {
        (self.content, self.reader) = (content, reader)
    }

    /// The keys under which operations name the content: that of the hash, and that of the service's
    /// checksum where a record came before the content.
    private var keys: [ContentKey] {
        get throws {
            guard let checksum = try reader.meta.contentNote(content)?.checksum,
                !ContentHash.isDigits(checksum)
            else { return [content] }
            return [content, ContentKey(serviceChecksum: checksum)]
        }
    }

    /// Whether any operation in the log names it.
    package var isReferenced: Bool {
        get throws { try keys.contains { try ContentReferences(reader).isReferenced($0) } }
    }

    /// The hash that it stands for; nil if only the service knows the content.
    var knownContent: ContentKey? {
        get throws {
            var found: ContentKey?
            try visitHolders { _, asset, _ in
                found = try reader.meta.content(of: asset)
                return found == nil
            }
            return found
        }
    }

    /// Whether its file is here.
    func isHere(_ folder: ContentFolder) throws -> Bool {
        if folder.holds(content) { return true }
        var isHere = false
        try visitHolders { _, asset, _ in
            if let known = try reader.meta.content(of: asset), folder.holds(known) { isHere = true }
            return !isHere
        }
        return isHere
    }

    /// Whether a record holds it now.
    var isHeld: Bool {
        get throws {
            var isHeld = false
            try visitHolders { _, _, _ in
                isHeld = true
                return false
            }
            return isHeld
        }
    }

    /// Whether the service has it for certain, and nothing that is still to be pushed holds or names it: a
    /// record that holds it is on the service as it is here, and no other that does has edits to push.
    package var isOnService: Bool {
        get throws {
            var (isOnService, isNeeded) = (false, false)
            var visited = 0
            for key in try keys {
                try ContentReferences(reader).visit(key) { sequence in
                    visited += 1
                    guard visited <= Self.operationsMax, let (_, row) = try record(of: sequence),
                        try !isLocalOnly(sequence)
                    else {
                        isNeeded = try visited > Self.operationsMax || isLocalOnly(sequence)
                        return !isNeeded
                    }
                    if row.isDirty { isNeeded = sequence > row.syncedSequence }
                    return !isNeeded
                }
                if isNeeded { return false }
            }
            try visitHolders { _, _, row in
                // What a record with edits holds beside them may have to be pushed with them, if the
                // service's version is another by then.
                isNeeded = row.isDirty
                if row.hasChangeTag { isOnService = true }
                return !isNeeded
            }
            return isOnService && !isNeeded
        }
    }

    /// Whether a record can't be read without it: it has the content as the value of an attribute.
    var isExternal: Bool {
        get throws {
            var isExternal = false
            let keys = try self.keys
            try visitHolders { place, _, row in
                guard let table = reader.catalog.table(place.entity),
                    let fields = try row.currentFields
                else { return true }
                isExternal = fields.contains { field, value in
                    guard case .asset(let asset) = value, let key = ContentKey(asset) else {
                        return false
                    }
                    return keys.contains(key) && table.attribute(field)?.schema?.isExternal == true
                }
                return !isExternal
            }
            return isExternal
        }
    }

    /// Visits the records that hold the content now, until the closure returns false.
    package func visitHolders(
        _ visit: (StoredRecordID, Asset, RowView) throws -> Bool
    ) throws {
        let keys = try self.keys
        try visitNamers { place, row in
            guard !row.isDeleted, let fields = row.fields else { return true }
            var found: Asset?
            fields.visitAssets { asset in
                guard found == nil, let key = ContentKey(asset), keys.contains(key) else { return }
                found = asset
            }
            return try found.map { try visit(place, $0, row) } ?? true
        }
    }

    /// Visits the records that hold the content now or held it in an operation of the log, each once, until
    /// the closure returns false.
    package func visitNamers(_ visit: (StoredRecordID, RowView) throws -> Bool) throws {
        var seen: Set<StoredRecordID> = []
        var goesOn = true
        for key in try keys where goesOn {
            try ContentReferences(reader).visit(key) { sequence in
                guard let (place, row) = try record(of: sequence), seen.insert(place).inserted
                else { return true }
                goesOn = try visit(place, row) && seen.count < Self.operationsMax
                return goesOn
            }
        }
    }

    /// Whether the service was not to hear of an operation: it does not have what that names.
    private func isLocalOnly(_ sequence: UInt64) throws -> Bool {
        try reader.log.withOperation(sequence, verifies: false) { $0.origin == .localOnly } ?? false
    }

    /// The record of an operation, and its row; nil if it has none.
    private func record(of sequence: UInt64) throws -> (StoredRecordID, RowView)? {
        let place = try reader.log.withOperation(sequence, verifies: false) { operation in
            StoredRecordID(entity: operation.entity, key: try operation.key)
        }
        guard let place, let row = try reader.row(place.entity, place.key) else { return nil }
        return (place, row)
    }
}
