public import Foundation
@_spi(_Unicode) import Swift

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
        if text.utf8.first == UInt8(ascii: "_") {
            return "A record name can't start with an underscore: the service keeps those names."
        }
        return nil
    }

    /// What is wrong with the name for a new record, or nil when it can be saved. Names of the
    /// service may have any form.
    package var violationIfNew: String? {
        if let violation { return violation }
        guard case .text(let text) = self, !text.utf8.allSatisfy({ $0 < 0x80 }),
            !text._nfc.elementsEqual(text.unicodeScalars)
        else { return nil }
        return "A record name has to be in Unicode's normal form C, so that no other name is the "
            + "same text. Take its precomposedStringWithCanonicalMapping."
    }
}

extension RecordName {
    /// Names are the same if their bytes are, as in tables. Texts are the same in several forms.
    @usableFromInline package static func == (left: RecordName, right: RecordName) -> Bool {
        switch (left, right) {
        case (.uuid(let left), .uuid(let right)): left == right
        case (.text(var left), .text(var right)):
            left.withUTF8 { left in
                right.withUTF8 { right in
                    unsafe UnsafeRawBufferPointer(left)
                        .holdsSameBytes(as: UnsafeRawBufferPointer(right))
                }
            }
        default: false
        }
    }

    @usableFromInline package func hash(into hasher: inout Hasher) {
        switch self {
        case .uuid(let uuid): hasher.combine(uuid)
        case .text(var text):
            text.withUTF8 { unsafe hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        }
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
