/// A place on earth, as the service's LOCATION has it.
public struct GeoLocation: Hashable, Sendable, Codable {
    /// Degrees, -90 to 90.
    public var latitude: Double
    /// Degrees, -180 to 180.
    public var longitude: Double

    /// A place by its coordinates, in degrees.
    public init(latitude: Double, longitude: Double) {
        self.latitude = latitude
        self.longitude = longitude
    }

    /// Whether latitude and longitude are within their ranges. A location that is not valid can't
    /// be saved.
    public var isValid: Bool {
        (-90...90).contains(latitude) && (-180...180).contains(longitude)
    }
}

extension GeoLocation: ScalarAttributeValue {
    /// `location`.
    public static var _attributeType: AttributeType { .location }
    /// Reads a stored place; throws if its coordinates are out of range.
    public init(_field field: _FieldValue) throws {
        self = try field.location()
        guard isValid else { throw FieldError(.outOfRange) }
    }
    /// Writes the place; throws if its coordinates are out of range.
    public func _write(to writer: inout _FieldWriter, at index: Int) throws {
        try writer.write(value: _recordValue, at: index)
    }
    /// `location`.
    public var _recordValue: RecordValue { .location(self) }
}

extension RecordValue {
    /// Whether a value that a Swift type made is one of the type: a date out of range is null.
    var isStorable: Bool {
        switch self {
        case .null: false
        case .location(let location): location.isValid
        case .list(let elements): elements.allSatisfy(\.isStorable)
        default: true
        }
    }
}
