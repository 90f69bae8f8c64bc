/// What a look at the file `redo` found.
struct RedoInspection {
    /// Whether the data file needs it.
    var needsRecovery = false
    /// The commit that is wholly on disk in the data file; nil if the file is not needed.
    var base: RedoBase?
    /// What is wrong, as sentences.
    var problems: [String] = []
    /// The changes behind the base, in order.
    var changes: [[UInt8]] = []

    /// Looks at the file in a folder; a missing one is fine.
    init(_ folder: Folder, on boot: BootID?) throws(LMDBError) {
        guard let file = try RedoFile(in: folder, forWriting: false) else { return }
        let headers = try file.headers()
        if headers.contains(where: { $0.header == nil && !$0.isBlank }) {
            problems.append("A header of the file 'redo' is damaged.")
        }
        let header = try file.header()
        needsRecovery = header.needsRecovery(on: boot)
        guard header.state != .clean else { return }
        let first = try records(file, header.epoch, after: header.base.transaction)
        let count = UInt64(first.found.count)
        let second = try records(
            file, header.epoch + 1, after: header.base.transaction + count)
        if first.isCutOff || second.isCutOff {
            problems.append("A record of the file 'redo' is damaged, and later ones are not.")
        }
        guard needsRecovery else { return }
        base = header.base
        changes = first.found + second.found
    }

    private func records(
        _ file: RedoFile, _ epoch: UInt64, after previous: UInt64
    ) throws(LMDBError) -> (found: [[UInt8]], isCutOff: Bool) {
        let half = try file.half(of: epoch)
        return half.withUnsafeBytes { bytes in
            let ranges = RedoRecord.scan(bytes, epoch: epoch, after: previous)
            let end = ranges.last?.upperBound ?? 0
            let last = previous + UInt64(ranges.count)
            let isCutOff = RedoRecord.hasLater(bytes, epoch: epoch, after: last, from: end)
            return (ranges.map { Array(half[$0]) }, isCutOff)
        }
    }
}

extension RedoInspection {
    /// Shows what the changes behind the base put.
    func show(_ visit: (FileEntry) throws -> Void) throws {
        for changes in changes {
            try changes.withUnsafeBytes { bytes in
                try RedoBuffer.visitPuts(bytes) { database, key, value in
                    try visit(
                        FileEntry(database: database, place: .redo, key: key, value: value))
                }
            }
        }
    }
}

extension WaitingRecords {
    /// Shows what the records put.
    func show(_ visit: (FileEntry) throws -> Void) throws {
        for record in records {
            try record.visitPuts { database, entry in
                try visit(
                    FileEntry(
                        database: database, place: .journal, key: entry.keyBytes,
                        value: entry.valueBytes))
            }
        }
    }
}

extension RedoRecord {
    /// Whether a valid record of an epoch and a later transaction stands behind an offset.
    static func hasLater(
        _ half: UnsafeRawBufferPointer, epoch: UInt64, after transaction: UInt64, from start: Int
    ) -> Bool {
        var offset = (start + sectorBytes - 1) / sectorBytes * sectorBytes
        while offset + headBytes + hashBytes <= half.count {
            let rest = UnsafeRawBufferPointer(rebasing: half[offset...])
            let id = UInt64(
                littleEndian: rest.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            if id > transaction, !scan(rest, epoch: epoch, after: id &- 1).isEmpty { return true }
            offset += sectorBytes
        }
        return false
    }
}

extension RedoBuffer {
    /// Shows what recorded changes put, in order, as far as they can be read.
    static func visitPuts(
        _ changes: UnsafeRawBufferPointer,
        _ visit: (Int, UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Void
    ) rethrows {
        var rest = changes[...]
        while rest.count >= 8 {
            let head = UnsafeRawBufferPointer(rebasing: rest.prefix(8))
            let keyBytes = Int(
                UInt16(littleEndian: head.loadUnaligned(fromByteOffset: 2, as: UInt16.self)))
            let valueBytes = Int(
                UInt32(littleEndian: head.loadUnaligned(fromByteOffset: 4, as: UInt32.self)))
            rest = rest.dropFirst(8)
            guard rest.count >= keyBytes + valueBytes else { return }
            let key = UnsafeRawBufferPointer(rebasing: rest.prefix(keyBytes))
            let value = UnsafeRawBufferPointer(
                rebasing: rest.dropFirst(keyBytes).prefix(valueBytes))
            rest = rest.dropFirst(keyBytes + valueBytes)
            if head[0] & 3 == Change.put.rawValue { try visit(number(of: head), key, value) }
        }
    }
}
