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
    case reference(ServiceReference)
    /// LOCATION.
    case location(Location)
    /// Any of the list types; elements are of one type and not lists themselves.
    case list([ServiceValue])
    /// A value of a type that this version does not know, as it came.
    case unknown(UnknownValue)
}

/// A reference from one record to another.
public struct ServiceReference: Hashable, Sendable {
    /// What the service does when the target is deleted.
    public enum Action: String, Hashable, Sendable {
        /// Nothing.
        case none = "NONE"
        /// It deletes the record that holds the reference.
        case deleteSelf = "DELETE_SELF"
        /// It refuses the delete, and refuses references to records that don't exist.
        case validate = "VALIDATE"
    }

    /// The name of the record referred to, in the same zone.
    public var recordName: String
    /// What the service does when the target is deleted.
    public var action: Action

    /// A reference by record name.
    public init(recordName: String, action: Action = .none) {
        self.recordName = recordName
        self.action = action
    }
}
