import Glibc

/// The records that follow the last commit of a data file, read without opening the environment.
struct WaitingRecords {
    /// A whole record.
    struct Record {
        let bytes: [UInt8]

        /// Shows what it puts, in order.
        func visitPuts(_ visit: (_ database: UInt16, OverlayEntry) throws -> Void) throws {
            try bytes.withUnsafeBytes { bytes in
                var puts: [(UInt16, OverlayEntry)] = []
                try JournalRecord.visitChanges(of: bytes) { database, entry in
                    if entry.change != .delete { puts.append((database, entry)) }
                }
                for (database, entry) in puts { try visit(database, entry) }
            }
        }
    }

    private(set) var records: [Record] = []
    /// What is wrong, as sentences.
    private(set) var problems: [String] = []

    /// Reads the records in a folder; there are none without a journal.
    init(in folder: Folder, behind file: DataFile) throws(LMDBError) {
        let meta = try file.newestMeta()
        var walk = PageWalk(
            file: file, meta: meta, pageCount: try file.byteCount() / meta.pageBytes)
        guard let bytes = try walk.unnamedValue(of: JournalState.name) else { return }
        let known = bytes.withUnsafeBytes { JournalState($0, transaction: meta.transaction) }
        guard let position = known else {
            problems.append("The data file has a damaged position of its journal.")
            return
        }
        guard
            let journal = try JournalFile.open(in: folder, isReadOnly: true),
            journal.id == position.journal
        else {
            if position.mayHaveRecords {
                problems.append("The journal with the last commits is missing.")
            }
            return
        }
        try read(journal, behind: position)
    }

    private mutating func read(
        _ journal: JournalFile, behind position: JournalState
    ) throws(LMDBError) {
        var block: JournalBlock?
        func next(
            _ number: UInt64, behind link: JournalLink
        ) throws(LMDBError) -> (place: JournalOffset, hash: UInt64, bytes: UnsafeRawBufferPointer)?
        {
            try journal.read(number, following: link) { JournalBlock.with($0, &block).free }
        }
        let words = try journal.words(boot: .current)
        let tail = words.knownTail
        var number = position.number + 1
        var link = position.link
        while let found = try next(number, behind: link) {
            records.append(Record(bytes: Array(found.bytes)))
            link = JournalLink(chain: found.hash, place: found.place)
            link.place.offset += found.bytes.count
            number += 1
        }
        if let tail {
            guard tail >= number else { return }
            return problems.append("The file 'journal' lacks records that were committed.")
        }
        do throws(LMDBError) {
            try position.check(journal, words, end: number - 1)
        } catch {
            guard error.code == .damaged else { throw error }
            problems.append("The file 'journal' lacks records that were committed.")
        }
        // A record that came meanwhile is no later one.
        if try journal.hasRecord(from: number), try next(number, behind: link) == nil {
            problems.append("A record of the file 'journal' is damaged, and later ones are not.")
        }
    }

    /// The value of a key after its last change; `nil` if no change of it waits, and nothing in an
    /// optional if it is deleted.
    func change(
        of key: [UInt8], inDatabase number: UInt16
    ) throws(LMDBError) -> [UInt8]?? {
        var last: [UInt8]??
        for record in records {
            let result = record.bytes.withUnsafeBytes { bytes in
                Result { () throws(LMDBError) in
                    try JournalRecord.visitChanges(of: bytes) { database, entry in
                        guard database == number, entry.keyBytes.elementsEqual(key) else { return }
                        let value = entry.change == .delete ? nil : Array(entry.valueBytes)
                        last = .some(value)
                    }
                }
            }
            try result.get()
        }
        return last
    }
}

extension Folder {
    /// Whether a journal has commits that the data file lacks.
    var hasWaitingRecords: Bool {
        get throws(LMDBError) {
            let descriptor = Glibc.open(dataPath, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw LMDBError(errno: errno, "open", path: dataPath) }
            defer { Glibc.close(descriptor) }
            let file = DataFile(descriptor: descriptor, path: dataPath)
            return try !WaitingRecords(in: self, behind: file).records.isEmpty
        }
    }
}
