package import BackstitchCore
import Foundation

extension ServiceValue {
    /// Writes the value without its type, as an element.
    package func write(to json: inout JSONWriter) {
        switch self {
        case .null: json.flag(nil)
        case .string(let text): json.text(text)
        case .int64(let number), .timestamp(let number): json.fieldInteger(number)
        case .double(let number):
            if json.numbersAsStrings { json.text("\(number)") } else { json.number(number) }
        case .bytes(let data): json.text(data.base64EncodedString())
        case .reference(let reference): json.object { reference.write(to: &$0) }
        case .asset(let asset): json.object { asset.write(to: &$0) }
        case .location(let location): json.object { location.write(to: &$0) }
        case .list(let elements, _): json.array(elements) { $1.write(to: &$0) }
        case .unknown(let value):
            var text = value.json
            text.withUTF8 { unsafe json.raw(UnsafeRawBufferPointer($0)) }
        }
    }
}

extension JSONWriter {
    fileprivate mutating func fieldInteger(_ number: Int64) {
        if numbersAsStrings { text(String(number)) } else { integer(number) }
    }
}

extension ServiceReference {
    /// The zone of the record referred to, if the reference names it.
    package var zoneID: WireZoneID? {
        get {
            zone.map {
                WireZoneID($0.zoneName, ownerRecordName: $0.ownerName, zoneType: zoneType)
            }
        }
        set {
            zone = newValue.map { ZoneID($0.zoneName, ownerName: $0.ownerRecordName) }
            zoneType = newValue?.zoneType
        }
    }

    package func write(to json: inout JSONWriter) {
        json.member("recordName", recordName)
        json.member("action", action.name)
        json.member("zoneID", zoneID)
    }
}

extension ServiceAsset {
    package func write(to json: inout JSONWriter) {
        json.member("fileChecksum", fileChecksum)
        json.member("size", integer: size)
        json.member("referenceChecksum", referenceChecksum)
        json.member("wrappingKey", wrappingKey)
        json.member("receipt", receipt)
        json.member("downloadURL", downloadURL)
    }
}

extension ServiceLocation {
    package func write(to json: inout JSONWriter) {
        json.member("latitude", number: latitude)
        json.member("longitude", number: longitude)
        json.member("horizontalAccuracy", number: horizontalAccuracy)
        json.member("verticalAccuracy", number: verticalAccuracy)
        json.member("altitude", number: altitude)
        json.member("speed", number: speed)
        json.member("course", number: course)
        json.member("timestamp", integer: timestamp)
    }
}
