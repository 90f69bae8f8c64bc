import Foundation

/// JSON (RFC 8259), written into a buffer that is used again.
extension ByteBuffer {
    private static let hexDigits: StaticString = "0123456789ABCDEF"

    /// Appends text in quotes. What is no UTF-8 is repaired.
    package mutating func append(jsonText bytes: UnsafeRawBufferPointer) {
        append(UInt8(ascii: "\""))
        var isASCII = true
        for byte in bytes where byte >= 0x80 { isASCII = false }
        if isASCII {
            append(escaping: bytes)
        } else {
            var text = String(decoding: bytes, as: UTF8.self)
            text.withUTF8 { append(escaping: UnsafeRawBufferPointer($0)) }
        }
        append(UInt8(ascii: "\""))
    }

    /// Appends runs of bytes that mean themselves as they are.
    private mutating func append(escaping bytes: UnsafeRawBufferPointer) {
        var start = 0
        for index in bytes.indices {
            let byte = bytes[index]
            guard byte < 0x20 || byte == 0x22 || byte == 0x5C else { continue }
            append(bytes.part(start..<index))
            append(escaped: byte)
            start = index + 1
        }
        append(bytes.part(start..<bytes.count))
    }

    package mutating func append(jsonText text: String) {
        var text = text
        text.withUTF8 { append(jsonText: UnsafeRawBufferPointer($0)) }
    }

    private mutating func append(escaped byte: UInt8) {
        if byte >= 0x20 {
            append(UInt8(ascii: "\\"))
            append(byte)
        } else {
            append(utf8: "\\u00")
            Self.writeHex(byte, to: extend(by: 2))
        }
    }

    private static func writeHex(_ byte: UInt8, to target: UnsafeMutableRawPointer) {
        let digits = hexDigits.utf8Start
        target.storeBytes(of: digits[Int(byte >> 4)], as: UInt8.self)
        target.storeBytes(of: digits[Int(byte & 15)], toByteOffset: 1, as: UInt8.self)
    }

    package mutating func append(decimal number: Int64) {
        var rest = number.magnitude
        var digits: (UInt64, UInt64, UInt64) = (0, 0, 0)
        withUnsafeMutableBytes(of: &digits) { digits in
            var start = digits.count
            repeat {
                start -= 1
                digits[start] = UInt8(ascii: "0") + UInt8(rest % 10)
                rest /= 10
            } while rest > 0
            if number < 0 {
                start -= 1
                digits[start] = UInt8(ascii: "-")
            }
            append(UnsafeRawBufferPointer(rebasing: digits[start...]))
        }
    }

    /// Appends a record name in quotes, as ``RecordName/description`` spells it.
    package mutating func append(json name: RecordName) {
        guard case .uuid(let uuid) = name else {
            append(jsonText: name.description)
            return
        }
        // Two quotes, four dashes, 32 digits.
        let target = extend(by: 38)
        target.initializeMemory(as: UInt8.self, repeating: UInt8(ascii: "-"), count: 38)
        target.storeBytes(of: UInt8(ascii: "\""), as: UInt8.self)
        target.storeBytes(of: UInt8(ascii: "\""), toByteOffset: 37, as: UInt8.self)
        withUnsafeBytes(of: uuid.uuid) { bytes in
            var offset = 1
            for index in 0..<16 {
                if index == 4 || index == 6 || index == 8 || index == 10 { offset += 1 }
                Self.writeHex(bytes[index], to: target + offset)
                offset += 2
            }
        }
    }

    /// Appends a value in the form that the service has for it.
    package mutating func append(json value: ServiceValue) {
        switch value {
        case .null: append(utf8: "null")
        case .string(let text): append(jsonText: text)
        case .int64(let number): append(decimal: number)
        case .double(let number): append(utf8: "\(number)")
        case .timestamp(let milliseconds): append(decimal: milliseconds)
        case .bytes(let data): append(jsonText: data.base64EncodedString())
        case .reference(let reference):
            append(json: RecordName(reference.recordName), reference.action)
        case .location(let location):
            append(utf8: "{\"latitude\":\(location.latitude),")
            append(utf8: "\"longitude\":\(location.longitude)}")
        case .list(let elements):
            append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { append(UInt8(ascii: ",")) }
                append(json: element)
            }
            append(UInt8(ascii: "]"))
        }
    }

    private mutating func append(json name: RecordName, _ action: ServiceReference.Action) {
        append(utf8: "{\"recordName\":")
        append(json: name)
        append(utf8: ",\"action\":")
        append(jsonText: action.rawValue)
        append(UInt8(ascii: "}"))
    }

    /// Appends a stored value in the form that the service has for it.
    package mutating func append(
        json value: FieldValue, of attribute: AttributeSchema?
    ) throws(FieldError) {
        switch value.tag {
        // The two that are costly as values.
        case .string: append(jsonText: value.payload)
        case .reference:
            append(
                json: try value.reference().name,
                ServiceMapping.action(attribute?.reference?.onDelete))
        default: append(json: ServiceMapping.serviceValue(try value.decoded(), of: attribute))
        }
    }
}
