package import BackstitchCore

/// What a subscription wants its notifications to say and to do.
package struct WireNotificationInfo: Hashable, Sendable {
    package var alertBody: String?
    package var alertLocalizationKey: String?
    /// The names of the fields whose values go into the localized text.
    package var alertLocalizationArgs: [String]
    package var alertActionLocalizationKey: String?
    package var alertLaunchImage: String?
    package var soundName: String?
    package var category: String?
    package var shouldBadge: Bool
    package var shouldSendContentAvailable: Bool
    /// The names of the fields whose values go along.
    package var additionalFields: [String]

    /// Reads the value of `notificationInfo`; keys that are not known are ignored.
    package init(_ value: JSONValue) throws(WireFormatError) {
        guard case .object = value else {
            throw JSONObject.mismatch("notificationInfo", "an object")
        }
        var writer = JSONWriter()
        writer.value(value)
        let json = try JSONObject(body: writer.bytes)
        alertBody = try json.text("alertBody")
        alertLocalizationKey = try json.text("alertLocalizationKey")
        alertLocalizationArgs = try json.texts("alertLocalizationArgs") ?? []
        alertActionLocalizationKey = try json.text("alertActionLocalizationKey")
        alertLaunchImage = try json.text("alertLaunchImage")
        soundName = try json.text("soundName")
        category = try json.text("category")
        shouldBadge = try json.flag("shouldBadge") ?? false
        shouldSendContentAvailable = try json.flag("shouldSendContentAvailable") ?? false
        additionalFields = try json.texts("additionalFields") ?? []
    }

    /// Whether a person is to see or hear something.
    package var isVisible: Bool {
        alertBody != nil || alertLocalizationKey != nil || soundName != nil || shouldBadge
    }
}
