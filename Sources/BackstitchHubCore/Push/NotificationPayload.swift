import BackstitchCore
import CloudKitWire

/// The JSON that a device is given: `aps` for the system, `ck` for the application.
///
/// ```
/// {"aps":{"alert":{…},"badge":1,"sound":"…","category":"…","content-available":1},
///  "ck":{"nid":"…","cid":"container","qry"|"fet"|"met":{…}}}
/// ```
struct NotificationPayload {
    /// The most bytes of the values of fields. What does not fit is left out, and `ck.p` says so.
    static let fieldBytesMax = 2_048

    /// What happened.
    enum Subject {
        case record(RecordChange, fields: WireFields, isPublic: Bool)
        case zone
        case database
    }

    var notificationID: String
    var container: String
    var subscriptionID: String
    var zoneName: String
    var ownerRecordName: String?
    /// Nil if the subscription says nothing of it.
    var info: WireNotificationInfo?
    var subject: Subject

    var bytes: [UInt8] {
        var json = JSONWriter()
        let (fields, isPruned) = additionalFields
        json.object { json in
            json.object("aps") { writeAPS(to: &$0) }
            json.object("ck") { json in
                json.member("nid", notificationID)
                json.member("cid", container)
                if isPruned { json.member("p", integer: 1) }
                json.object(subject.name) { json in
                    json.member("sid", subscriptionID)
                    json.member("zid", zoneName)
                    json.member("zoid", ownerRecordName)
                    guard case .record(let change, _, let isPublic) = subject else { return }
                    json.member("rid", change.record.recordName)
                    json.member("fo", integer: change.kind.rawValue)
                    if isPublic { json.member("dbs", integer: 0) }
                    guard !fields.isEmpty else { return }
                    json.object("af") { json in
                        for (name, value) in fields {
                            json.element(name) { value.write(to: &$0) }
                        }
                    }
                }
            }
        }
        return json.bytes
    }

    private func writeAPS(to json: inout JSONWriter) {
        guard let info else { return json.member("content-available", integer: 1) }
        if info.alertBody != nil || info.alertLocalizationKey != nil {
            json.object("alert") { json in
                json.member("body", info.alertBody)
                json.member("loc-key", info.alertLocalizationKey)
                if !info.alertLocalizationArgs.isEmpty {
                    json.member("loc-args", texts: info.alertLocalizationArgs.map(text))
                }
                json.member("action-loc-key", info.alertActionLocalizationKey)
                json.member("launch-image", info.alertLaunchImage)
            }
        }
        // How many notifications the user has not seen is known to the device alone.
        if info.shouldBadge { json.member("badge", integer: 1) }
        json.member("sound", info.soundName)
        json.member("category", info.category)
        // A notification without text, badge and sound has to wake the application, or it does nothing.
        if info.shouldSendContentAvailable || !info.isVisible {
            json.member("content-available", integer: 1)
        }
    }

    /// The values of the fields that go along, by their names, and whether some are left out.
    private var additionalFields: (fields: [(String, ServiceValue)], isPruned: Bool) {
        guard case .record(_, let all, _) = subject, let info else { return ([], false) }
        var fields: [(String, ServiceValue)] = []
        var bytesLeft = Self.fieldBytesMax
        var isPruned = false
        for name in Set(info.additionalFields).sorted() {
            guard let field = all[name], let value = field.value, !field.isEncrypted else {
                continue
            }
            let bytes = name.utf8.count + value.countedBytes
            guard bytes <= bytesLeft else {
                isPruned = true
                continue
            }
            bytesLeft -= bytes
            fields.append((name, value))
        }
        return (fields, isPruned)
    }

    /// The value of a field as text; nothing if it is no text and no number, or too long.
    private func text(_ name: String) -> String {
        guard case .record(_, let fields, _) = subject, let field = fields[name],
            !field.isEncrypted, let value = field.value,
            value.countedBytes <= Self.fieldBytesMax
        else { return "" }
        switch value {
        case .string(let text): return text
        case .int64(let number), .timestamp(let number): return "\(number)"
        case .double(let number): return "\(number)"
        default: return ""
        }
    }
}

extension NotificationPayload.Subject {
    /// The key that the payload has for it.
    fileprivate var name: String {
        switch self {
        case .record: "qry"
        case .zone: "fet"
        case .database: "met"
        }
    }
}
