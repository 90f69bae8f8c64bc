/// Made-up names and texts.
enum Words {
    private static let syllables = [
        "an", "bel", "cor", "da", "el", "fin", "gar", "hol", "il", "jon", "ka", "lin", "mar", "nor",
        "ol", "per", "quin", "ros", "sel", "tam", "ul", "ver", "wil", "xan", "yor", "zel",
    ]
    private static let plain = [
        "met", "at", "the", "fair", "calls", "on", "Monday", "prefers", "letters", "café", "asked",
        "for", "an", "offer", "knows", "Zoë", "pays", "late", "moved", "to", "Malmö", "twice",
    ]

    /// A name of a number of syllables.
    static func name(syllables count: Int, _ random: inout SplitMix) -> String {
        var text = ""
        for _ in 0..<count { text += syllables[Int(random.next() % UInt64(syllables.count))] }
        return text.prefix(1).uppercased() + text.dropFirst()
    }

    /// A text of a number of bytes, or a few more.
    static func text(bytes count: Int, _ random: inout SplitMix) -> String {
        var text = ""
        while text.utf8.count < count {
            if !text.isEmpty { text += " " }
            text += plain[Int(random.next() % UInt64(plain.count))]
        }
        return text
    }
}
