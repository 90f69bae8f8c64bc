public import BackstitchCore
public import Foundation

/// A push notification of a service in CloudKit's shape:
///
/// ```json
/// {"aps":{"content-available":1},
///  "ck":{"nid":"…","cid":"iCloud.org.example.notes","fet":{"sid":"Notes-changes","zid":"Notes","zoid":"_user"}}}
/// ```
///
/// `fet` tells of a zone, `met` of a database, `qry` of a record that a query found. A notification is
/// a hint: any part but `ck` may be missing, and whole ones get lost.
public struct SyncNotification: Hashable, Sendable {
    /// The container, if the notification names it.
    public let containerID: String?
    /// The subscription, if the notification names it.
    public let subscriptionID: String?
    /// The zone, if the notification names it.
    public let zone: ZoneID?

    /// A notification from its JSON text, or nil if it does not have CloudKit's shape.
    public init?(json: Data) {
        guard let object = try? JSONSerialization.jsonObject(with: json) as? [String: Any] else {
            return nil
        }
        self.init(userInfo: object)
    }

    /// A notification from its payload, as the system hands it to an application, or nil if it does
    /// not have CloudKit's shape.
    public init?(userInfo: [AnyHashable: Any]) {
        guard let payload = userInfo["ck"] as? [String: Any] else { return nil }
        containerID = payload["cid"] as? String
        let body = ["fet", "met", "qry"].lazy.compactMap { payload[$0] as? [String: Any] }.first
        subscriptionID = body?["sid"] as? String
        zone = (body?["zid"] as? String).map { ZoneID($0, ownerName: body?["zoid"] as? String) }
    }

    /// Whether it may tell of changes in a zone: nothing in it speaks of another container,
    /// subscription or zone.
    ///
    /// - Parameter containerID: The container whose notifications count; nil is any.
    func concerns(_ zone: ZoneID, subscriptionID: String, containerID: String?) -> Bool {
        if let wanted = containerID, let told = self.containerID, told != wanted { return false }
        if let told = self.subscriptionID, told != subscriptionID { return false }
        guard let told = self.zone else { return true }
        guard told.zoneName == zone.zoneName else { return false }
        // The service names the owner of the user's own zones too, which the zone here need not.
        guard let owner = zone.ownerName else { return true }
        return told.ownerName == nil || told.ownerName == owner
    }
}
