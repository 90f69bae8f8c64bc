import Backstitch

/// Reads stanzas of Debian's control format as their bytes arrive, in parts of any size.
///
/// A stanza is a run of `Name: value` lines; lines that start with a space or a tab continue the
/// value above, and a blank line ends the stanza. Lines that start with `#` are left out, and lines
/// may end with CR LF. A stanza with any other line is dropped as a whole.
struct Deb822Parser {
    /// What was read.
    enum Item: Equatable {
        case stanza(Deb822Stanza)
        case malformed(Deb822Problem)
    }

    /// The most bytes of one line, and the most fields of one stanza.
    static let lineBytesMax = 1 << 20
    static let fieldsMax = 1_000

    private let wanted: Set<String>?
    private var line: [UInt8] = []
    private var lineNumber = 0
    private var stanza: Deb822Stanza?
    private var seen: Set<String> = []
    /// The field that the next continuation belongs to; nil if it is not wanted.
    private var current: String?
    private var isDropping = false
    private var isLineTooLong = false

    /// A parser that keeps the fields of these names; nil keeps all.
    init(fields: Set<String>? = nil) {
        wanted = fields
    }

    /// Takes the next bytes and hands over what they complete.
    mutating func add(
        _ bytes: UnsafeRawBufferPointer, _ receive: (Item) throws -> Void
    ) rethrows {
        var start = 0
        for index in bytes.indices where unsafe bytes[index] == UInt8(ascii: "\n") {
            unsafe append(UnsafeRawBufferPointer(rebasing: bytes[start..<index]))
            try endLine(receive)
            start = index + 1
        }
        unsafe append(UnsafeRawBufferPointer(rebasing: bytes[start...]))
    }

    /// Ends the input: a last line needs no line feed, a last stanza no blank line.
    mutating func finish(_ receive: (Item) throws -> Void) rethrows {
        if !line.isEmpty { try endLine(receive) }
        try endStanza(receive)
    }

    private mutating func append(_ bytes: UnsafeRawBufferPointer) {
        if line.count + bytes.count > Self.lineBytesMax {
            isLineTooLong = true
            line = [UInt8(ascii: "?")]
        } else {
            unsafe line.append(contentsOf: bytes)
        }
    }

    private mutating func endLine(_ receive: (Item) throws -> Void) rethrows {
        defer {
            line.removeAll(keepingCapacity: true)
            isLineTooLong = false
        }
        lineNumber += 1
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        if !isLineTooLong, line.allSatisfy(Self.isBlank) { return try endStanza(receive) }
        guard !isDropping, line.first != UInt8(ascii: "#") else { return }
        let problem =
            isLineTooLong ? "it has more than \(Self.lineBytesMax) bytes" : takeLine()
        guard let problem else { return }
        isDropping = true
        stanza = nil
        try receive(.malformed(Deb822Problem(line: lineNumber, reason: problem)))
    }

    private mutating func endStanza(_ receive: (Item) throws -> Void) rethrows {
        if let stanza { try receive(.stanza(stanza)) }
        stanza = nil
        current = nil
        isDropping = false
        seen.removeAll(keepingCapacity: true)
    }

    /// Takes a line that is not blank; returns what is wrong with it.
    private mutating func takeLine() -> String? {
        if Self.isBlank(line[0]) {
            guard stanza != nil else { return "it continues nothing" }
            guard let current else { return nil }
            guard let text = text(from: 0) else { return Self.notUTF8 }
            stanza?.fields[current, default: ""] += "\n" + text.trimmedBlanks
            return nil
        }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > 0,
            line[..<colon].allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else { return "it is no 'Name: value'" }
        let name = String(decoding: line[..<colon], as: UTF8.self)
        guard seen.insert(name).inserted else { return "the field \(name) is there twice" }
        guard seen.count <= Self.fieldsMax else {
            return "the stanza has more than \(Self.fieldsMax) fields"
        }
        if stanza == nil { stanza = Deb822Stanza(line: lineNumber) }
        current = nil
        if let wanted, !wanted.contains(name) { return nil }
        guard let value = text(from: colon + 1) else { return Self.notUTF8 }
        current = name
        stanza?.fields[name] = value.trimmedBlanks
        return nil
    }

    /// The rest of the line from a position; nil if it is not UTF-8.
    private func text(from start: Int) -> String? {
        unsafe line.withUnsafeBytes {
            unsafe String(utf8: UnsafeRawBufferPointer(rebasing: $0[start...]))
        }
    }

    private static let notUTF8 = "it is not UTF-8"

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}

/// One stanza.
struct Deb822Stanza: Equatable {
    /// The number of its first line, from 1.
    let line: Int
    /// The values by field name; lines of one value are separated by line feeds.
    var fields: [String: String] = [:]
}

/// Why a stanza was dropped.
struct Deb822Problem: Equatable {
    /// The number of the line that is wrong, from 1.
    let line: Int
    let reason: String
}

extension String {
    /// The text without spaces and tabs at its ends.
    fileprivate var trimmedBlanks: String {
        let bytes = utf8
        guard let first = bytes.firstIndex(where: { $0 != 0x20 && $0 != 0x09 }),
            let last = bytes.lastIndex(where: { $0 != 0x20 && $0 != 0x09 })
        else { return "" }
        if first == bytes.startIndex, bytes.index(after: last) == bytes.endIndex { return self }
        return String(self[first...last])
    }
}
