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
        // One that is there is applied all the same.
        self.options.journal = nil
    }

    /// Puts a new file in the place of the old one at once, complete, checked and on disk.
    ///
    /// Nobody may have the environment open, and from the beginning on nobody can open it.
    ///
    /// - Throws: `busy` if it is open, or was written to meanwhile; `notFoundPath`; `diskFull`: both files
    ///   are there for a while; what opening throws. Nothing is changed then.
    /// - Complexity: O(*n*) in the bytes of all entries.
    package func run() throws {
        let folder = Folder(path: directory)
        try folder.refuseOpen()
        // Recovers what is to be recovered, and puts what waits in a journal into the data file.
        try Environment.open(at: directory, options: options).close()
        var reading = options
        reading.isReadOnly = true
        let source = try Environment.open(at: directory, options: reading)
        defer { source.close() }
        let lock = try RepairLock(folder)
        let staging = try StagingFolder(of: folder)
        let commit = try fill(staging.folder.path, from: source)
        source.close()
        let path = staging.folder.path
        try EnvironmentFiles(at: directory).replaceData(
            movingFrom: path, after: commit, holding: lock)
        withExtendedLifetime(staging) {}
    }

    /// Copies all entries into a new environment.
    ///
    /// - Returns: The id of the last commit that the copy has.
    private func fill(_ staging: String, from source: Environment) throws -> UInt64 {
        var writing = options
        writing.createsIfMissing = true
        writing.durability = .relaxed
        writing.journal = nil
        let target = try Environment.open(at: staging, options: writing)
        defer { target.close() }
        return try source.read { snapshot in
            let access = snapshot.access
            let members = access.members
            if members > 0 {
                try target.writer.submitAndWait {
                    try target.write { try $0.access.makeMembers(through: members) }
                }
            }
            for name in options.databases {
                try Self.copy(source.database(name), of: access, to: target) { _ in
                    try target.database(name)
                }
            }
            for member in 1..<(members + 1) {
                guard let rows = access.member(member) else { continue }
                try Self.copy(rows, of: access, to: target) { access in
                    guard let copy = access.member(member) else {
                        throw LMDBError.noMember(member)
                    }
                    return copy
                }
            }
            return snapshot.id
        }
    }

    /// Adds the entries of a database to one of a new file, behind its last one.
    ///
    /// - Parameter place: The database of the new file.
    private static func copy(
        _ database: Database, of access: Access, to target: Environment,
        place: @escaping @Sendable (Access) throws -> Database
    ) throws {
        try access.withCursor(in: database) { cursor in
            var isThere = try cursor.first()
            while isThere {
                let run = try EntryRun(&cursor, &isThere, bytesMax: bytesPerCommit)
                try target.writer.submitAndWait {
                    try target.write { transaction in
                        try run.append(to: place(transaction.access), transaction.access)
                    }
                }
            }
        }
    }
}

extension LMDBError {
    fileprivate static func noMember(_ member: Int) -> LMDBError {
        LMDBError(.damaged, "An entry belongs to database \(member), which is not there.")
    }
}

/// Entries that follow one another.
private struct EntryRun: Sendable {
    private var entries: [(key: [UInt8], value: [UInt8])] = []

    /// Copies entries from where a cursor is, and leaves it at the first that it did not copy.
    init(_ cursor: inout Cursor, _ isThere: inout Bool, bytesMax: Int) throws {
        var bytes = 0
        while isThere, bytes < bytesMax {
            entries.append((Array(cursor.key), Array(cursor.value)))
            bytes += cursor.key.count + cursor.value.count
            isThere = try cursor.next()
        }
    }

    func append(to database: Database, _ access: Access) throws {
        for entry in entries {
            try entry.key.withUnsafeBytes { key in
                try entry.value.withUnsafeBytes { value in
                    try access.append(key, value, in: database)
                }
            }
        }
    }
}
