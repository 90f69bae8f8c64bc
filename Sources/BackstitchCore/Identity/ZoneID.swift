/// The name of a zone within the database of one user.
public struct ZoneID: Hashable, Sendable, Codable {
    /// The zone's name.
    public var zoneName: String
    /// The record name of the zone's owner; nil for the user's own zones.
    public var ownerName: String?

    /// The zone with this name; it is the user's own unless `ownerName` names another owner.
    public init(_ zoneName: String, ownerName: String? = nil) {
        self.zoneName = zoneName
        self.ownerName = ownerName
    }
}
