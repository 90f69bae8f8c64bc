import Foundation

/// JSON (RFC 8259), written into a buffer that is used again.
extension ByteBuffer {
    private static let hexDigits: StaticString = "0123456789ABCDEF"

    /// Appends text in quotes. What is no UTF-8 is repaired.
    package mutating func append(jsonText bytes: UnsafeRawBufferPointer) {
        let before = count
        if appendPlain(bytes) { return }
        truncate(to: before)
        append(UInt8(ascii: "\""))
        if (try? UTF8Span(validating: bytes.bindMemory(to: UInt8.self).span)) != nil {
            append(escaping: bytes)
        } else {
            var text = String(decoding: bytes, as: UTF8.self)
            text.withUTF8 { append(escaping: UnsafeRawBufferPointer($0)) }
        }
        append(UInt8(ascii: "\""))
    }

    /// Appends text in quotes if all of it is ASCII that JSON does not escape.
    ///
    /// Eight bytes are copied at once, and looked at in passing.
    ///
    /// - Returns: whether it is; if not, what was appended is to be taken away.
    private mutating func appendPlain(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let size = bytes.count
        let target = extend(by: size + 2)
        target.storeBytes(of: UInt8(ascii: "\""), as: UInt8.self)
        target.storeBytes(
            of: UInt8(ascii: "\""), toByteOffset: size + 1, as: UInt8.self)
        guard let start = bytes.baseAddress else { return true }
        var offset = 0
        while offset + 8 <= size {
            let word = start.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            guard word.jsonMarks(ascii: true) == 0 else { return false }
            target.storeBytes(of: word, toByteOffset: offset + 1, as: UInt64.self)
            offset += 8
        }
        while offset < size {
            let byte = start.load(fromByteOffset: offset, as: UInt8.self)
            guard byte < 0x80, !byte.isEscapedInJSON else { return false }
            target.storeBytes(of: byte, toByteOffset: offset + 1, as: UInt8.self)
            offset += 1
        }
        return true
    }

    /// Appends runs of bytes that mean themselves as they are.
    private mutating func append(escaping bytes: UnsafeRawBufferPointer) {
        var (start, index) = (0, 0)
        while index < bytes.count {
            if index + 8 <= bytes.count,
                bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                    .jsonMarks(ascii: false) == 0
            {
                index += 8
                continue
            }
            let byte = bytes[index]
            if byte.isEscapedInJSON {
                append(bytes.part(start..<index))
                append(escaped: byte)
                start = index + 1
            }
            index += 1
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

    /// Writes the two upper-case digits of a byte.
    static func writeHex(_ byte: UInt8, to target: UnsafeMutableRawPointer) {
        let digits = hexDigits.utf8Start
        target.storeBytes(of: digits[Int(byte >> 4)], as: UInt8.self)
        target.storeBytes(of: digits[Int(byte & 15)], toByteOffset: 1, as: UInt8.self)
    }

    package mutating func append(decimal number: Int64) {
        let magnitude = number.magnitude
        if number < 0 { append(UInt8(ascii: "-")) }
        var count = 1
        var limit: UInt64 = 10
        while magnitude >= limit {
            count += 1
            let (next, overflows) = limit.multipliedReportingOverflow(by: 10)
            if overflows { break }
            limit = next
        }
        let target = extend(by: count)
        var rest = magnitude
        for offset in stride(from: count - 1, through: 0, by: -1) {
            target.storeBytes(
                of: UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest % 10),
                toByteOffset: offset, as: UInt8.self)
            rest /= 10
        }
    }

    /// Appends a record name in quotes, as ``RecordName/description`` spells it.
    package mutating func append(json name: RecordName) {
        guard case .uuid(let uuid) = name else {
            append(jsonText: name.description)
            return
        }
        let target = extend(by: UUID.textByteCount + 2)
        target.storeBytes(of: UInt8(ascii: "\""), as: UInt8.self)
        target.storeBytes(
            of: UInt8(ascii: "\""), toByteOffset: UUID.textByteCount + 1, as: UInt8.self)
        uuid.writeText(to: target + 1)
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
        case .asset(let asset): append(json: asset)
        case .location(let location):
            append(utf8: "{\"latitude\":\(location.latitude),")
            append(utf8: "\"longitude\":\(location.longitude)}")
        case .list(let elements, _):
            append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { append(UInt8(ascii: ",")) }
                append(json: element)
            }
            append(UInt8(ascii: "]"))
        case .unknown(let value): append(utf8: value.json)
        }
    }

    private mutating func append(json name: RecordName, _ action: ServiceReference.Action) {
        append(utf8: "{\"recordName\":")
        append(json: name)
        if let action = action.name {
            append(utf8: ",\"action\":")
            append(jsonText: action)
        }
        append(UInt8(ascii: "}"))
    }

    private mutating func append(json asset: ServiceAsset) {
        var separator = "{"
        func name(_ name: String, to buffer: inout ByteBuffer) {
            buffer.append(utf8: separator)
            buffer.append(jsonText: name)
            buffer.append(UInt8(ascii: ":"))
            separator = ","
        }
        func member(_ key: String, _ text: String?, to buffer: inout ByteBuffer) {
            guard let text else { return }
            name(key, to: &buffer)
            buffer.append(jsonText: text)
        }
        member("fileChecksum", asset.fileChecksum, to: &self)
        if let size = asset.size {
            name("size", to: &self)
            append(decimal: size)
        }
        member("referenceChecksum", asset.referenceChecksum, to: &self)
        member("wrappingKey", asset.wrappingKey, to: &self)
        member("receipt", asset.receipt, to: &self)
        member("downloadURL", asset.downloadURL, to: &self)
        append(utf8: separator == "{" ? "{}" : "}")
    }

    /// Appends a stored value in the form that the service has for it.
    package mutating func append(
        json value: _FieldValue, of attribute: AttributeSchema?
    ) throws(FieldError) {
        let action = ServiceMapping.action(attribute?.reference?.onDelete)
        guard try !append(plainJSON: value, action) else { return }
        append(json: ServiceMapping.serviceValue(try value.decoded(), of: attribute))
    }

    /// Appends a stored value of a type that needs no attribute to be told what it is to the service.
    ///
    /// - Parameter action: What the service does with a record that refers to one that is deleted.
    /// - Returns: whether the value is of such a type; if not, nothing was appended.
    package mutating func append(
        plainJSON value: _FieldValue, _ action: ServiceReference.Action
    ) throws(FieldError) -> Bool {
        switch value.tag {
        case .string: append(jsonText: value.payload)
        case .int64: append(decimal: try value.int64())
        case .bool: append(decimal: try value.bool() ? 1 : 0)
        case .date: append(decimal: try value.milliseconds())
        case .double: append(utf8: "\(try value.double())")
        case .reference: append(json: try value.reference().name, action)
        default: return false
        }
        return true
    }
}

extension UInt8 {
    /// Whether JSON has another spelling for the character in texts.
    fileprivate var isEscapedInJSON: Bool { self < 0x20 || self == 0x22 || self == 0x5C }
}

extension UInt64 {
    /// Not zero if one of the eight bytes is a quote, a backslash or a control character, or is not ASCII if it
    /// has to be.
    ///
    /// A byte is below a bound if subtracting it borrows from the byte's highest bit, which no ASCII has
    /// set. Bytes before one that borrows tell nothing, and then there is one.
    fileprivate func jsonMarks(ascii: Bool) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highest = ones << 7
        let (quotes, backslashes) = (self ^ (ones &* 0x22), self ^ (ones &* 0x5C))
        let below = (self &- ones &* 0x20) & ~self
        let equal =
            ((quotes &- ones) & ~quotes) | ((backslashes &- ones) & ~backslashes)
        return (below | equal | (ascii ? self : 0)) & highest
    }
}
