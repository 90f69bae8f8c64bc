import BackstitchCore
import BackstitchLog
public import Foundation

/// Files that go along with exported records: each under its SHA-256, in a folder of their own.
extension StoreAssets {
    /// Copies the contents that records hold and that are on this device into a folder, which is made if it is
    /// not there. One that is in the folder already is left alone.
    ///
    /// - Returns: What was copied.
    /// - Throws: `full`, `inaccessible`, `io`; `assetCorrupt` if a content is not what its name says.
    public func export(to directory: URL) throws -> Usage {
        try export(to: directory.localPath())
    }

    package func export(to target: String) throws -> Usage {
        let held = try store.read { transaction in
            var held: [ContentKey] = []
            try ContentReferences(transaction.reader).visitAll { key, _ in
                let standing = ContentStanding(key, transaction.reader)
                if try standing.isHeld, let content = try standing.knownContent {
                    held.append(content)
                }
                return true
            }
            return Set(held)
        }
        var usage = Usage()
        for content in held.sorted(by: { $0.text < $1.text }) {
            try Task.checkCancellation()
            if let bytes = try folder.copy(content, into: target) { usage.note(bytes: bytes) }
        }
        return usage
    }

    /// Adds the files of a folder that have the names of their contents, as ``export(to:)`` leaves them, so that
    /// records which hold them can be imported.
    ///
    /// - Returns: What was added. Other files of the folder are left alone.
    /// - Throws: `assetCorrupt` for a file that is another content than its name says; `inaccessible`, `full`, `io`.
    public func importFiles(from directory: URL) async throws -> Usage {
        let path = try directory.localPath()
        var usage = Usage()
        for name in try ContentFolder.contentNames(in: path) {
            let added = try await add(contentsOf: directory.appendingPathComponent(name))
            guard added.content == name else {
                throw StoreError(
                    .assetCorrupt,
                    "The file '\(name)' is another content than its name says. Export it again.")
            }
            usage.note(bytes: added.byteCount)
        }
        return usage
    }
}
