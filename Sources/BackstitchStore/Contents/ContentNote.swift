package import BackstitchCore
package import BackstitchLog
import Foundation

/// What a device knows of a content besides its file; kept in `meta`. If it is lost, the file and the
/// operations that name the content still tell what counts.
package struct ContentNote: Hashable, Sendable, Codable {
    /// When the content was added or downloaded, in milliseconds since 1970.
    package var added: Int64
    /// When it was opened last, in whole hours.
    package var used: Int64
    package var byteCount: Int64
    /// The service's checksum of it.
    package var checksum: String?
    /// Whether it is not evicted.
    package var isPinned: Bool?

    package init(added: Int64, byteCount: Int64) {
        (self.added, self.byteCount) = (added, byteCount)
        used = Self.wholeHour(added)
    }

    /// A time without what is less than an hour, so that a content that is opened often is noted rarely.
    package static func wholeHour(_ milliseconds: Int64) -> Int64 {
        milliseconds / 3_600_000 * 3_600_000
    }

    package static let prefix = "content."

    fileprivate static func name(_ content: ContentKey) -> String { prefix + content.text }

    /// Under this name is the content that a service's checksum stands for.
    fileprivate static func linkName(_ checksum: String) -> String {
        "link." + ContentKey(serviceChecksum: checksum).text
    }
}

extension MetaReader {
    /// What is known of a content; nil if nothing is.
    package func contentNote(_ content: ContentKey) throws -> ContentNote? {
        try value(ContentNote.name(content)).flatMap(Self.note)
    }

    private static func note(_ bytes: [UInt8]) -> ContentNote? {
        // What can't be read is found out again, from the file and the log.
        try? JSONDecoder().decode(ContentNote.self, from: Data(bytes))
    }

    /// All that is known of contents.
    package func contentNotes() throws -> [ContentKey: ContentNote] {
        var notes: [ContentKey: ContentNote] = [:]
        try visit(ContentNote.prefix) { name, bytes in
            if let hash = ContentHash.bytes(name), let note = Self.note(bytes) {
                notes[ContentKey(hash: hash)] = note
            }
            return true
        }
        return notes
    }

    /// The content that a service's checksum stands for; nil if that is not known.
    package func content(ofServiceChecksum checksum: String) throws -> ContentKey? {
        // A hub's checksum is the hash itself.
        if let hash = ContentHash.bytes(checksum) { return ContentKey(hash: hash) }
        guard let bytes = try value(ContentNote.linkName(checksum)),
            bytes.count == ContentHash.byteCount
        else { return nil }
        return ContentKey(hash: bytes)
    }

    /// The content of a file; nil if only the service knows it.
    package func content(of asset: Asset) throws -> ContentKey? {
        if let hash = asset.content.flatMap(ContentHash.bytes) { return ContentKey(hash: hash) }
        return try asset.serviceChecksum.flatMap { try content(ofServiceChecksum: $0) }
    }
}

/// Writes what is known of contents.
package struct ContentNotes {
    private let log: LogWriter

    package init(_ log: LogWriter) { self.log = log }

    /// Notes what is known of a content.
    package func note(
        _ content: ContentKey, byteCount: Int64, _ change: (inout ContentNote) -> Void
    ) throws {
        let old = try log.reader.meta.contentNote(content)
        var note = old ?? ContentNote(added: log.settings.milliseconds(), byteCount: byteCount)
        change(&note)
        guard note != old else { return }
        try log.setMeta(ContentNote.name(content), try note.sortedJSON())
        if let checksum = note.checksum, checksum != old?.checksum {
            try log.setMeta(ContentNote.linkName(checksum), content.bytes)
        }
    }

    /// Forgets a content that is gone.
    func forget(_ content: ContentKey) throws {
        if let checksum = try log.reader.meta.contentNote(content)?.checksum {
            try log.deleteMeta(ContentNote.linkName(checksum))
        }
        try log.deleteMeta(ContentNote.name(content))
    }

    /// Refuses a file whose content is neither on this device nor on the service: no device could open it.
    func check(_ asset: Asset, in folder: ContentFolder) throws {
        guard asset.serviceChecksum == nil, let content = ContentKey(asset),
            !folder.holds(content),
            try !ContentStanding(content, log.reader).isReferenced
        else { return }
        throw StoreError(
            .assetMissing,
            "A record is to hold a file whose content this store does not have. Add it with "
                + "store.assets.add, and save the record within an hour.")
    }
}
