import Threading

/// Writes the data file of a folder anew, with the entries that there are and nothing else.
///
/// In a file that is in use, deleted bytes stay in free pages, in the unused parts of others, and in keys
/// that separate pages. A new file has none of them, and neither does the folder: its journal
/// goes too.
package struct FileRewrite {
    /// Bytes of entries that one commit of a new file takes, but for the last entry.
    private static let bytesPerCommit = 4 << 20

    private let directory: String
    private var options: EnvironmentOptions

    /// - Parameter options: How the environment is opened.
    package init(of directory: String, options: EnvironmentOptions) {
        (self.directory, self.options) = (directory, options)
        self.options.createsIfMissing = false
    }

    /// Puts a new file in the place of the old one at once, complete, checked and on disk.
    ///
    /// Nobody may have the environment open.
    ///
    /// - Throws: `busy` if it is open, or was written to meanwhile; `notFoundPath`; `diskFull`: both files
    ///   are there for a while; what opening throws. Nothing is changed then.
    /// - Complexity: O(*n*) in the bytes of all entries.
    package func run() throws {
        let folder = Folder(path: directory)
        try folder.refuseOpen()
        // Recovers what is to be recovered, and puts what waits in a journal into the data file.
        try Environment.open(at: directory, options: options).close()
        let draft = try Draft(of: folder)
        let commit = try fill(draft.folder.path)
        try withExtendedLifetime(draft) {
            try EnvironmentFiles(at: directory).replaceData(
                movingFrom: draft.folder.path, after: commit)
        }
    }

    /// Copies all entries into a new environment.
    ///
    /// - Returns: The id of the last commit that the copy has.
    private func fill(_ draft: String) throws -> UInt64 {
        var reading = options
        reading.isReadOnly = true
        let source = try Environment.open(at: directory, options: reading)
        defer { source.close() }
        var writing = options
        writing.createsIfMissing = true
        writing.addsDatabases = true
        writing.durability = .relaxed
        writing.journal = nil
        let target = try Environment.open(at: draft, options: writing)
        defer { target.close() }
        return try source.read { snapshot in
            for name in options.databases {
                let (from, to) = (try source.database(name), try target.database(name))
                try snapshot.access.withCursor(in: from) { cursor in
                    var isThere = try cursor.first()
                    while isThere {
                        let part = try EntryRun(&cursor, &isThere, bytesMax: Self.bytesPerCommit)
                        try Self.append(part, to: to, of: target)
                    }
                }
            }
            return snapshot.id
        }
    }

    /// Adds entries behind all others of a database.
    private static func append(
        _ part: EntryRun, to database: Database, of target: Environment
    ) throws {
        try target.writer.submitAndWait {
            try target.write { transaction in
                for (key, value) in part.entries {
                    try key.withUnsafeBytes { key in
                        try value.withUnsafeBytes { value in
                            try transaction.access.append(key, value, in: database)
                        }
                    }
                }
            }
        }
    }
}

/// Entries that follow one another.
private struct EntryRun: Sendable {
    var entries: [(key: [UInt8], value: [UInt8])] = []

    /// Copies entries from where a cursor is, and leaves it at the first that it did not copy.
    init(_ cursor: inout Cursor, _ isThere: inout Bool, bytesMax: Int) throws {
        var bytes = 0
        while isThere, bytes < bytesMax {
            entries.append((Array(cursor.key), Array(cursor.value)))
            bytes += cursor.key.count + cursor.value.count
            isThere = try cursor.next()
        }
    }
}
