import BackstitchCore
package import Foundation

/// A value of a field.
package enum WireValue: Hashable, Sendable {
    case string(String)
    case int64(Int64)
    /// Finite.
    case double(Double)
    /// Milliseconds since 1970, UTC.
    case timestamp(Int64)
    case bytes(Data)
    case reference(WireReference)
    case asset(WireAsset)
    case location(WireLocation)
    /// Values of one type; the type is unknown only if the list is empty and nothing tells.
    case list([WireValue], of: WireFieldType?)
    /// A value of a type that is not known here, kept as it came.
    case other(JSONText, type: String)

    /// The type of a value that is no list and not unknown.
    package var scalarType: WireFieldType? {
        switch self {
        case .string: .string
        case .int64: .int64
        case .double: .double
        case .timestamp: .timestamp
        case .bytes: .bytes
        case .reference: .reference
        case .asset: .asset
        case .location: .location
        case .list, .other: nil
        }
    }

    /// The name of the value's type; nil for an empty list of which it is not known.
    package var typeName: String? {
        switch self {
        case .list(_, let element):
            element.map { $0.rawValue + WireFieldType.listSuffix }
        case .other(_, let type): type
        default: scalarType?.rawValue
        }
    }
}

/// JSON of a value that is passed on unread.
package struct JSONText: Hashable, Sendable {
    package let text: String
}

/// A reference to another record.
package struct WireReference: Hashable, Sendable {
    package var recordName: String
    /// `NONE`, `DELETE_SELF` or `VALIDATE`; nil if it is not told, as in queries.
    package var action: String?
    package var zoneID: WireZoneID?

    package init(recordName: String, action: String? = nil, zoneID: WireZoneID? = nil) {
        self.recordName = recordName
        self.action = action
        self.zoneID = zoneID
    }
}

/// A file that a field holds.
package struct WireAsset: Hashable, Sendable {
    package var fileChecksum: String?
    /// In bytes.
    package var size: Int64?
    package var referenceChecksum: String?
    package var wrappingKey: String?
    /// Proves an upload; in requests only.
    package var receipt: String?
    /// In replies only; `${f}` in it stands for a file name of the reader's choice.
    package var downloadURL: String?

    package init(
        fileChecksum: String? = nil, size: Int64? = nil, referenceChecksum: String? = nil,
        wrappingKey: String? = nil, receipt: String? = nil, downloadURL: String? = nil
    ) {
        self.fileChecksum = fileChecksum
        self.size = size
        self.referenceChecksum = referenceChecksum
        self.wrappingKey = wrappingKey
        self.receipt = receipt
        self.downloadURL = downloadURL
    }
}

/// A place on earth.
package struct WireLocation: Hashable, Sendable {
    /// Degrees.
    package var latitude: Double
    /// Degrees.
    package var longitude: Double
    /// Metres.
    package var horizontalAccuracy: Double?
    /// Metres.
    package var verticalAccuracy: Double?
    /// Metres.
    package var altitude: Double?
    /// Metres a second.
    package var speed: Double?
    /// Degrees.
    package var course: Double?
    /// Milliseconds since 1970.
    package var timestamp: Int64?

    package init(latitude: Double, longitude: Double) {
        self.latitude = latitude
        self.longitude = longitude
    }
}
