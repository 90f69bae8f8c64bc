/// Texts that programs stumble over.
enum OddTexts {
    /// All of them; no two have the same bytes.
    static let all: [String] = [
        words, numbers, markup, paths, controls, blanks, marks, directions, scalars, long,
        decomposed, reserved,
    ].flatMap { $0 }

    /// Words that mean something to a database, a shell, a format or a language.
    private static let words = [
        "null", "NULL", "nil", "undefined", "true", "FALSE", "yes", "None", "NaN", "-Infinity",
        "select", "DROP TABLE", "'; DELETE FROM records; --", "1 OR 1=1", "%' --", "*", "OR",
        "NOT", "-excluded", "--help", "-", "exit", "sudo rm -rf /", "$(id)", "`id`", "| cat",
        "&& true", "> file", "~", "!!", "#!/bin/sh", "${HOME}", "$HOME", "self", "class", "init",
        "Self.Type", "Optional(nil)", "constructor", "toString", "hasOwnProperty", "recordName",
        "record", "entity", "zone", "value", "STRING", "ID",
    ]

    /// Texts that another program takes for a number, a date or an identity.
    private static let numbers = [
        "0", "-0", "00", "0.0", "1.", ".5", "1e5", "1E-400", "1e400", "0x1F", "0b11", "0o17",
        "1_000", "1,000", "1/2", "9223372036854775807", "9223372036854775808",
        "18446744073709551616", "0.1000000000000000055511151231257827", "2024-02-30",
        "1970-01-01T00:00:00Z", "12:60", "March 3", "MARCH1", "\u{661}\u{662}\u{663}",
        "\u{FF11}\u{FF12}", "\u{BD}", "\u{2075}", "\u{2167}", "\u{5341}",
        "0190A5C2-7B9E-7C3D-8F11-5D2A66E0B7F4", "0190a5c2-7b9e-7c3d-8f11-5d2a66e0b7f5",
        "{0190A5C2-7B9E-7C3D-8F11-5D2A66E0B7F6}",
    ]

    /// Quotation marks, backslashes, escapes, format strings and markup.
    private static let markup = [
        "'", "\"", "''", "\"\"", "\\", "\\\\", "\\\"", "\\n", "\\u0000", "\\uD83D", "\\(text)", "`",
        "\u{201C}quoted\u{201D}", "\u{AB}quoted\u{BB}", "{", "}", "[]", "{}", "[\"a\"]",
        "{\"string\":\"x\"}", ",", ":", "//", "/* */", "%", "%s%n%d", "%@", "%00", "%2F",
        "%E2%28%A1", "%25", "a+b", "a&b=c", "?a#b", "&amp;", "&#0;", "<b>bold</b>",
        "<script>alert(1)</script>", "<![CDATA[x]]>", "{{7*7}}", "=1+1", "@SUM(1)",
        "a\u{1F}b\u{1E}",
    ]

    /// Paths and names of files.
    private static let paths = [
        ".", "..", "/", "../../etc/passwd", "..\\..\\system.ini", "/dev/null", "C:\\", "CON", "nul",
        "file:///etc/hosts", "a/./b//c", "%2e%2e%2f", "a\u{0}.png", "lock.mdb", " .hidden", "name.",
    ]

    /// Control characters, alone and within words.
    private static let controls = [
        "\u{0}", "a\u{0}b", "\u{0}\u{0}", "\u{1}", "\u{7}", "\u{8}", "\u{1B}[31mred\u{1B}[0m",
        "\u{1F}", "\u{7F}", "\u{80}", "\u{85}", "\u{9F}", "\t", "\n", "\r", "\r\n", "a\nb", "a\rb",
        "\u{B}", "\u{C}", "\n\n", "line\u{2028}line", "paragraph\u{2029}paragraph", "\u{AD}",
    ]

    /// Blanks of every kind, and characters without a width.
    private static let blanks = [
        "", " ", "  ", " a", "a ", "\u{A0}", "\u{1680}", "\u{2002}", "\u{2003}", "\u{2004}",
        "\u{2006}",
        "\u{2009}", "\u{200A}", "\u{202F}", "\u{205F}", "\u{3000}", "\u{180E}", "\u{200B}",
        "a\u{200B}b", "\u{200C}", "\u{200D}", "\u{2060}", "\u{FEFF}", "\u{FEFF}a", "a\u{FEFF}",
        "\u{2800}", "\u{3164}", "\u{FE0F}", "\u{E0001}\u{E0041}",
    ]

    /// Composed letters, marks without a letter, and letters whose cases differ in length.
    private static let marks = [
        "\u{E9}", "caf\u{E9}", "\u{1E69}", "\u{AC01}", "\u{C5}", "\u{3A9}", "\u{301}",
        "q\u{323}\u{307}", "x\u{300}\u{301}\u{302}\u{303}\u{304}", "\u{20DD}", "\u{DF}", "\u{1E9E}",
        "\u{130}", "\u{131}", "\u{17F}", "\u{149}", "\u{FB03}", "\u{1C5}", "\u{3C2}\u{3C3}",
        "\u{390}", "\u{FDFA}", "\u{915}\u{94D}\u{937}", "\u{E01}\u{E33}", "\u{F40}\u{F90}",
    ]

    /// Writing from right to left, and characters that turn the direction.
    private static let directions = [
        "\u{5E9}\u{5DC}\u{5D5}\u{5DD}", "\u{645}\u{631}\u{62D}\u{628}\u{627}",
        "abc \u{5D0}\u{5D1} 123", "\u{202E}txt.exe", "\u{202D}a\u{202C}", "\u{2066}a\u{2069}",
        "\u{2067}\u{5D0}\u{2069}", "\u{200E}", "\u{200F}", "\u{61C}",
        "\u{627}\u{644}\u{644}\u{647}\u{64F}",
    ]

    /// Scalars at the ends of ranges, such as beside surrogates, and pictures of several scalars.
    private static let scalars = [
        "\u{7FF}", "\u{800}", "\u{D7FF}", "\u{E000}", "\u{F8FF}",
        // The compiler takes no escapes for these two.
        String(decoding: [0xFDD0] as [UInt16], as: UTF16.self),
        String(decoding: [0xFDEF] as [UInt16], as: UTF16.self),
        "\u{FFF9}\u{FFFB}", "\u{FFFC}", "\u{FFFD}", "\u{FFFE}", "\u{FFFF}", "\u{10000}",
        "\u{1FFFE}", "\u{1FFFF}", "\u{FFFFF}", "\u{100000}", "\u{10FFFD}", "\u{10FFFE}",
        "\u{10FFFF}", "\u{1D400}\u{1D401}", "\u{20000}", "\u{1F600}", "\u{1F44D}\u{1F3FF}",
        "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}\u{200D}\u{1F466}",
        "\u{1F3F3}\u{FE0F}\u{200D}\u{1F308}", "\u{1F1E9}\u{1F1EA}\u{1F1EB}", "1\u{FE0F}\u{20E3}",
        "\u{1F3F4}\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}",
        "\u{2764}\u{FE0F}\u{200D}\u{1F525}", "\u{200D}\u{1F600}", "\u{1F471}\u{1F3FB}\u{200D}",
    ]

    /// Texts at the bound of names, beyond it, and far beyond it.
    private static let long = [
        String(repeating: "n", count: 254), String(repeating: "n", count: 255),
        String(repeating: "n", count: 256), "o" + String(repeating: "\u{E9}", count: 127),
        String(repeating: "\u{E9}", count: 128), String(repeating: "\u{1F600}", count: 64),
        String(repeating: "\u{1F600}", count: 2_000), String(repeating: "w", count: 30_000),
        String(repeating: "\"", count: 3_000), String(repeating: "\u{0}", count: 3_000),
        "z" + String(repeating: "\u{334}", count: 3_000),
    ]

    /// Texts that are not in normal form C.
    static let decomposed = [
        "e\u{301}", "cafe\u{301}", "s\u{323}\u{307}", "s\u{307}\u{323}", "\u{1100}\u{1161}\u{11A8}",
        "\u{AC00}\u{11A8}", "\u{212B}", "A\u{30A}", "\u{2126}", "\u{212A}", "\u{2000}", "\u{2001}",
        "\u{37E}", "\u{340}", "\u{F900}", "\u{958}", "\u{FB1D}", "\u{2329}", "\u{1D15E}",
        "q\u{307}\u{323}", "\u{2F800}",
    ]

    /// Texts that begin as the names of a service do.
    static let reserved = ["_", "__proto__", "_defaultZone", "_\u{E9}", "_ "]

    /// A word of the reason why a text can't be the name of a record; nil if it can.
    static func refusal(of text: String) -> String? {
        let bytes = Array(text.utf8)
        if bytes.isEmpty { return "empty" }
        if bytes.count > 255 { return "255 bytes" }
        if bytes[0] == UInt8(ascii: "_") { return "underscore" }
        // Texts of two forms are equal, and so are compared by their bytes.
        return decomposed.contains { Array($0.utf8) == bytes } ? "normal form C" : nil
    }
}
