package import BackstitchCore

/// A record of a reply as a client takes it: its fields are packed as they are read, and what only a hub needs is
/// checked and left out.
///
/// A part of it that can't be read is a matter of this record, and the reply has others.
package struct PulledRecord: Hashable, Sendable, WireReply {
    package var recordName: String?
    package var recordType: String?
    package var recordChangeTag: String?
    /// The fields that have a value.
    package var fields = NamedFields()
    /// When the record was last changed, or made if that is not told, in milliseconds since 1970.
    package var modified: Int64?
    package var isDeleted = false
    /// Why it can't be read; nil if it can. Then all but the name may be missing.
    package var flaw: WireFormatError?

    package init(json: JSONObject) throws(WireFormatError) {
        recordName = try json.text("recordName")
        do throws(WireFormatError) {
            try read(json)
        } catch {
            flaw = error
        }
    }

    private mutating func read(_ json: JSONObject) throws(WireFormatError) {
        recordType = try json.text("recordType")
        recordChangeTag = try json.text("recordChangeTag")
        if let fields = try json.object("fields") {
            self.fields = try NamedFields(valuesOf: fields)
        }
        if let parent = try json.object("parent") {
            _ = try parent.requiredText("recordName")
            try parent.object("zoneID")?.checkZoneID()
        }
        _ = try json.flag("createShortGUID")
        let created = try json.object("created")?.stampTime()
        modified = try json.object("modified")?.stampTime() ?? created
        let isDeleted = try json.flag("deleted") ?? false
        try json.object("zoneID")?.checkZoneID()
        self.isDeleted = isDeleted
    }
}

extension JSONObject {
    /// The time of a stamp, which is checked as ``WireRecord/Stamp`` is.
    fileprivate func stampTime() throws(WireFormatError) -> Int64 {
        guard let timestamp = try integer("timestamp") else { throw Self.missing("timestamp") }
        try checkText("userRecordName")
        try checkText("deviceID")
        return timestamp
    }

    /// Checks the members as ``WireZoneID`` does.
    fileprivate func checkZoneID() throws(WireFormatError) {
        for name in ["zoneName", "ownerRecordName", "zoneType"] { try checkText(name) }
    }

    private func checkText(_ name: String) throws(WireFormatError) {
        guard value(name)?.isText != false else { throw Self.mismatch(name, "text") }
    }
}
