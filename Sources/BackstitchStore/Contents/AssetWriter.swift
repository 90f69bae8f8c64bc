import BackstitchCore
import BackstitchLog
public import Foundation
import Glibc
import LMDB

/// Takes the content of a file in parts, so memory use does not grow with its size.
public final class AssetWriter {
    private let folder: ContentFolder
    private var file: (path: String, descriptor: Int32)?
    private var hash = SHA256()

    init(_ folder: ContentFolder) throws {
        self.folder = folder
        file = try folder.beginIncoming()
    }

    deinit { discard() }

    /// The bytes that came so far.
    public var byteCount: Int64 { Int64(hash.byteCount) }

    /// Appends bytes.
    ///
    /// - Throws: `full` or `io`. The file can't be added then.
    public func write(_ bytes: some ContiguousBytes) throws {
        try unsafe bytes.withUnsafeBytes { try unsafe write($0) }
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws {
        guard let file else {
            throw StoreError(.io, "The file was ended, or could not be written. Begin a new one.")
        }
        var offset = 0
        while offset < bytes.count {
            let part = unsafe UnsafeRawBufferPointer(rebasing: bytes[offset...])
            let count = unsafe Glibc.write(file.descriptor, part.baseAddress, part.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                let failure = ContentFolder.failure("write the file '\(file.path)'")
                discard()
                throw failure
            }
            offset += count
        }
        unsafe hash.update(bytes)
    }

    /// Ends the file, which is on disk when this returns, but not under its name.
    ///
    /// - Returns: Its path, and what it holds.
    func end() throws -> (path: String, content: ContentKey, byteCount: Int64) {
        guard let file else {
            throw StoreError(.io, "The file could not be written. Add it again.")
        }
        guard fsync(file.descriptor) == 0 else {
            let failure = ContentFolder.failure("sync the file '\(file.path)'")
            discard()
            throw failure
        }
        return (file.path, ContentKey(hash: hash.finish()), byteCount)
    }

    /// Gives the lock on the file back: it has its name, or is gone.
    func release() {
        if let file { FileLease.close(locked: file.descriptor) }
        file = nil
    }

    /// Removes the file.
    func discard() {
        if let file { unsafe unlink(file.path) }
        release()
    }
}
