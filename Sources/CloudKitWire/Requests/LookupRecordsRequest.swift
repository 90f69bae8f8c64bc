/// The body of `records/lookup`.
package struct LookupRecordsRequest: Hashable, Sendable, WireBody {
    /// One record that is looked up.
    package struct Item: Hashable, Sendable, WireBody {
        package var recordName: String
        package var desiredKeys: [String]?

        package init(recordName: String, desiredKeys: [String]? = nil) {
            self.recordName = recordName
            self.desiredKeys = desiredKeys
        }

        package init(json: JSONObject) throws(WireFormatError) {
            recordName = try json.requiredText("recordName")
            desiredKeys = try json.texts("desiredKeys")
        }

        package func write(to json: inout JSONWriter) {
            json.member("recordName", recordName)
            json.member("desiredKeys", texts: desiredKeys)
        }
    }

    package var records: [Item]
    package var zoneID: WireZoneID?
    package var options: RecordOptions

    package init(
        records: [Item], zoneID: WireZoneID? = nil, options: RecordOptions = RecordOptions()
    ) {
        self.records = records
        self.zoneID = zoneID
        self.options = options
    }

    package init(json: JSONObject) throws(WireFormatError) {
        records = try json.requiredObjects("records", Item.init(json:))
        zoneID = try json.object("zoneID").map(WireZoneID.init(json:))
        options = try RecordOptions(json: json)
    }

    package func write(to json: inout JSONWriter) {
        json.member("records", bodies: records)
        json.member("zoneID", zoneID)
        options.write(to: &json)
    }
}
