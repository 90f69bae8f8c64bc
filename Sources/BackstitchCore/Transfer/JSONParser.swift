/// Reads one JSON value from bytes, strictly: UTF-8 only, no name twice, bounded depth.
package struct JSONParser {
    /// The most arrays and objects inside one another.
    package static let depthMax = 32

    private let bytes: [UInt8]
    private var offset = 0
    private var depth = 0

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The value that the bytes spell.
    package static func parse(_ bytes: [UInt8]) throws(JSONError) -> JSONValue {
        var parser = JSONParser(bytes)
        let value = try parser.value()
        parser.skipSpace()
        guard parser.offset == bytes.count else {
            throw parser.error("there is more behind the end of the value")
        }
        return value
    }

    private func error(_ message: String, at offset: Int? = nil) -> JSONError {
        JSONError(message: message, offset: offset ?? self.offset)
    }

    private var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || (0x09...0x0A).contains(byte) || byte == 0x0D {
            offset += 1
        }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        offset += 1
        return true
    }

    private mutating func value() throws(JSONError) -> JSONValue {
        skipSpace()
        switch next {
        case UInt8(ascii: "{"):
            return try nested { parser throws(JSONError) in try parser.object() }
        case UInt8(ascii: "["): return try nested { parser throws(JSONError) in try parser.array() }
        case UInt8(ascii: "\""): return .string(try string())
        case .some(UInt8(ascii: "-")), .some(UInt8(ascii: "0")...UInt8(ascii: "9")):
            return try number()
        default: return try word()
        }
    }

    private mutating func nested(
        _ body: (inout JSONParser) throws(JSONError) -> JSONValue
    ) throws(JSONError) -> JSONValue {
        guard depth < Self.depthMax else {
            throw error("more than \(Self.depthMax) arrays and objects are inside one another")
        }
        depth += 1
        defer { depth -= 1 }
        offset += 1
        return try body(&self)
    }

    private mutating func word() throws(JSONError) -> JSONValue {
        let words: [(StaticString, JSONValue)] = [
            ("null", .null), ("true", .bool(true)), ("false", .bool(false)),
        ]
        for (word, value) in words {
            let end = offset + word.utf8CodeUnitCount
            guard end <= bytes.count,
                bytes[offset..<end].elementsEqual(Array("\(word)".utf8))
            else { continue }
            offset = end
            return value
        }
        throw error(next == nil ? "the text ends too early" : "there is no JSON value")
    }

    private mutating func object() throws(JSONError) -> JSONValue {
        var members: [JSONValue.Member] = []
        var names: Set<String> = []
        skipSpace()
        if take(UInt8(ascii: "}")) { return .object([]) }
        repeat {
            skipSpace()
            let start = offset
            guard next == UInt8(ascii: "\"") else { throw error("a name in quotes is missing") }
            let name = try string()
            guard names.insert(name).inserted else {
                throw error("the name \"\(name)\" is there twice", at: start)
            }
            skipSpace()
            guard take(UInt8(ascii: ":")) else { throw error("a colon is missing") }
            members.append(JSONValue.Member(name: name, value: try value()))
            skipSpace()
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "}")) else { throw error("a comma or a closing brace is missing") }
        return .object(members)
    }

    private mutating func array() throws(JSONError) -> JSONValue {
        var elements: [JSONValue] = []
        skipSpace()
        if take(UInt8(ascii: "]")) { return .array([]) }
        repeat {
            elements.append(try value())
            skipSpace()
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "]")) else {
            throw error("a comma or a closing bracket is missing")
        }
        return .array(elements)
    }

    private mutating func number() throws(JSONError) -> JSONValue {
        let start = offset
        func isDigit(_ byte: UInt8?) -> Bool { byte.map { (0x30...0x39).contains($0) } ?? false }
        func skipDigits(_ parser: inout JSONParser) throws(JSONError) {
            guard isDigit(parser.next) else { throw parser.error("a digit is missing") }
            while isDigit(parser.next) { parser.offset += 1 }
        }
        _ = take(UInt8(ascii: "-"))
        if take(UInt8(ascii: "0")) {
            if isDigit(next) { throw error("a number starts with a needless zero", at: start) }
        } else {
            try skipDigits(&self)
        }
        if take(UInt8(ascii: ".")) { try skipDigits(&self) }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            try skipDigits(&self)
        }
        return .number(String(decoding: bytes[start..<offset], as: UTF8.self))
    }
}

// MARK: Text

extension JSONParser {
    private mutating func string() throws(JSONError) -> String {
        let start = offset
        offset += 1
        var text: [UInt8] = []
        while let byte = next {
            switch byte {
            case UInt8(ascii: "\""):
                offset += 1
                let decoded = text.withUnsafeBytes { String(utf8: $0) }
                guard let decoded else { throw error("the text is not UTF-8", at: start) }
                return decoded
            case UInt8(ascii: "\\"):
                offset += 1
                try escape(into: &text)
            case 0..<0x20: throw error("a control character in text is not escaped")
            default:
                text.append(byte)
                offset += 1
            }
        }
        throw error("text has no closing quote", at: start)
    }

    private mutating func escape(into text: inout [UInt8]) throws(JSONError) {
        let escapes: [UInt8: UInt8] = [
            0x22: 0x22, 0x5C: 0x5C, 0x2F: 0x2F, 0x62: 0x08, 0x66: 0x0C, 0x6E: 0x0A, 0x72: 0x0D,
            0x74: 0x09,
        ]
        guard let byte = next else { throw error("text ends inside an escape") }
        offset += 1
        if let meaning = escapes[byte] {
            text.append(meaning)
        } else if byte == UInt8(ascii: "u") {
            text.append(contentsOf: try codePoint().utf8)
        } else {
            throw error("there is no such escape", at: offset - 1)
        }
    }

    /// The character of `\uXXXX`, or of two of them that are a surrogate pair.
    private mutating func codePoint() throws(JSONError) -> String {
        let start = offset
        var code = try hexDigits()
        if (0xD800..<0xDC00).contains(code), take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) {
            let low = try hexDigits()
            guard (0xDC00..<0xE000).contains(low) else {
                throw error("half of a surrogate pair is missing", at: start)
            }
            code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
        }
        guard let scalar = Unicode.Scalar(code) else {
            throw error("half of a surrogate pair is missing", at: start)
        }
        return String(Character(scalar))
    }

    private mutating func hexDigits() throws(JSONError) -> UInt32 {
        let end = offset + 4
        let digits = bytes[offset..<min(end, bytes.count)]
        guard digits.count == 4, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
            let code = UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
        else { throw error("four hexadecimal digits are missing") }
        offset = end
        return code
    }
}
