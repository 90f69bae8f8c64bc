@testable import BackstitchCore

/// Reads one JSON value by recursion into a tree, as plainly as can be: what ``JSONParser`` has to agree with.
struct ReferenceJSONParser {
    private static let depthMax = 32

    private let bytes: UnsafeRawBufferPointer
    private var offset = 0
    private var depth = 0

    private init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// The value that the bytes spell.
    ///
    /// - Complexity: O(*n*) in the bytes.
    static func parse(_ bytes: [UInt8]) throws(JSONError) -> JSONValue {
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(JSONError) in try parse(bytes) }
        }
        return try result.get()
    }

    private static func parse(_ bytes: UnsafeRawBufferPointer) throws(JSONError) -> JSONValue {
        var parser = ReferenceJSONParser(bytes)
        guard !bytes.starts(with: [0xEF, 0xBB, 0xBF]) else {
            throw parser.error("it begins with a byte order mark; write it without one")
        }
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
            try open()
            defer { depth -= 1 }
            return try object()
        case UInt8(ascii: "["):
            try open()
            defer { depth -= 1 }
            return try array()
        case UInt8(ascii: "\""): return .string(try string())
        case .some(UInt8(ascii: "-")), .some(UInt8(ascii: "0")...UInt8(ascii: "9")):
            return try number()
        case UInt8(ascii: "n"): return try word("null", .null)
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case nil: throw error("the text ends too early")
        default: throw error("there is no JSON value")
        }
    }

    private mutating func open() throws(JSONError) {
        guard depth < Self.depthMax else {
            throw error("more than \(Self.depthMax) arrays and objects are inside one another")
        }
        depth += 1
        offset += 1
    }

    private mutating func word(
        _ word: StaticString, _ value: JSONValue
    ) throws(JSONError) -> JSONValue {
        let wanted = UnsafeRawBufferPointer(
            start: word.utf8Start, count: word.utf8CodeUnitCount)
        guard bytes.part(offset..<bytes.count).begins(with: wanted) else {
            throw error("there is no JSON value")
        }
        offset += wanted.count
        return value
    }

    private mutating func object() throws(JSONError) -> JSONValue {
        var members = JSONMembers()
        skipSpace()
        if take(UInt8(ascii: "}")) { return .object([]) }
        repeat {
            skipSpace()
            let start = offset
            guard next == UInt8(ascii: "\"") else { throw error("a name in quotes is missing") }
            let name = try string()
            guard members.isNew(name) else {
                throw error("the name \"\(name)\" is there twice", at: start)
            }
            skipSpace()
            guard take(UInt8(ascii: ":")) else { throw error("a colon is missing") }
            members.add(name, try value())
            skipSpace()
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "}")) else { throw error("a comma or a closing brace is missing") }
        return .object(members.members)
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
        func skipDigits(_ parser: inout ReferenceJSONParser) throws(JSONError) {
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
        return .number(String(decoding: bytes.part(start..<offset), as: UTF8.self))
    }
}

// MARK: Text

extension ReferenceJSONParser {
    private mutating func string() throws(JSONError) -> String {
        let start = offset
        offset += 1
        let run = try plainRun(start)
        if take(UInt8(ascii: "\"")) { return try text(run, start) }
        var text = Array(run)
        while !take(UInt8(ascii: "\"")) {
            offset += 1
            try escape(into: &text)
            text.append(contentsOf: try plainRun(start))
        }
        let result = text.withUnsafeBytes { text in
            Result { () throws(JSONError) in try self.text(text, start) }
        }
        return try result.get()
    }

    /// The bytes up to the next quote or backslash, which is there.
    private mutating func plainRun(_ start: Int) throws(JSONError) -> UnsafeRawBufferPointer {
        let first = offset
        while let byte = next {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                return bytes.part(first..<offset)
            }
            guard byte >= 0x20 else {
                throw error("a control character in text is not escaped")
            }
            offset += 1
        }
        throw error("text has no closing quote", at: start)
    }

    private func text(
        _ bytes: UnsafeRawBufferPointer, _ start: Int
    ) throws(JSONError) -> String {
        guard let text = String(utf8: bytes) else {
            throw error("the text is not UTF-8", at: start)
        }
        return text
    }

    private mutating func escape(into text: inout [UInt8]) throws(JSONError) {
        guard let byte = next else { throw error("text ends inside an escape") }
        offset += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): text.append(contentsOf: try codePoint().utf8)
        default: throw error("there is no such escape", at: offset - 1)
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
        var code: UInt32 = 0
        for index in offset..<(offset + 4) {
            guard index < bytes.count, let digit = bytes[index].hexadecimalDigit
            else {
                throw error("four hexadecimal digits are missing")
            }
            code = code << 4 | UInt32(digit)
        }
        offset += 4
        return code
    }
}

/// The members of an object while it is read.
private struct JSONMembers {
    /// The most members whose names are compared one by one.
    private static let comparedMax = 16

    private(set) var members: [JSONValue.Member] = []
    /// The names, if there are too many to compare.
    private var names: Set<String> = []

    init() {
        // Most objects have a few members, and room for them at once is had for less than bit by bit.
        members.reserveCapacity(4)
    }

    func isNew(_ name: String) -> Bool {
        guard members.count > Self.comparedMax else {
            return members.allSatisfy { $0.name != name }
        }
        return !names.contains(name)
    }

    mutating func add(_ name: String, _ value: JSONValue) {
        members.append(JSONValue.Member(name: name, value: value))
        guard members.count > Self.comparedMax else { return }
        if names.isEmpty {
            names = Set(members.lazy.map(\.name))
        } else {
            names.insert(name)
        }
    }
}
