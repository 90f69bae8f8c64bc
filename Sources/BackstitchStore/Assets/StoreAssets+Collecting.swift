import BackstitchCore
import BackstitchLog
public import Foundation
import LMDB

extension StoreAssets {
    /// The contents that are looked at in one transaction.
    private static let perCommit = 64
    /// How long a content stays that no record holds yet.
    private static let graceMilliseconds: Int64 = 3_600_000

    /// Removes the contents that nothing names any more: no record, no operation in the log and no
    /// conflict in the journal. ``Store/compact(_:progress:)`` does that too.
    ///
    /// Each content is looked at and removed inside a write transaction, so that no writer of any process
    /// saves a reference to it meanwhile. A crash leaves a content, or removes it; a reference is never left
    /// without its content.
    ///
    /// - Parameter date: Contents that were added later stay; nil is an hour ago.
    /// - Returns: What was removed.
    /// - Complexity: O(*n*) in the contents.
    @discardableResult
    public func collect(addedBefore date: Date? = nil) async throws -> Usage {
        guard store.environment.isOnDisk else { return Usage() }
        let folder = self.folder
        folder.emptyIncoming()
        let limit =
            date?.wholeMilliseconds
            ?? store.configuration.clock.milliseconds - Self.graceMilliseconds
        let noted = try store.read { try $0.reader.meta.contentNotes().keys.map(\.self) }
        let all = Set(folder.contents).union(noted).sorted { $0.text < $1.text }
        var removed = Usage()
        for start in stride(from: 0, to: all.count, by: Self.perCommit) {
            if Task.isCancelled { break }
            let part = all[start..<min(start + Self.perCommit, all.count)]
            let bytes = try await store.withLogWriter { log in
                try part.compactMap { content -> Int64? in
                    try Self.collect(content, addedBefore: limit, folder, log)
                }
            }
            bytes.forEach { removed.note(bytes: $0) }
        }
        try store.read { transaction in
            try folder.emptyPartial { content in
                let standing = ContentStanding(content, transaction.reader)
                return try standing.isHeld && !standing.isHere(folder)
            }
        }
        try await forgetOldReceipts()
        return removed
    }

    /// Takes away what is known of uploads that nobody can use any more: their records were saved by a
    /// request whose answer got lost, or never were.
    private func forgetOldReceipts() async throws {
        struct Receipt: Decodable {
            let until: Int64
        }
        let limit = store.configuration.clock.milliseconds - Self.receiptMilliseconds
        let old = try store.read { transaction in
            var names: [String] = []
            for prefix in [Self.receipts, Self.addresses].flatMap({ [$0 + ".", $0 + ":"] }) {
                try transaction.reader.meta.visit(prefix) { name, bytes in
                    let receipt = try? JSONDecoder().decode(Receipt.self, from: Data(bytes))
                    if let receipt, receipt.until > 0, receipt.until < limit {
                        names.append(prefix + name)
                    }
                    return true
                }
            }
            return names
        }
        guard !old.isEmpty else { return }
        try await store.withLogWriter { log in
            for name in old { try log.deleteMeta(name) }
        }
    }

    private static let receipts = "receipt"
    private static let addresses = "address"
    /// What the names of receipts of uploads for records of a zone begin with in `meta`.
    package static func receiptPrefix(in slot: UInt8) -> String {
        receipts + MetaName.suffix(of: slot) + "."
    }
    /// What the names of addresses of uploads for records of a zone begin with.
    package static func addressPrefix(in slot: UInt8) -> String {
        addresses + MetaName.suffix(of: slot) + "."
    }
    /// How long a receipt that ended stays.
    private static let receiptMilliseconds: Int64 = 86_400_000

    /// Removes a content if nothing names it.
    ///
    /// - Returns: Its bytes; nil if it stays, or was gone.
    private static func collect(
        _ content: ContentKey, addedBefore limit: Int64, _ folder: ContentFolder, _ log: LogWriter
    ) throws -> Int64? {
        let note = try log.reader.meta.contentNote(content)
        guard note?.isPinned != true,
            try !ContentStanding(content, log.reader).isReferenced,
            note?.added ?? folder.changedMilliseconds(content) ?? .min < limit
        else { return nil }
        let bytes = folder.byteCount(content)
        // Before the commit: if that fails, nothing names the content all the same.
        try folder.remove(content)
        try ContentNotes(log).forget(content)
        return bytes
    }

    /// Takes contents off this device that the service has, those first that were not opened for longest,
    /// until all that is here has at most so many bytes.
    ///
    /// What the service is not known to have stays, and so do pinned contents and the values of external
    /// attributes. Open readers continue to work.
    ///
    /// - Returns: What was evicted. ``open(_:)`` downloads it again.
    /// - Complexity: O(*n*) in the contents and the operations that name them.
    @discardableResult
    public func evict(downTo bytes: Int64) async throws -> Usage {
        let folder = self.folder
        var left = usage().bytes
        var evicted = Usage()
        let notes = try store.read { try $0.reader.meta.contentNotes() }
        let candidates = folder.contents.sorted { one, other in
            let (first, second) = (notes[one]?.used ?? 0, notes[other]?.used ?? 0)
            return (first, one.text) < (second, other.text)
        }
        for content in candidates {
            guard left > bytes else { break }
            try Task.checkCancellation()
            let removed = try await store.withLogWriter { log -> Int64? in
                let standing = ContentStanding(content, log.reader)
                guard try log.reader.meta.contentNote(content)?.isPinned != true,
                    try standing.isOnService, try !standing.isExternal
                else { return nil }
                let bytes = folder.byteCount(content)
                try folder.remove(content)
                return bytes
            }
            guard let removed else { continue }
            left -= removed
            evicted.note(bytes: removed)
        }
        return evicted
    }

    /// Moves a content away that is not what its name says, so that it is downloaded or added again.
    package func setAside(_ content: ContentKey) async throws {
        let folder = self.folder
        try await store.withLogWriter { _ in try folder.setAside(content) }
    }

    /// Compares every content with its hash, and looks for contents that are neither here nor on the
    /// service.
    ///
    /// One that is not what its name says, or no regular file, is moved to `blobs/corrupt`, so that it is
    /// downloaded or added again.
    ///
    /// - Complexity: O(*n*) in the bytes of all contents.
    public func verify() async throws -> Verification {
        try await verify(movesCorrupt: true) { _, _ in }
    }

    /// Compares as ``verify()`` does, and changes nothing.
    package func examine() async throws -> Verification {
        try await verify(movesCorrupt: false) { _, _ in }
    }

    /// As ``verify()``, with a choice.
    ///
    /// - Parameters:
    ///   - movesCorrupt: Whether contents that differ are moved; otherwise the store is only read.
    ///   - progress: Told how many contents of how many were compared.
    package func verify(
        movesCorrupt: Bool, progress: (_ done: Int, _ total: Int) -> Void
    ) async throws -> Verification {
        let folder = self.folder
        var report = Verification()
        let contents = folder.contents.sorted { $0.text < $1.text }
        for (number, content) in contents.enumerated() {
            try Task.checkCancellation()
            progress(number, contents.count)
            var isWhole = false
            do {
                isWhole = try ContentFolder.hash(ofFileAt: folder.path(content)).key == content
            } catch  where !folder.holds(content) {
                // It was removed in between, or it is a link, a pipe or a folder.
                guard folder.isTaken(content) else { continue }
            }
            report.checked += 1
            guard !isWhole else { continue }
            if movesCorrupt { try await setAside(content) }
            report.corrupt.append(content.text)
        }
        report.missing = try store.read { transaction in
            let reader = transaction.reader
            var missing: [String] = []
            try ContentReferences(reader).visitAll { content, _ in
                let standing = ContentStanding(content, reader)
                if try !standing.isHere(folder), try standing.isHeld, try !standing.isOnService {
                    missing.append(content.text)
                }
                return true
            }
            return missing
        }
        report.orphans = try store.read { transaction in
            try folder.contents.filter {
                try !ContentStanding($0, transaction.reader).isReferenced
            }.count
        }
        return report
    }
}
