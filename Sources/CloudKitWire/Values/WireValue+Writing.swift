import BackstitchCore
import Foundation

extension WireValue {
    /// Writes the value without its type, as an element.
    package func write(to json: inout JSONWriter) {
        switch self {
        case .string(let text): json.text(text)
        case .int64(let number), .timestamp(let number): json.fieldInteger(number)
        case .double(let number):
            if json.numbersAsStrings { json.text("\(number)") } else { json.number(number) }
        case .bytes(let data): json.text(data.base64EncodedString())
        case .reference(let reference): json.object { reference.write(to: &$0) }
        case .asset(let asset): json.object { asset.write(to: &$0) }
        case .location(let location): json.object { location.write(to: &$0) }
        case .list(let elements, _): json.array(elements) { $1.write(to: &$0) }
        case .other(let value, _):
            var text = value.text
            text.withUTF8 { json.raw(UnsafeRawBufferPointer($0)) }
        }
    }
}

extension JSONWriter {
    fileprivate mutating func fieldInteger(_ number: Int64) {
        if numbersAsStrings { text(String(number)) } else { integer(number) }
    }
}

extension WireReference {
    package func write(to json: inout JSONWriter) {
        json.member("recordName", recordName)
        json.member("action", action)
        json.member("zoneID", zoneID)
    }
}

extension WireAsset {
    package func write(to json: inout JSONWriter) {
        json.member("fileChecksum", fileChecksum)
        json.member("size", integer: size)
        json.member("referenceChecksum", referenceChecksum)
        json.member("wrappingKey", wrappingKey)
        json.member("receipt", receipt)
        json.member("downloadURL", downloadURL)
    }
}

extension WireLocation {
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
