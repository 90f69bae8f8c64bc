import Foundation

/// A value of a type of the service that this version does not know.
///
/// It is kept unchanged through merges, compaction, rebuild, export and import, and goes back
/// unchanged if the record has to be made on the service again. It can't be used otherwise: it has
/// no order and no index, and no Swift type reads it. Once a version knows the type, the value
/// becomes one of an attribute when a schema declares that, without another fetch.
public struct UnknownValue: Hashable, Sendable, Codable {
    /// The service's name of the type, such as `DURATION`.
    public let typeName: String
    /// The value as the service spells it, in JSON.
    public let json: String

    /// A value by its type's name and its JSON.
    public init(typeName: String, json: String) {
        self.typeName = typeName
        self.json = json
    }

    /// Why the value can't be saved; nil if it can.
    package var violation: String? {
        if typeName.isEmpty || typeName.utf8.count > Self.nameBytesMax {
            return "the name of its type is empty or has more than \(Self.nameBytesMax) bytes"
        }
        return (try? JSONParser.parse(Array(json.utf8))) == nil ? "it is no JSON" : nil
    }

    /// The most bytes of a type's name.
    static let nameBytesMax = 255
}
