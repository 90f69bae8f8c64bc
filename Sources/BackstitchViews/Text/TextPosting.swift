import BackstitchCore
import BackstitchStore

/// The keys of a ``TextIndex``.
///
/// A word of a record has one entry:
///
/// | bytes | meaning |
/// |---|---|
/// | n | the word, UTF-8 |
/// | 1 | zero, which no word has |
/// | 2 | entity, big-endian |
/// | 18 to 258 | record key |
///
/// and an entity has two, in front of all words: a zero, the entity, and 0 for the number of its records
/// that have words, 1 for the number of their words.
struct TextPosting: Hashable {
    /// The bytes after the word and the zero.
    let bytes: [UInt8]

    init(entity: EntityNumber, record: RecordKey) {
        bytes = Self.prefix(of: entity) + record.bytes
    }

    /// Reads the end of a key, after the word.
    init(_ bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

    static func prefix(of entity: EntityNumber) -> [UInt8] {
        entity.rawValue.bigEndianBytes
    }

    var entity: EntityNumber { EntityNumber(UInt16(bytes[0]) << 8 | UInt16(bytes[1])) }

    var record: RecordKey? {
        unsafe bytes.dropFirst(2).withUnsafeBytes { unsafe RecordKey(reading: $0) }
    }

    func key(of token: String) -> ViewKey { ViewKey(bytes: Self.start(token) + bytes) }

    /// What the keys of a word begin with.
    static func start(_ token: String) -> [UInt8] { Array(token.utf8) + [0] }

    /// The key of the number of an entity's records that have words.
    static func recordCount(of entity: EntityNumber) -> ViewKey {
        ViewKey(bytes: [0] + prefix(of: entity) + [0])
    }

    /// The key of the number of all words of an entity's records.
    static func wordCount(of entity: EntityNumber) -> ViewKey {
        ViewKey(bytes: [0] + prefix(of: entity) + [1])
    }
}
