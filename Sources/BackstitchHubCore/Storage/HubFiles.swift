import WireCrypto

/// A file by its content. Databases share none, so that each can be measured and erased alone.
package struct HubFile: Hashable, Sendable {
    /// That of the database whose records hold the file.
    package let partition: Partition
    /// The SHA-256 of the content in hexadecimal digits.
    package let checksum: String
    /// The object of a bucket that has the content; nil for a file in a folder.
    package var object: Object?

    /// An object of a bucket.
    package struct Object: Hashable, Sendable {
        /// What tells it from other objects with the same content. No two objects ever have the same.
        package let name: String
        package let byteCount: Int
    }

    /// nil if the text is no checksum.
    package init?(_ partition: Partition, _ checksum: String) {
        let digits = checksum.utf8
        guard digits.count == Digest.byteCount * 2,
            digits.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
        else { return nil }
        (self.partition, self.checksum) = (partition, checksum)
    }

    /// The file as addresses name it.
    package var text: String { "\(partition.text)-\(checksum)" }

    /// nil if the text names no file.
    package init?(text: String) {
        guard let (partition, checksum) = Partition.split(text) else { return nil }
        self.init(partition, String(checksum))
    }
}

extension Partition {
    /// The partition that a text begins with, and what comes after the hyphen; nil if there is none.
    package static func split(_ text: String) -> (Partition, Substring)? {
        let parts = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let partition = Partition(text: parts[0]) else { return nil }
        return (partition, parts[1])
    }
}

/// Where a hub keeps files.
///
/// Names come from the hub alone, so that no request can name another file.
package protocol HubFiles: Sendable {
    /// What is needed for objects of a bucket; nil if files are none.
    var objects: HubObjects? { get }

    /// Takes the hub's data for this process, and removes what uploads left that were cut, if no other hub can
    /// have some under way.
    ///
    /// - Throws: A failure that says who else has it.
    func beginServing() throws

    /// Lets others take the data.
    func endServing()

    /// Whether uploads can be written: makes a file where they arrive, and removes it. It waits for the disk.
    func tryWriting() -> FileSpace

    /// Removes what uploads of any hub left that were cut a day ago. It waits for the disk.
    func removeOldUploads()

    // MARK: Files

    // What is said of a file holds for its object, if it names one. It takes the round trips of a network then.

    /// The place of a file that is no object, whether it is there or not.
    func path(_ file: HubFile) -> String

    /// The size of a file in bytes; nil if it is not there.
    func byteCount(_ file: HubFile) throws -> Int?

    /// Bytes of a file.
    ///
    /// - Parameter range: Where they lie; what of it is behind the file's end is left out.
    /// - Throws: A failure if the file is not there or can't be read.
    func read(_ file: HubFile, _ range: Range<Int>) throws -> [UInt8]

    /// Removes a file; nothing happens if it is not there.
    ///
    /// - Returns: Whether it is gone.
    func remove(_ file: HubFile) throws -> Bool

    /// Removes all files of a partition that are no objects.
    func removeAll(of partition: Partition) throws

    // MARK: Uploads

    /// The place for an upload in one piece. What is there when the hub ends is lost.
    func incomingPath(_ name: [UInt8]) -> String

    /// Writes what was uploaded to its place.
    func write(_ bytes: [UInt8], to path: String) throws

    /// The place for an upload in parts. What is there stays until it is kept or discarded, also when the
    /// hub ends.
    func partsPath(_ name: [UInt8]) -> String

    /// How far an upload in parts came, in bytes: where its next part begins. 0 before the first.
    func uploadedBytes(at path: String) throws -> Int

    /// Adds a part to an upload. It is on disk, or gone again because the disk failed, before the next one is
    /// added or ``digest(ofUploadAt:)`` returns.
    ///
    /// A part that comes again, because its sender did not hear of the first time, changes nothing. Another
    /// one takes the place of what is there from its offset on. Any number may add to an upload, here and at
    /// other hubs that share the files: each has it alone meanwhile.
    ///
    /// - Parameter offset: Where the part begins.
    /// - Throws: ``PartGap`` if bytes before it are missing; nothing is changed then.
    func append(_ part: [UInt8], to path: String, at offset: Int) throws

    /// Moves a complete upload in parts to the place of an upload in one piece. Senders can't add to it
    /// there. All parts are on disk when this returns.
    ///
    /// - Parameter byteCount: The size of the complete upload.
    /// - Returns: `false` if the upload has another size. Then nothing changes.
    func take(_ path: String, byteCount: Int, to place: String) throws -> Bool

    /// Returns an upload that was taken and not kept, so that its last part can come again; removes it if
    /// another upload began there.
    func putBack(_ place: String, to path: String)

    /// The SHA-256 of an upload. All parts are on disk when this returns. If the digest is not known from the
    /// parts, the file is read in pieces.
    func digest(ofUploadAt path: String) throws -> [UInt8]

    /// Removes an upload; nothing happens if it is not there.
    func discard(_ path: String)

    /// Keeps what was uploaded, so that it survives a power cut. An object is in the bucket when this returns.
    /// A file that is there already stays; its bytes are the same, because they have its digest.
    ///
    /// - Parameter path: The upload whose digest names the file. No sender can write to it any more.
    func keep(_ path: String, as file: HubFile) throws
}

extension HubFiles {
    package var objects: HubObjects? { nil }

    package func removeOldUploads() {}

    /// Whether a file is there.
    package func holds(_ file: HubFile) throws -> Bool { try byteCount(file) != nil }

    /// The SHA-256 of a file in hexadecimal digits, read in pieces.
    package func checksum(of file: HubFile) throws -> String {
        let digest = RunningDigest()
        var offset = 0
        while true {
            let piece = try read(file, offset..<offset + (4 << 20))
            guard !piece.isEmpty else { return digest.value.hexadecimal }
            unsafe piece.withUnsafeBytes { unsafe digest.update($0) }
            offset += piece.count
        }
    }
}

/// A part of an upload that does not follow what came before.
package struct PartGap: Error, Hashable {
    /// Where the next part has to begin, in bytes.
    package let uploadedBytes: Int

    package init(uploadedBytes: Int) { self.uploadedBytes = uploadedBytes }
}

/// Whether files can be written.
package enum FileSpace: Sendable {
    case left
    case full
    /// The place for files can't be looked at.
    case away
}
