@_spi(_Unicode) import Swift

/// Cuts text into the words by which it is found.
///
/// Words are cut at the boundaries of Unicode (UAX #29): what has a letter or a number is one, so that
/// each Chinese character stands alone and `can't` is one word. They are folded: case goes (`ẞ` and
/// `SS` are `ss`), and so do diacritics (`É` is `e`), which are marks of the Latin, Greek, Cyrillic,
/// Hebrew and Arabic scripts. What is folded is in normal form D. A word of more than
/// ``byteCountMax`` bytes is cut after them.
enum TextTokens {
    /// The most bytes of a word. With a record key they stay below what a key of a view may have.
    static let byteCountMax = 200

    /// Calls `body` with each word of a text, in order: folded, and where it stands.
    static func forEach(in text: String, _ body: (String, Range<String.Index>) -> Void) {
        var start = text.startIndex
        while start < text.endIndex {
            let end = text._wordIndex(after: start)
            if let token = fold(text[start..<end]) { body(token, start..<end) }
            start = end
        }
    }

    /// The words of a text, folded.
    static func all(in text: String) -> [String] {
        var tokens: [String] = []
        forEach(in: text) { token, _ in tokens.append(token) }
        return tokens
    }

    /// The folded word; nil if it has neither letter nor number.
    private static func fold(_ word: Substring) -> String? {
        if word.utf8.allSatisfy({ $0 < 0x80 }) { return foldASCII(word.utf8) }
        guard word.unicodeScalars.contains(where: \.isOfWord) else { return nil }
        var folded = String.UnicodeScalarView()
        var byteCount = 0
        for scalar in String(word)._nfd where !scalar.isDiacritic {
            for part in scalar.folded {
                byteCount += UTF8.width(part)
                if byteCount > byteCountMax { return String(folded) }
                folded.append(part)
            }
        }
        return folded.isEmpty ? nil : String(folded)
    }

    /// The same for ASCII, which most words are, several times as fast.
    private static func foldASCII(_ word: Substring.UTF8View) -> String? {
        let folded = word.prefix(byteCountMax).map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        let isWord = word.contains { byte in
            (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20)
        }
        return isWord ? String(decoding: folded, as: UTF8.self) : nil
    }
}

extension Unicode.Scalar {
    /// Whether it makes what stands between two boundaries a word.
    fileprivate var isOfWord: Bool {
        properties.isAlphabetic || properties.numericType != nil
    }

    /// Whether it is a mark that readers do without.
    fileprivate var isDiacritic: Bool {
        switch value {
        case 0x0300...0x036F, 0x1AB0...0x1AFF, 0x1DC0...0x1DFF, 0x20D0...0x20FF, 0xFE20...0xFE2F,
            0x0483...0x0489, 0x0591...0x05BD, 0x05BF, 0x05C1...0x05C2, 0x05C4...0x05C5, 0x05C7,
            0x0610...0x061A, 0x064B...0x065F, 0x0670, 0x06D6...0x06DC:
            true
        default: false
        }
    }

    /// Without case: lower case of upper case, so that all forms of a letter are one. Apostrophes are
    /// one too.
    fileprivate var folded: String.UnicodeScalarView {
        if value == 0x2019 { return "'".unicodeScalars }
        if isASCII { return properties.lowercaseMapping.unicodeScalars }
        var result = String.UnicodeScalarView()
        for upper in properties.uppercaseMapping.unicodeScalars {
            result.append(contentsOf: upper.properties.lowercaseMapping.unicodeScalars)
        }
        return result
    }
}
