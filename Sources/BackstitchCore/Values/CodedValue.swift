import Foundation

/// A `Codable` value that is stored as JSON in bytes: what `@Attribute(.codable)` keeps.
///
/// The keys are sorted, so that equal values are equal bytes and a save of one changes nothing.
public struct CodedValue<Content: Codable & Sendable>: AttributeValue {
    /// The value.
    public let content: Content

    /// Wraps a value.
    public init(_ content: Content) { self.content = content }

    /// `data`.
    public static var attributeType: AttributeType { .data }
    /// Reads stored JSON; throws if it is not of the type.
    public init(field: FieldValue) throws {
        let bytes = try field.data()
        do {
            content = try JSONDecoder().decode(Content.self, from: bytes)
        } catch {
            throw FieldError(.notDecodable)
        }
    }
    /// Writes JSON; throws if the value can't be encoded.
    public func write(to writer: inout FieldWriter, at index: Int) throws {
        guard let bytes = encoded else { throw FieldError(.notEncodable, index: index) }
        try writer.write(data: bytes, at: index)
    }
    /// `bytes`, or null if the value can't be encoded.
    public var value: RecordValue { encoded.map { .bytes($0) } ?? .null }

    private var encoded: Data? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try? encoder.encode(content)
    }
}
