/// What is particular to one attribute type. The rest of the engine asks the table of them,
/// ``AttributeTypes``; only inner loops know the commonest types by themselves.
///
/// Several types can keep their values under one tag: `Int16` and `Int64`, or text and URLs.
package protocol AttributeTraits: Sendable {
    /// What a ``RecordValue`` of this kind holds.
    associatedtype Content: Equatable & Sendable

    /// The type.
    static var type: AttributeType { get }
    /// The tag of its stored values. Its name is the name of the kind, in JSON and in messages.
    static var tag: FieldTag { get }
    /// The type that the service has for it.
    static var serviceType: ServiceFieldType { get }

    /// The content of a value of the tag's kind; nil for other values.
    static func content(of value: RecordValue) -> Content?
    /// The value with some content.
    static func value(_ content: Content) -> RecordValue

    // MARK: Stored form

    /// Appends the bytes that stand after the tag.
    static func append(_ content: Content, to output: inout ByteBuffer) throws(FieldError)
    /// Reads the bytes that stand after the tag.
    static func content(stored payload: UnsafeRawBufferPointer) throws(FieldError) -> Content
    /// A stored value, of whatever tag, as an attribute of the type; nil if it does not fit.
    static func value(stored field: _FieldValue) -> RecordValue?

    // MARK: Order

    /// Whether values are in an order, so that they can be sorted and have an index.
    static var isOrdered: Bool { get }
    /// Whether one content comes before another one.
    static func isBefore(_ left: Content, _ right: Content) -> Bool
    /// Appends bytes that sort as the contents do, see ``OrderedKey``.
    static func appendKey(
        _ content: Content, to output: inout ByteBuffer, textBytesMax: Int)
    /// The bytes that a key at the start of `bytes` takes, its first byte included.
    static func keyByteCount(in bytes: UnsafeRawBufferPointer) -> Int?

    // MARK: Conversions

    /// A value as an attribute of the type has it, if it means the same; nil if there is no such value.
    static func converted(_ value: RecordValue) -> RecordValue?
    /// A value of the service, see ``ServiceMapping``, in the type; nil if it does not fit.
    static func value(service value: RecordValue) -> RecordValue?
    /// Whether the Swift type reads a stored value.
    static func isReadable(_ value: RecordValue) -> Bool
    /// Whether the Swift type reads every stored value of the tag.
    static var readsAll: Bool { get }
    /// The converted value as a record holds it; throws if it is out of the type's range.
    static func saved(_ value: RecordValue) throws(ValueError) -> RecordValue
    /// Why no attribute can have the content; nil if one can.
    static func violation(of content: Content) -> String?
    /// The value for the service.
    ///
    /// - Parameter isLossless: Whether the attribute goes there in a form that keeps all of it.
    static func serviceValue(_ content: Content, isLossless: Bool) -> ServiceValue

    // MARK: Text

    /// The content in a few words, for a person.
    static func text(_ content: Content) -> String
    /// Appends the content as JSON.
    static func appendJSON(_ content: Content, to output: inout ByteBuffer)
    /// Reads the content from JSON; nil if the JSON is of another kind.
    static func content(json: JSONValue) throws(ValueError) -> Content?
    /// Encodes the content, as `Codable` has it.
    static func encode(
        _ content: Content, into container: inout KeyedEncodingContainer<ValueKey>,
        _ key: ValueKey) throws
    /// Decodes the content, as `Codable` has it.
    static func content(
        from container: KeyedDecodingContainer<ValueKey>, _ key: ValueKey
    ) throws -> Content
    /// The value of a literal on the command line; nil if it is not of the type.
    static func literal(_ text: String, isQuoted: Bool) -> RecordValue?
    /// What a literal looks like.
    static var literalExample: String { get }

    // MARK: Numbers

    /// Whether values can be summed up.
    static var isNumber: Bool { get }
}

// MARK: What most types do

extension AttributeTraits {
    package static func value(stored field: _FieldValue) -> RecordValue? {
        guard field.tag == tag else { return nil }
        return unsafe (try? content(stored: field.payload)).map { value($0) }
    }

    package static var isOrdered: Bool { true }

    package static func converted(_ value: RecordValue) -> RecordValue? {
        content(of: value) == nil ? nil : value
    }

    package static func value(service value: RecordValue) -> RecordValue? { converted(value) }

    package static func isReadable(_ value: RecordValue) -> Bool { content(of: value) != nil }

    package static var readsAll: Bool { true }

    package static func saved(_ value: RecordValue) throws(ValueError) -> RecordValue { value }

    package static func violation(of content: Content) -> String? { nil }

    package static var isNumber: Bool { false }
}

extension AttributeTraits where Content: Codable {
    package static func encode(
        _ content: Content, into container: inout KeyedEncodingContainer<ValueKey>,
        _ key: ValueKey
    ) throws {
        try container.encode(content, forKey: key)
    }

    package static func content(
        from container: KeyedDecodingContainer<ValueKey>, _ key: ValueKey
    ) throws -> Content {
        try container.decode(Content.self, forKey: key)
    }
}

extension AttributeTraits where Content: Comparable {
    package static func isBefore(_ left: Content, _ right: Content) -> Bool { left < right }
}

// MARK: For any value

extension AttributeTraits {
    /// Appends the bytes that stand after the tag of a value of this kind.
    static func appendPayload(
        of value: RecordValue, to output: inout ByteBuffer
    ) throws(FieldError) {
        guard let content = content(of: value) else { preconditionFailure("Another kind.") }
        try append(content, to: &output)
    }

    /// Reads the bytes that stand after the tag.
    static func value(payload: UnsafeRawBufferPointer) throws(FieldError) -> RecordValue {
        unsafe value(try content(stored: payload))
    }

    /// Whether a comparison holds between two values of this kind.
    static func holds(_ comparison: Comparison, _ left: RecordValue, _ right: RecordValue) -> Bool {
        guard let left = content(of: left), let right = content(of: right) else {
            return comparison == .notEqual
        }
        guard isOrdered else { return comparison == (left == right ? .equal : .notEqual) }
        return switch comparison {
        case .equal: left == right
        case .notEqual: left != right
        case .less: left != right && isBefore(left, right)
        case .lessOrEqual: left == right || isBefore(left, right)
        case .greater: left != right && !isBefore(left, right)
        case .greaterOrEqual: left == right || !isBefore(left, right)
        }
    }

    /// Appends the key of a value of this kind, or of null.
    static func appendKey(of value: RecordValue?, to output: inout ByteBuffer, textBytesMax: Int) {
        guard isOrdered, let content = value.flatMap(content(of:)) else {
            return output.append(OrderedKey.null)
        }
        appendKey(content, to: &output, textBytesMax: textBytesMax)
    }

    static func violation(of value: RecordValue) -> String? {
        content(of: value).flatMap { violation(of: $0) }
    }

    static func serviceValue(of value: RecordValue, isLossless: Bool) -> ServiceValue {
        content(of: value).map { serviceValue($0, isLossless: isLossless) } ?? .null
    }

    package static func text(of value: RecordValue) -> String {
        content(of: value).map { text($0) } ?? "nil"
    }

    static func appendJSON(of value: RecordValue, to output: inout ByteBuffer) {
        guard let content = content(of: value) else { return output.append(utf8: "null") }
        appendJSON(content, to: &output)
    }

    static func value(json: JSONValue) throws(ValueError) -> RecordValue? {
        try content(json: json).map { value($0) }
    }

    static func encode(
        _ value: RecordValue, into container: inout KeyedEncodingContainer<ValueKey>
    ) throws {
        guard let content = content(of: value) else { preconditionFailure("Another kind.") }
        try encode(content, into: &container, ValueKey(name: tag.name))
    }

    static func value(
        from container: KeyedDecodingContainer<ValueKey>, _ key: ValueKey
    ) throws -> RecordValue {
        value(try content(from: container, key))
    }
}

/// The name of the one member of a coded value.
package struct ValueKey: CodingKey {
    package let stringValue: String
    package var intValue: Int? { nil }

    init(name: String) { stringValue = name }
    package init?(stringValue: String) { self.init(name: stringValue) }
    package init?(intValue: Int) { nil }
}

/// The table of all attribute types that are no lists.
package enum AttributeTypes {
    /// One row for each type.
    package static let all: [any AttributeTraits.Type] = [
        StringTraits.self, BoolTraits.self, Int16Traits.self, Int32Traits.self, Int64Traits.self,
        FloatTraits.self, DoubleTraits.self, DecimalTraits.self, DateTraits.self, DataTraits.self,
        UUIDTraits.self, URLTraits.self, ReferenceTraits.self, LocationTraits.self,
        DurationTraits.self, AssetTraits.self,
    ]

    private static let byType: [(any AttributeTraits.Type)?] = all.reduce(
        into: Array(repeating: nil, count: 32)
    ) { $0[Int($1.type.rawValue)] = $1 }

    /// For each tag the type that reads all of its values.
    private static let byTag: [(any AttributeTraits.Type)?] = all.reduce(
        into: Array(repeating: nil, count: 16)
    ) { rows, traits in
        let tag = Int(traits.tag.rawValue)
        if rows[tag] == nil || traits.standsForTag { rows[tag] = traits }
    }

    static subscript(type: AttributeType) -> (any AttributeTraits.Type)? {
        let index = Int(type.rawValue)
        return index < byType.count ? byType[index] : nil
    }

    /// The names of the kinds of values, in the order of their tags.
    static let kinds: [String] = byTag.compactMap { $0?.tag.name }

    private static let byKind = Dictionary(
        uniqueKeysWithValues: byTag.compactMap { traits in traits.map { ($0.tag.name, $0) } })

    static subscript(kind name: String) -> (any AttributeTraits.Type)? { byKind[name] }

    static subscript(tag: FieldTag) -> (any AttributeTraits.Type)? { byTag[Int(tag.rawValue)] }
}

extension AttributeTraits {
    /// Whether the type is the one that stands for its tag.
    fileprivate static var standsForTag: Bool { tag.name == "\(type)" }
}

extension AttributeType {
    /// What is particular to the type; nil for lists.
    package var traits: (any AttributeTraits.Type)? { AttributeTypes[self] }
}

extension RecordValue {
    /// What is particular to values of the kind; nil for null, lists and values of unknown types.
    package var traits: (any AttributeTraits.Type)? { AttributeTypes[tag] }
}
