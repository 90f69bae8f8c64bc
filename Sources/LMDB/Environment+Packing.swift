import CLMDB

/// What one step of packing or moving did.
package struct PagePacking: Hashable, Sendable {
    /// Where the next step goes on; nil at the end of the database.
    package var next: [UInt8]?
    /// The pages that were rewritten, or the entries that were put again to move theirs.
    package var pages = 0
}

extension Environment {
    /// The leaf pages that one step looks at while writers wait.
    package static let pagesPerPacking = 128

    /// Rewrites the next pages of a database if they are far from full, on the ``writer`` thread
    /// only.
    ///
    /// Splits leave pages half empty, and values that shrink do. The entries are deleted and put
    /// again in order, in one commit, which leaves full pages; what is stored stays the same. The
    /// pages that become free go to the commits that follow, or by ``releaseFreePages(below:budget:)``
    /// to the file system.
    ///
    /// - Parameters:
    ///   - key: Where to begin; nil for the first entry.
    ///   - pagesMax: The most pages that are rewritten.
    /// - Throws: As ``write(_:)``; `damaged` if a page is.
    package func packPages(
        of database: Database, from key: [UInt8]? = nil, pagesMax: Int = pagesPerPacking
    ) throws -> PagePacking {
        var packing = PagePacking()
        do {
            try writeDirectly { transaction in
                transaction.mayTakeReserve()
                let window = try core.leaves(of: database, from: key, pagesMax: pagesMax)
                packing = PagePacking(next: window.next)
                let runs = LeafRun.runs(of: window.leaves, pageBytes: core.pageInfo.bytes)
                for run in runs where run.isSparse {
                    try transaction.access.rewrite(run, in: database)
                    packing.pages += run.leaves.count
                }
                if packing.pages == 0 { throw NothingToCommit() }
            }
        } catch is NothingToCommit {}
        return packing
    }

    /// Makes a commit that changes nothing, so that the pages that the one before freed can be used,
    /// and syncs the data file, so that the redo file pins no older commit.
    ///
    /// - Parameter database: One that is not empty; in an empty one nothing happens.
    package func commitNothing(in database: Database) throws {
        try writeDirectly { transaction in
            transaction.mayTakeReserve()
            transaction.access.syncsDataFile()
            var first: [UInt8]?
            try transaction.access.withCursor(in: database) { cursor in
                if try cursor.first() { first = Array(cursor.key) }
            }
            if let first { _ = try transaction.access.putAgain(first, in: database) }
        }
    }
}

extension EnvironmentCore {
    /// Leaf pages of a database as of the last commit, read with `pread`. Nobody writes meanwhile.
    func leaves(
        of database: Database, from key: [UInt8]?, pagesMax: Int
    ) throws(LMDBError) -> LeafWindow {
        let file = DataFile(descriptor: descriptor, path: folder.dataPath)
        let meta = try file.newestMeta()
        var walk = PageWalk(
            file: file, meta: meta, pageCount: try file.byteCount() / meta.pageBytes)
        guard let name = options.name(ofDatabase: database.index),
            let tree = try walk.tree(named: name)
        else { return LeafWindow() }
        return try walk.leaves(from: key, in: tree, pagesMax: pagesMax)
    }
}

extension Access {
    /// Deletes the entries of all but the first page of a run, and puts them again, in order.
    fileprivate func rewrite(_ run: LeafRun, in database: Database) throws {
        guard let first = run.firstKey else { return }
        syncsDataFile()
        let count = run.entries
        var bytes: [UInt8] = []
        var entries: [(key: Range<Int>, value: Range<Int>)] = []
        entries.reserveCapacity(count)
        try withCursor(in: database) { cursor in
            var isThere = try first.withUnsafeBytes { try cursor.seek(atOrAfter: $0) }
            while isThere, entries.count < count {
                let start = bytes.count
                bytes.append(contentsOf: cursor.key)
                let middle = bytes.count
                bytes.append(contentsOf: cursor.value)
                entries.append((start..<middle, middle..<bytes.count))
                isThere = try cursor.next()
            }
        }
        try bytes.withUnsafeBytes { bytes in
            for entry in entries {
                try delete(UnsafeRawBufferPointer(rebasing: bytes[entry.key]), in: database)
            }
            for entry in entries {
                try put(
                    UnsafeRawBufferPointer(rebasing: bytes[entry.key]),
                    UnsafeRawBufferPointer(rebasing: bytes[entry.value]), in: database)
            }
        }
    }

    /// Makes the commit sync the data file itself, and not go through the redo file.
    func syncsDataFile() {
        state?.pointee.redo.begin(isRecording: false)
    }
}
