import BackstitchCore
import Threading

extension SimulatedCloud {
    /// The bytes of the bodies of all uploads so far, those that were cut included.
    public var uploadedFileBytes: Int64 { state.withLock { $0.files.receivedBytes } }

    /// How many uploads were gone on with after a cut.
    public var resumedUploads: Int { state.withLock { $0.files.resumedCount } }

    /// How many files the server keeps.
    public var fileCount: Int { state.withLock { $0.files.contents.count } }

    /// How many of them no record holds.
    public var orphanedFileCount: Int {
        state.withLock { state in
            let held = state.heldChecksums
            return state.files.contents.keys.count { !held.contains($0) }
        }
    }

    /// Removes the files that no record holds and no receipt promises, as a server does now and then.
    public func collectFiles() {
        state.withLock { state in
            let held = state.heldChecksums
            state.files.removeContents(but: held, now: state.stamp.milliseconds)
        }
    }

    /// The checksums of the files that the server keeps, and of those that records hold.
    package var fileChecksums: (kept: Set<String>, held: Set<String>) {
        state.withLock { (Set($0.files.contents.keys), $0.heldChecksums) }
    }

    /// The checksum that a server gives to a content.
    package static func fileChecksum(of bytes: [UInt8], isOpaque: Bool) -> String {
        SimulatedFiles.checksum(of: bytes, opaque: isOpaque)
    }

    /// Has no receipt of an upload that was given out so far be good any more.
    public func expireReceipts() { state.withLock { $0.files.expireReceipts() } }

    /// Has no address for a download that was given out so far be good any more.
    public func expireAddresses() { state.withLock { $0.files.expireAddresses() } }

    /// Loses all files, as a server does by an accident.
    public func loseFiles() {
        state.withLock { state in
            for checksum in state.files.contents.keys.sorted() { state.files.lose(checksum) }
        }
    }

    /// Changes a byte of every file.
    public func damageFiles() {
        state.withLock { state in
            for checksum in state.files.contents.keys.sorted() { state.files.damage(checksum) }
        }
    }
}
