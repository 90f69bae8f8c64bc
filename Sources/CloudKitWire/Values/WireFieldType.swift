/// The types that a field's value, or each element of its list, can have.
package enum WireFieldType: String, Hashable, Sendable, CaseIterable {
    case string = "STRING"
    case int64 = "INT64"
    case double = "DOUBLE"
    case timestamp = "TIMESTAMP"
    case bytes = "BYTES"
    case reference = "REFERENCE"
    case asset = "ASSETID"
    case location = "LOCATION"

    /// What is behind the name of an element's type in the name of its list's type.
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
