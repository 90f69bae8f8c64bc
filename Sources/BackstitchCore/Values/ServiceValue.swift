public import Foundation

/// A field value as the service has it: CloudKit's field types.
public enum ServiceValue: Hashable, Sendable {
    /// An explicit null, which clears the field.
    case null
    /// STRING.
    case string(String)
    /// INT64.
    case int64(Int64)
    /// DOUBLE.
    case double(Double)
    /// TIMESTAMP, in whole milliseconds since 1970, UTC.
    case timestamp(milliseconds: Int64)
    /// BYTES.
    case bytes(Data)
    /// REFERENCE.
    indirect case reference(ServiceReference)
    /// ASSETID: a file that the service keeps.
    indirect case asset(ServiceAsset)
    /// LOCATION.
    indirect case location(ServiceLocation)
    /// A list. All elements have the same type, and none is a list. The type is nil only if the
    /// list is empty and its type is not known.
    case list([ServiceValue], of: ServiceFieldType?)
    /// A value of a type that this version does not know, as it came.
    case unknown(UnknownValue)

    /// A list of the type that its first element has.
    public static func list(_ elements: [ServiceValue]) -> ServiceValue {
        .list(elements, of: elements.first?.scalarType)
    }

    /// LOCATION, by its coordinates alone.
    public static func location(_ place: GeoLocation) -> ServiceValue {
        .location(ServiceLocation(latitude: place.latitude, longitude: place.longitude))
    }

    /// The type of a value that is not null, not a list and not unknown.
    public var scalarType: ServiceFieldType? {
        switch self {
        case .string: .string
        case .int64: .int64
        case .double: .double
        case .timestamp: .timestamp
        case .bytes: .bytes
        case .reference: .reference
        case .asset: .asset
        case .location: .location
        case .null, .list, .unknown: nil
        }
    }

    /// The name of the value's type; nil for null, and for an empty list of which it is not known.
    public var typeName: String? {
        switch self {
        case .list(_, let element): element.map { $0.rawValue + ServiceFieldType.listSuffix }
        case .unknown(let value): value.typeName
        default: scalarType?.rawValue
        }
    }
}

/// The types that a field's value, or each element of its list, can have.
public enum ServiceFieldType: String, Hashable, Sendable, CaseIterable {
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
    /// A file.
    case asset = "ASSETID"
    /// A place.
    case location = "LOCATION"

    /// What follows the name of an element's type in the name of its list's type.
    package static let listSuffix = "_LIST"

    /// The type of a name; `ASSET` is another spelling of `ASSETID`, and `ENCRYPTED_BYTES` says that
    /// the value is one of `BYTES`.
    package init?(named name: String) {
        switch name {
        case "ASSET": self = .asset
        case "ENCRYPTED_BYTES": self = .bytes
        default: self.init(rawValue: name)
        }
    }
}

/// A reference from one record to another.
public struct ServiceReference: Hashable, Sendable {
    /// The service's action when the target is deleted.
    public enum Action: Hashable, Sendable {
        /// Nothing.
        case none
        /// It deletes the record that holds the reference.
        case deleteSelf
        /// It refuses the delete, and refuses references to records that don't exist.
        case validate
        /// The reference does not say, as in conditions of queries.
        case unspecified
        /// An action that this version does not know, by its name.
        case other(String)
    }

    /// The name of the record referred to, in the same zone.
    public var recordName: String
    /// The service's action when the target is deleted.
    public var action: Action
    /// The zone of the record referred to, if the reference names it.
    public var zone: ZoneID?
    /// The service's name of the kind of that zone, if the reference has it.
    package var zoneType: String?

    /// A reference by record name.
    public init(recordName: String, action: Action = .none, zone: ZoneID? = nil) {
        self.recordName = recordName
        self.action = action
        self.zone = zone
    }
}

extension ServiceReference.Action {
    /// The action of a name; `unspecified` if there is no name.
    package init(name: String?) {
        switch name {
        case nil: self = .unspecified
        case "NONE": self = .none
        case "DELETE_SELF": self = .deleteSelf
        case "VALIDATE": self = .validate
        case let name?: self = .other(name)
        }
    }

    /// The service's name of the action; nil if it is not specified.
    package var name: String? {
        switch self {
        case .none: "NONE"
        case .deleteSelf: "DELETE_SELF"
        case .validate: "VALIDATE"
        case .unspecified: nil
        case .other(let name): name
        }
    }
}

/// A file that a field holds, as the service describes it. The service gives the parts their meaning;
/// here they are passed on.
public struct ServiceAsset: Hashable, Sendable {
    /// The service's checksum of the content.
    public var fileChecksum: String?
    /// In bytes.
    public var size: Int64?
    /// The service's checksum of the reference to the content.
    public var referenceChecksum: String?
    /// The key that the service encrypted the content with.
    public var wrappingKey: String?
    /// Proves an upload; in requests only.
    public var receipt: String?
    /// In replies only. Replace `${f}` in it by a file name of your choice.
    public var downloadURL: String?

    /// A file by what is known of it.
    public init(
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

/// A place on earth, with what a device measured when it was there.
public struct ServiceLocation: Hashable, Sendable {
    /// Degrees.
    public var latitude: Double
    /// Degrees.
    public var longitude: Double
    /// Metres.
    public var horizontalAccuracy: Double?
    /// Metres.
    public var verticalAccuracy: Double?
    /// Metres.
    public var altitude: Double?
    /// Metres a second.
    public var speed: Double?
    /// Degrees.
    public var course: Double?
    /// Milliseconds since 1970.
    public var timestamp: Int64?

    /// A place by its coordinates.
    public init(latitude: Double, longitude: Double) {
        self.latitude = latitude
        self.longitude = longitude
    }

    /// The coordinates alone, which is what a record keeps.
    package var place: GeoLocation { GeoLocation(latitude: latitude, longitude: longitude) }
}

extension ServiceValue {
    /// The size that the limits of the protocol count, in bytes.
    package var countedBytes: Int {
        switch self {
        case .null: 0
        case .string(let text): text.utf8.count
        case .int64, .double, .timestamp: 8
        case .bytes(let data): data.count
        case .reference(let reference): reference.recordName.utf8.count
        case .asset, .location: 64
        case .list(let elements, _): elements.reduce(0) { $0 + $1.countedBytes }
        case .unknown(let value): value.json.utf8.count
        }
    }
}
