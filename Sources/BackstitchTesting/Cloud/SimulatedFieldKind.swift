public import BackstitchCore

/// The type of a field in a declared schema, by its CloudKit name.
public enum SimulatedFieldKind: String, Hashable, Sendable, CaseIterable {
    /// Text.
    case string = "STRING"
    /// A whole number.
    case int64 = "INT64"
    /// A floating-point number.
    case double = "DOUBLE"
    /// A time.
    case timestamp = "TIMESTAMP"
    /// Bytes.
    case bytes = "BYTES"
    /// A reference to another record.
    case reference = "REFERENCE"
    /// A place.
    case location = "LOCATION"
    /// A list of texts.
    case stringList = "STRING_LIST"
    /// A list of whole numbers.
    case int64List = "INT64_LIST"
    /// A list of floating-point numbers.
    case doubleList = "DOUBLE_LIST"
    /// A list of times.
    case timestampList = "TIMESTAMP_LIST"
    /// A list of byte strings.
    case bytesList = "BYTES_LIST"
    /// A list of references.
    case referenceList = "REFERENCE_LIST"
    /// A list of places.
    case locationList = "LOCATION_LIST"

    /// The type of a value; nil for null, for an empty list, for a list of lists, and
    /// for what this version knows no type for.
    public init?(_ value: ServiceValue) {
        switch value {
        case .null, .asset, .unknown: return nil
        case .string: self = .string
        case .int64: self = .int64
        case .double: self = .double
        case .timestamp: self = .timestamp
        case .bytes: self = .bytes
        case .reference: self = .reference
        case .location: self = .location
        case .list(let elements, _):
            guard let first = elements.first, let kind = SimulatedFieldKind(first),
                let list = SimulatedFieldKind(rawValue: kind.rawValue + "_LIST")
            else { return nil }
            self = list
        }
    }

    /// Whether values are lists.
    public var isList: Bool { rawValue.hasSuffix("_LIST") }

    /// Whether a field of this type takes a value; null is taken by all.
    public func holds(_ value: ServiceValue) -> Bool {
        switch value {
        case .null: true
        case .list(let elements, _) where elements.isEmpty: isList
        default: SimulatedFieldKind(value) == self
        }
    }
}
