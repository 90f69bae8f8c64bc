import BackstitchCore
import CloudKitWire
import Foundation

/// The place where the next page of a query begins: behind the last record of the page before, by the values
/// that the query sorts by. So writes between two pages do not move the place.
struct QueryMarker: WireBody, Hashable {
    /// The values of the sort keys; nil for null.
    var values: [WireField]
    var zoneName: String
    var recordName: String

    init(values: [ServiceValue?], zoneName: String, recordName: String) {
        self.values = values.map { WireField($0) }
        self.zoneName = zoneName
        self.recordName = recordName
    }

    init(json: JSONObject) throws(WireFormatError) {
        values = try json.requiredObjects("v") { value throws(WireFormatError) in
            try WireField(json: value, name: "v")
        }
        zoneName = try json.requiredText("z")
        recordName = try json.requiredText("n")
    }

    func write(to json: inout JSONWriter) {
        json.member("v", array: values) { json, value in json.object { value.write(to: &$0) } }
        json.member("z", zoneName)
        json.member("n", recordName)
    }

    /// The marker as clients carry it.
    var text: String { Data(body()).base64EncodedString() }

    /// Reads a marker.
    init(text: String) throws(WireError) {
        let error = WireError(.badRequest, "The continuationMarker is none of this hub.")
        guard let data = Data(base64Encoded: text) else { throw error }
        do throws(WireFormatError) {
            try self.init(body: Array(data))
        } catch {
            throw WireError(.badRequest, "The continuationMarker is none of this hub.")
        }
    }
}
