/// Checks a JSON text, strictly, and finds its values: UTF-8 only, no name twice, bounded depth.
@safe
package struct JSONParser: ~Copyable {
    /// The most arrays and objects inside one another, unless others are asked for.
    package static let depthMax = 32

    private let depthMax: Int
    private let bytes: UnsafeRawBufferPointer
    private(set) var tokens: [JSONToken] = []
    private var offset = 0
    private var depth = 0
    /// The names of the objects that are open, of the inner ones last.
    private var names: [JSONName] = []

    init(_ bytes: UnsafeRawBufferPointer, depthMax: Int) {
        unsafe self.bytes = bytes
        self.depthMax = depthMax
        tokens.reserveCapacity(bytes.count / 10 + 8)
    }

    /// The value that the bytes spell.
    ///
    /// - Complexity: O(*n*) in the bytes.
    package static func parse(_ bytes: [UInt8]) throws(JSONError) -> JSONValue {
        try JSONDocument(bytes).root.value
    }

    /// Finds the values of the whole text.
    mutating func parse() throws(JSONError) {
        guard unsafe !bytes.starts(with: [0xEF, 0xBB, 0xBF]) else {
            throw error("it begins with a byte order mark; write it without one")
        }
        guard unsafe bytes.count <= Int(UInt32.max) else {
            throw error("it has more than 4 GiB")
        }
        try value()
        skipSpace()
        guard unsafe offset == bytes.count else {
            throw error("there is more behind the end of the value")
        }
    }

    private func error(_ message: String, at offset: Int? = nil) -> JSONError {
        JSONError(message: message, offset: offset ?? self.offset)
    }

    private var next: UInt8? { unsafe offset < bytes.count ? bytes[offset] : nil }

    private mutating func skipSpace() {
        while let byte = next, byte <= 0x20,
            byte == 0x20 || (0x09...0x0A).contains(byte) || byte == 0x0D
        {
            offset += 1
        }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        offset += 1
        return true
    }

    private mutating func value() throws(JSONError) {
        skipSpace()
        switch next {
        case UInt8(ascii: "{"):
            try open()
            defer { depth -= 1 }
            try object()
        case UInt8(ascii: "["):
            try open()
            defer { depth -= 1 }
            try array()
        case UInt8(ascii: "\""): _ = try string()
        case .some(UInt8(ascii: "-")), .some(UInt8(ascii: "0")...UInt8(ascii: "9")): try number()
        case UInt8(ascii: "n"): try word("null", .null)
        case UInt8(ascii: "t"): try word("true", .yes)
        case UInt8(ascii: "f"): try word("false", .no)
        case nil: throw error("the text ends too early")
        default: throw error("there is no JSON value")
        }
    }

    private mutating func open() throws(JSONError) {
        guard depth < depthMax else {
            throw error(
                "more than \(depthMax) arrays and objects are inside one another")
        }
        depth += 1
        offset += 1
    }

    private mutating func add(_ kind: JSONToken.Kind, from start: Int, to end: Int) {
        tokens.append(JSONToken(kind, start, end, next: tokens.count + 1))
    }

    private mutating func word(
        _ word: StaticString, _ kind: JSONToken.Kind
    ) throws(JSONError) {
        let wanted = unsafe UnsafeRawBufferPointer(
            start: word.utf8Start, count: word.utf8CodeUnitCount)
        guard unsafe bytes.part(offset..<bytes.count).begins(with: wanted) else {
            throw error("there is no JSON value")
        }
        add(kind, from: offset, to: offset + wanted.count)
        offset += wanted.count
    }

    private mutating func object() throws(JSONError) {
        let place = tokens.count
        add(.object, from: offset, to: 0)
        let known = names.count
        var others = JSONNames()
        defer { names.removeLast(names.count - known) }
        var count = 0
        skipSpace()
        if !take(UInt8(ascii: "}")) {
            repeat {
                skipSpace()
                let start = offset
                guard next == UInt8(ascii: "\"") else {
                    throw error("a name in quotes is missing")
                }
                let name = try string()
                guard isNew(name, since: known, &others) else {
                    throw error("the name \"\(text(of: name))\" is there twice", at: start)
                }
                skipSpace()
                guard take(UInt8(ascii: ":")) else { throw error("a colon is missing") }
                try value()
                count += 1
                skipSpace()
            } while take(UInt8(ascii: ","))
            guard take(UInt8(ascii: "}")) else {
                throw error("a comma or a closing brace is missing")
            }
        }
        close(place, count)
    }

    private mutating func array() throws(JSONError) {
        let place = tokens.count
        add(.array, from: offset, to: 0)
        var count = 0
        skipSpace()
        if !take(UInt8(ascii: "]")) {
            repeat {
                try value()
                count += 1
                skipSpace()
            } while take(UInt8(ascii: ","))
            guard take(UInt8(ascii: "]")) else {
                throw error("a comma or a closing bracket is missing")
            }
        }
        close(place, count)
    }

    private mutating func close(_ place: Int, _ count: Int) {
        tokens[place].end = UInt32(count)
        tokens[place].next = UInt32(tokens.count)
    }

    private mutating func number() throws(JSONError) {
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
        add(.number, from: start, to: offset)
    }
}

// MARK: Text

extension JSONParser {
    /// - Returns: The text as a name.
    private mutating func string() throws(JSONError) -> JSONName {
        let start = offset
        offset += 1
        var (hasEscapes, isASCII) = (false, true)
        while true {
            let isPlain = try skipPlain(start)
            isASCII = isASCII && isPlain
            if take(UInt8(ascii: "\"")) { break }
            hasEscapes = true
            offset += 1
            try skipEscape()
        }
        let range = (start + 1)..<(offset - 1)
        if !isASCII, unsafe bytes.part(range).isASCIIText == nil {
            throw error("the text is not UTF-8", at: start)
        }
        let kind: JSONToken.Kind =
            hasEscapes ? .escapedString : isASCII ? .asciiString : .plainString
        add(kind, from: range.lowerBound, to: range.upperBound)
        return unsafe JSONName(token: tokens.count - 1, kind, bytes.part(range))
    }

    /// Goes to the next quote or backslash, which is there.
    ///
    /// - Returns: Whether all before it is ASCII.
    private mutating func skipPlain(_ start: Int) throws(JSONError) -> Bool {
        var isASCII = true
        let end = unsafe bytes.count
        while offset < end {
            if offset + 8 <= end {
                let word: UInt64 = unsafe bytes.little(UInt64.self, at: offset)
                let marks = word.jsonMarks
                offset += marks.trailingZeroBitCount / 8
                if marks == 0 { continue }
            }
            let byte = unsafe bytes[offset]
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { return isASCII }
            guard byte >= 0x20 else {
                throw error("a control character in text is not escaped")
            }
            if byte >= 0x80 { isASCII = false }
            offset += 1
        }
        throw error("text has no closing quote", at: start)
    }

    private mutating func skipEscape() throws(JSONError) {
        guard let byte = next else { throw error("text ends inside an escape") }
        offset += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"),
            UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            break
        case UInt8(ascii: "u"): try skipCodePoint()
        default: throw error("there is no such escape", at: offset - 1)
        }
    }

    /// Passes `XXXX` of `\uXXXX`, or of two of them that are a surrogate pair.
    private mutating func skipCodePoint() throws(JSONError) {
        let start = offset
        let code = try hexDigits()
        var isWhole = !(0xD800..<0xE000).contains(code)
        if (0xD800..<0xDC00).contains(code), take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) {
            isWhole = (0xDC00..<0xE000).contains(try hexDigits())
        }
        guard isWhole else { throw error("half of a surrogate pair is missing", at: start) }
    }

    private mutating func hexDigits() throws(JSONError) -> UInt32 {
        var code: UInt32 = 0
        for index in offset..<(offset + 4) {
            guard unsafe index < bytes.count, let digit = unsafe bytes[index].hexadecimalDigit
            else {
                throw error("four hexadecimal digits are missing")
            }
            code = code << 4 | UInt32(digit)
        }
        offset += 4
        return code
    }
}

// MARK: Names

/// A name of an object that is open.
private struct JSONName {
    let token: Int
    /// Whether it is ASCII without escapes, so that equal names are equal bytes.
    let isPlain: Bool
    /// A part of the bytes; names that differ in it differ.
    let mark: UInt64

    init(token: Int, _ kind: JSONToken.Kind, _ bytes: UnsafeRawBufferPointer) {
        self.token = token
        isPlain = kind == .asciiString
        var mark = UInt64(bytes.count)
        if bytes.count >= 8 {
            unsafe mark ^= bytes.little(UInt64.self, at: 0)
            unsafe mark ^= bytes.little(UInt64.self, at: bytes.count - 8) << 3
        } else {
            for index in bytes.indices { mark = unsafe mark << 8 ^ UInt64(bytes[index]) }
        }
        self.mark = mark
    }
}

/// The names of an object, where they can't be told apart by their bytes or are many.
private struct JSONNames {
    /// The most names that are compared one by one.
    static let comparedMax = 64

    /// Empty as long as names are compared by their bytes.
    var texts: Set<String> = []
}

extension JSONParser {
    /// Whether no name of an object is the same text; then it is taken as one of them.
    private mutating func isNew(
        _ name: JSONName, since first: Int, _ others: inout JSONNames
    ) -> Bool {
        let count = names.count - first
        if others.texts.isEmpty, name.isPlain, count < JSONNames.comparedMax {
            for index in first..<names.count
            where names[index].mark == name.mark && isSame(names[index], name) {
                return false
            }
            names.append(name)
            return true
        }
        if others.texts.isEmpty {
            for index in first..<names.count { others.texts.insert(text(of: names[index])) }
        }
        names.append(name)
        return others.texts.insert(text(of: name)).inserted
    }

    private func part(_ name: JSONName) -> UnsafeRawBufferPointer {
        let token = tokens[name.token]
        return unsafe bytes.part(Int(token.start)..<Int(token.end))
    }

    private func isSame(_ one: JSONName, _ other: JSONName) -> Bool {
        unsafe part(one).holdsSameBytes(as: part(other))
    }

    private func text(of name: JSONName) -> String {
        unsafe part(name).jsonText(tokens[name.token].kind)
    }
}

extension UInt8 {
    /// What an ASCII character means as a hexadecimal digit of either case.
    package var hexadecimalDigit: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
