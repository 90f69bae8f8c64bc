import BackstitchCore

/// The entries of a table whose keys start with the bytes of an array.
struct TableEntries {
    private let reader: TableReader
    private let prefix: [UInt8]

    init(_ reader: TableReader, startingWith prefix: [UInt8]) {
        self.reader = reader
        self.prefix = prefix
    }

    /// Visits the entries in key order, from a key on, until the closure returns false.
    func visit(from start: [UInt8]? = nil, _ visit: StoredEntries.Visit) throws {
        try unsafe prefix.withUnsafeBytes { bytes in
            try unsafe (start ?? prefix).withUnsafeBytes {
                try unsafe reader.visit(prefix: bytes, from: $0, visit)
            }
        }
    }
}
