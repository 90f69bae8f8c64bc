import Terminal

/// A configuration file in INI form: lines `key = value` in sections.
///
///     # A comment fills its line.
///     [server]
///     listen = 127.0.0.1:8480
///
/// It is read strictly. A value is the rest of its line, without the blanks around it.
struct ConfigurationFile: Equatable {
    struct Entry: Equatable {
        let section: String
        let key: String
        let value: String
        /// Counted from 1.
        let line: Int
    }

    /// What is wrong with a line, and what to do.
    struct Problem: Equatable {
        let line: Int
        let message: String
    }

    /// The most bytes of a file.
    static let bytesMax = 64 << 10

    private(set) var entries: [Entry] = []
    private(set) var problems: [Problem] = []
    private var section: String?

    /// Reads a file. Lines that are wrong are in ``problems``, and all others in ``entries``.
    init(_ bytes: [UInt8]) {
        guard bytes.count <= Self.bytesMax else {
            problems = [
                Problem(
                    line: 1,
                    message: "The file has more than \(Self.bytesMax.asBytes). Is it the right "
                        + "one?")
            ]
            return
        }
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            guard let text = String(validating: line, as: UTF8.self) else {
                note(index + 1, "The line is not UTF-8. Save the file in that encoding.")
                continue
            }
            read(text.trimmed, index + 1)
        }
    }

    private mutating func note(_ line: Int, _ message: String) {
        problems.append(Problem(line: line, message: message))
    }

    private mutating func read(_ text: Substring, _ line: Int) {
        guard let first = text.first, first != "#", first != ";" else { return }
        guard text.printable == text else {
            return note(line, "The line has characters that can't be seen. Type it anew.")
        }
        if first == "[" { return readSection(text, line) }
        guard let sign = text.firstIndex(of: "=") else {
            return note(line, "There is no '=' in '\(text)'. Write 'key = value'.")
        }
        let (key, value) = (text[..<sign].trimmed, text[text.index(after: sign)...].trimmed)
        guard !key.isEmpty else {
            return note(line, "There is no key in front of the '='. Write 'key = value'.")
        }
        guard !value.isEmpty else {
            return note(line, "The key '\(key)' has no value. Give one, or remove the line.")
        }
        guard value.first != "\"", value.first != "'" else {
            return note(
                line, "The value of '\(key)' begins with a quote. Write it without quotes.")
        }
        guard let section else {
            return note(
                line, "The key '\(key)' is in no section. Write one above, such as [server].")
        }
        entries.append(
            Entry(section: section, key: String(key), value: String(value), line: line))
    }

    private mutating func readSection(_ text: Substring, _ line: Int) {
        let name = text.dropFirst().prefix { $0 != "]" }.trimmed
        guard text.last == "]", text.count == name.count + 2, !name.isEmpty else {
            return note(
                line, "'\(text)' is no section. Write its name in brackets, as in [server].")
        }
        section = String(name)
    }
}

extension StringProtocol where SubSequence == Substring {
    /// The text without the blanks, tabs and carriage returns around it.
    fileprivate var trimmed: Substring {
        let rest = drop { $0.isBlank }
        guard let last = rest.lastIndex(where: { !$0.isBlank }) else { return "" }
        return rest[...last]
    }
}

extension Character {
    fileprivate var isBlank: Bool { self == " " || self == "\t" || self == "\r" }
}
