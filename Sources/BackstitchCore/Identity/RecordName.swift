public import Foundation

/// The name that a record carries on the service, unique within its zone.
///
/// A name in the canonical form of a UUID (upper-case, as `UUID.uuidString` prints it) is kept in
/// 16 bytes; every other name is kept as its UTF-8 text.
@usableFromInline
package enum RecordName: Hashable, Sendable {
    /// A name that is a UUID.
    case uuid(UUID)
    /// Any other name: 1 to 255 bytes of UTF-8 that don't start with an underscore.
    case text(String)

    /// The longest text name, in bytes of UTF-8.
    @inlinable package static var byteCountMax: Int { 255 }

    /// The record name for a string, which becomes `uuid` if it is a canonical UUID.
    ///
    /// The limits of a name are not checked here but when a record is saved.
    package init(_ string: String) {
        self = UUID(canonicalText: string).map { .uuid($0) } ?? .text(string)
    }

    /// What is wrong with the name, or nil when it can be saved.
    @usableFromInline
    package var violation: String? {
        guard case .text(let text) = self else { return nil }
        if text.isEmpty { return "A record name can't be empty." }
        if text.utf8.count > Self.byteCountMax {
            return "A record name has \(Self.byteCountMax) bytes at most; this one has "
                + "\(text.utf8.count). Shorten it."
        }
        if text.hasPrefix("_") {
            return "A record name can't start with an underscore: the service keeps those names."
        }
        return nil
    }
}

extension RecordName: CustomStringConvertible {
    /// The name as the service spells it.
    @usableFromInline package var description: String {
        switch self {
        case .uuid(let uuid): uuid.canonicalText
        case .text(let text): text
        }
    }
}

extension RecordName: Comparable {
    /// Orders names by their stored bytes, UUIDs before text; the order of rows in a table.
    @usableFromInline package static func < (left: RecordName, right: RecordName) -> Bool {
        RecordKey(left) < RecordKey(right)
    }
}

extension RecordName: Codable {
    /// Reads a name from a single string.
    @usableFromInline package init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(String.self))
    }

    /// Writes the name as a single string.
    @usableFromInline package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
